//go:build kube1.38

package main

import fwk "k8s.io/kube-scheduler/framework"

// candidate is a node with the victims on it; public since 1.38.
type candidate = fwk.PreemptionCandidate
