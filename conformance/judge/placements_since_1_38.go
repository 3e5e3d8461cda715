//go:build kube1.38

package main

import (
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
)

// everyPlacement has all placements tried, in their order. By default the scheduler tries some of many since 1.38, in
// random order; a profile that sets percentageOfPlacementsToScore has its own share of them.
func everyPlacement(s *scheduler.Scheduler) {
	algorithm := *(**scheduler.PodGroupSchedulingAlgorithm)(unexported(s, "podGroupAlgorithm"))
	*(*int32)(unexported(algorithm, "percentageOfPlacementsToScore")) = 100
	*(*func([]*fwk.Placement))(unexported(algorithm, "shufflePlacements")) = nil
}
