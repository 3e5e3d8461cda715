//go:build kube1.36

package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// schedulePod runs the scheduler's own cycle up to the choice of a node; since 1.36 its caller takes the snapshot.
func schedulePod(ctx context.Context, s *scheduler.Scheduler, fw framework.Framework, state cycleState, pod *v1.Pod) (string, error) {
	snapshot := *(**cache.Snapshot)(unexported(s, "nodeInfoSnapshot"))
	if err := s.Cache.UpdateSnapshot(klog.FromContext(ctx), snapshot); err != nil {
		return "", err
	}
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return "", err
	}
	result, err := s.SchedulePod(ctx, fw, state, &framework.QueuedPodInfo{PodInfo: info})
	return result.SuggestedHost, err
}

// onSearch calls around every search for a node for a pod: before it, then with the node that it found or "".
func onSearch(s *scheduler.Scheduler, begin func() (end func()), found func(pod *v1.Pod, node string)) {
	search := s.SchedulePod
	s.SchedulePod = func(ctx context.Context, fw framework.Framework, state cycleState, info *framework.QueuedPodInfo) (scheduler.ScheduleResult, error) {
		end := begin()
		result, err := search(ctx, fw, state, info)
		end()
		found(info.Pod, result.SuggestedHost)
		return result, err
	}
}
