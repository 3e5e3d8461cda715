//go:build !kube1.36

package main

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/scheduler"
)

// Until 1.35 every pod is tried by itself.

func groupOf(*v1.Pod) string { return "" }

func addGroupsToScheme(*runtime.Scheme) error { return nil }

func settlePlacements(*scheduler.Scheduler) {}

func settleMembers(*scheduler.Scheduler, *births) {}
