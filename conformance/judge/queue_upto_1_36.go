//go:build !kube1.37

package main

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Until 1.36 the queue holds pods.

func newInformerFactory(client kubernetes.Interface) informers.SharedInformerFactory {
	return scheduler.NewInformerFactory(client, 0)
}

// onNext tells of every pod that the queue gives out; the attempt at one of a group then takes out the others.
func onNext(s *scheduler.Scheduler, tell func(...*v1.Pod)) {
	next := s.NextPod
	s.NextPod = func(logger klog.Logger) (*framework.QueuedPodInfo, error) {
		info, err := next(logger)
		if info != nil && info.Pod != nil {
			tell(info.Pod)
		}
		return info, err
	}
}
