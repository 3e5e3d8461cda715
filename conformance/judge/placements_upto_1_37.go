//go:build !kube1.38

package main

import "k8s.io/kubernetes/pkg/scheduler"

// everyPlacement has nothing to do: until 1.37 all placements are tried.
func everyPlacement(*scheduler.Scheduler) {}
