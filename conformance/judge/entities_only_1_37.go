//go:build kube1.37 && !kube1.38

package main

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// podsOf returns the pods that the queue gives out together.
func podsOf(entity framework.QueuedEntityInfo) []*v1.Pod {
	var pods []*v1.Pod
	entity.ForEachPodInfo(func(info *framework.QueuedPodInfo) bool {
		pods = append(pods, info.Pod)
		return true
	})
	return pods
}
