//go:build !kube1.36

package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// schedulePod runs the scheduler's own cycle up to the choice of a node; until 1.35 it takes its snapshot itself.
func schedulePod(ctx context.Context, s *scheduler.Scheduler, fw framework.Framework, state cycleState, pod *v1.Pod) (string, error) {
	result, err := s.SchedulePod(ctx, fw, state, pod)
	return result.SuggestedHost, err
}

// onSearch calls around every search for a node for a pod: before it, then with the node that it found or "".
func onSearch(s *scheduler.Scheduler, begin func() (end func()), found func(pod *v1.Pod, node string)) {
	search := s.SchedulePod
	s.SchedulePod = func(ctx context.Context, fw framework.Framework, state cycleState, pod *v1.Pod) (scheduler.ScheduleResult, error) {
		end := begin()
		result, err := search(ctx, fw, state, pod)
		end()
		found(pod, result.SuggestedHost)
		return result, err
	}
}
