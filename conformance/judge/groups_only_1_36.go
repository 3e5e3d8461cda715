//go:build kube1.36 && !kube1.37

package main

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/apis/scheduling/v1alpha2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// In 1.36 the queue holds pods, and the attempt at one of a group takes the other members out of it.

type placementState = fwk.PodGroupCycleState

func addGroupsToScheme(scheme *runtime.Scheme) error { return v1alpha2.AddToScheme(scheme) }

// settleMembers orders the members of a group by their creation. The scheduler orders those of equal priority by their
// first attempt, which members that were taken out together have had in the order of a Go map.
func settleMembers(s *scheduler.Scheduler, born *births) {
	ordered := membersByCreation{s.SchedulingQueue, born}
	s.SchedulingQueue = ordered
	next := s.NextPod
	s.NextPod = func(logger klog.Logger) (*framework.QueuedPodInfo, error) {
		info, err := next(logger)
		return ordered.dated(info), err
	}
}

type membersByCreation struct {
	queue.SchedulingQueue
	born *births
}

func (q membersByCreation) PopSpecificPod(logger klog.Logger, pod *v1.Pod) *framework.QueuedPodInfo {
	return q.dated(q.SchedulingQueue.PopSpecificPod(logger, pod))
}

// dated gives a member the time of a first attempt that it would have if members were tried as they are created.
func (q membersByCreation) dated(info *framework.QueuedPodInfo) *framework.QueuedPodInfo {
	if info != nil && info.Pod != nil && groupOf(info.Pod) != "" {
		first := time.UnixMilli(int64(q.born.of(info.Pod)))
		info.InitialAttemptTimestamp = &first
	}
	return info
}
