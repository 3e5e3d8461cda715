//go:build kube1.37

package main

import (
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/apis/scheduling/v1beta1"
	"k8s.io/kubernetes/pkg/scheduler"
)

// Since 1.37 the queue holds groups, with their members in an order of its own.

type placementState = fwk.PlacementCycleState

func addGroupsToScheme(scheme *runtime.Scheme) error { return v1beta1.AddToScheme(scheme) }

func settleMembers(*scheduler.Scheduler, *births) {}
