//go:build kube1.36

package main

import (
	"context"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler"
)

// Since 1.36 a pod may be tried with its group.

// groupOf names the group that a pod is tried with; empty without one.
func groupOf(pod *v1.Pod) string {
	group := pod.Spec.SchedulingGroup
	if group == nil || group.PodGroupName == nil || !utilfeature.DefaultFeatureGate.Enabled(features.GenericWorkload) {
		return ""
	}
	return *group.PodGroupName
}

// settlePlacements has placements tried by name, and lets the first of equally good ones win: by a score of its own,
// beside which the others weigh a thousand times as much.
func settlePlacements(s *scheduler.Scheduler) {
	for _, fw := range s.Profiles {
		rank := map[string]int64{}
		generators := *(*[]fwk.PlacementGeneratePlugin)(unexported(fw, "placementGeneratePlugins"))
		for i, generator := range generators {
			generators[i] = generatedByName{generator, rank}
		}
		scorers := (*[]fwk.PlacementScorePlugin)(unexported(fw, "placementScorePlugins"))
		weights := *(*map[string]int)(unexported(fw, "placementScorePluginWeight"))
		for name := range weights {
			weights[name] *= 1000
		}
		last := firstByName{rank}
		*scorers, weights[last.Name()] = append(*scorers, last), 1
	}
}

// generatedByName puts the placements of a generator in the order of their names, and notes it.
type generatedByName struct {
	fwk.PlacementGeneratePlugin
	rank map[string]int64
}

func (g generatedByName) GeneratePlacements(ctx context.Context, state fwk.PodGroupCycleState, group fwk.PodGroupInfo, within *fwk.Placement) (*fwk.GeneratePlacementsResult, *status) {
	result, s := g.PlacementGeneratePlugin.GeneratePlacements(ctx, state, group, within)
	if result == nil {
		return result, s
	}
	slices.SortFunc(result.Placements, func(a, b *fwk.Placement) int { return strings.Compare(a.Name, b.Name) })
	for i, placement := range result.Placements {
		g.rank[placement.Name] = int64(i)
	}
	return result, s
}

// firstByName scores placements by their rank.
type firstByName struct{ rank map[string]int64 }

func (firstByName) Name() string { return "FirstByName" }

func (firstByName) PlacementScoreExtensions() fwk.PlacementScoreExtensions { return nil }

func (f firstByName) ScorePlacement(_ context.Context, _ placementState, _ fwk.PodGroupInfo, found *fwk.PodGroupAssignments) (int64, *status) {
	return max(0, fwk.MaxNodeScore-f.rank[found.Name]), nil
}
