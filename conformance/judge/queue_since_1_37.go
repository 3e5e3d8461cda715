//go:build kube1.37

package main

import (
	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Since 1.37 the queue holds pods and groups of pods.

func newInformerFactory(client kubernetes.Interface) informers.SharedInformerFactory {
	return scheduler.NewInformerFactory(client, 0, nil)
}

// onNext tells of every pod that the queue gives out, or of all pods of a group.
func onNext(s *scheduler.Scheduler, tell func(...*v1.Pod)) {
	next := s.NextEntity
	s.NextEntity = func(logger klog.Logger) (framework.QueuedEntityInfo, error) {
		entity, err := next(logger)
		if entity != nil && err == nil {
			if pods := podsOf(entity); len(pods) > 0 {
				tell(pods...)
			}
		}
		return entity, err
	}
}

// Since 1.37 an API server fills in the requests of a pod as a whole when it creates the pod, no longer when it decodes
// it. There is no API server here, and nobody else asks for the gate: leave it to the decoding, as in a real cluster the
// pod comes with them.
func init() {
	if err := utilfeature.DefaultMutableFeatureGate.Set("PodLevelResourcesFixDefaulting=false"); err != nil {
		panic(err)
	}
}
