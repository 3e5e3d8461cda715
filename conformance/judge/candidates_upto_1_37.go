//go:build !kube1.38

package main

import frameworkpreemption "k8s.io/kubernetes/pkg/scheduler/framework/preemption"

// candidate is a node with the victims on it.
type candidate = frameworkpreemption.Candidate
