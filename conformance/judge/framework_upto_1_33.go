//go:build !kube1.34

package main

import (
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Until 1.33 the whole framework is in one internal package, and writes to the API server are made where they arise.

type (
	status     = framework.Status
	cycleState = *framework.CycleState
	nodeInfo   = *framework.NodeInfo
)

const (
	success       = framework.Success
	failed        = framework.Error
	unschedulable = framework.Unschedulable
)

func skippedFilters(state cycleState) sets.Set[string] { return state.SkipFilterPlugins }

func skippedScores(state cycleState) sets.Set[string] { return state.SkipScorePlugins }

func runDispatcher(*scheduler.Scheduler, klog.Logger) {}
