//go:build kube1.38

package main

import (
	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler"
)

// Since 1.38 a group may be in a tree of groups, which is tried as a whole.

// hasTrees reports whether groups may have groups above them.
func hasTrees() bool { return utilfeature.DefaultFeatureGate.Enabled(features.CompositePodGroup) }

// rootOf names the root of the tree that a pod's group is in: the group itself, if it is in none.
func rootOf(s *scheduler.Scheduler, pod *v1.Pod, group string) string {
	if !hasTrees() {
		return group
	}
	for _, fw := range s.Profiles {
		// All profiles have the same tracker.
		found, err := fw.SharedPodGroupHierarchyTracker().FindRootGroupReadiness(fwk.PodGroupKey(pod.Namespace, group))
		if err != nil || found == nil || found.RootGroup == nil {
			return group
		}
		return found.RootGroup.GetName()
	}
	return group
}
