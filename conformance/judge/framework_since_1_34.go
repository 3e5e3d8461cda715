//go:build kube1.34

package main

import (
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
)

// Since 1.34 statuses, cycle state and node infos are public, and writes to the API server go through a dispatcher.

type (
	status     = fwk.Status
	cycleState = fwk.CycleState
	nodeInfo   = fwk.NodeInfo
)

const (
	success       = fwk.Success
	failed        = fwk.Error
	unschedulable = fwk.Unschedulable
)

func skippedFilters(state cycleState) sets.Set[string] { return state.GetSkipFilterPlugins() }

func skippedScores(state cycleState) sets.Set[string] { return state.GetSkipScorePlugins() }

func runDispatcher(s *scheduler.Scheduler, logger klog.Logger) {
	if s.APIDispatcher != nil {
		s.APIDispatcher.Run(logger)
	}
}
