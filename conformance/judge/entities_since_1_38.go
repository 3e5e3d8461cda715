//go:build kube1.38

package main

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// podsOf returns the pods that the queue gives out together; since 1.38 by an iterator.
func podsOf(entity framework.QueuedEntityInfo) []*v1.Pod {
	var pods []*v1.Pod
	for info := range entity.ForEachPodInfo() {
		pods = append(pods, info.Pod)
	}
	return pods
}
