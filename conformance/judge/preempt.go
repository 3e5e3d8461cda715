package main

import (
	"context"
	"errors"
	"strings"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
)

// rounds is how often two equal candidates are put to the choice before it counts as settled: it walks a map of two.
const rounds = 200

// postFilter puts down what PostFilter does, and before that all that preemption could do: PostFilter evicts, clears
// nominations and deallocates claims.
func (c *cycle) postFilter(ctx context.Context, state cycleState, unfit *framework.FitError) {
	if !c.fw.HasPostFilterPlugins() {
		return
	}
	out := &preemption{}
	c.ans.Preemption = out
	picks, dryErr := c.dryRun(ctx, unfit, out)
	if dryErr != nil {
		c.ans.Error = "dry run: " + inOrder(dryErr)
	}
	result, s := c.fw.RunPostFilterPlugins(ctx, state, c.pod, unfit.Diagnosis.NodeToStatus)
	out.Status = verdictOf(s)
	if dryErr != nil && s.Code() == failed {
		out.Status.Reasons = []string{"preemption: " + inOrder(dryErr)}
	}
	if result != nil && result.NominatingInfo != nil && result.NominatedNodeName != "" {
		taken := result.NominatedNodeName
		out.Nominated = sets.List(picks.Insert(taken))
		for i, reason := range out.Status.Reasons {
			// Since 1.37 the text names the node; among equals that is chance, so the first by name stands for all.
			out.Status.Reasons[i] = strings.Replace(reason, " on node "+taken+",", " on node "+out.Nominated[0]+",", 1)
		}
	}
	if s.Message() != "" {
		unfit.Diagnosis.PostFilterMsg = strings.Join(out.Status.Reasons, ", ")
	}
}

// dryRun puts down every candidate with its victims and every node that is no candidate, and returns the nodes that the
// choice can fall on.
func (c *cycle) dryRun(ctx context.Context, unfit *framework.FitError, out *preemption) (sets.Set[string], error) {
	picks := sets.New[string]()
	state := framework.NewCycleState()
	_, s, _ := c.fw.RunPreFilterPlugins(ctx, state, c.pod)
	enabled := false
	for _, point := range c.fw.ListPlugins().PostFilter.Enabled {
		enabled = enabled || point.Name == defaultpreemption.Name
	}
	pl, ok := c.plugins[defaultpreemption.Name].(*defaultpreemption.DefaultPreemption)
	if !ok || !enabled || !s.IsSuccess() {
		return picks, nil
	}
	statuses := unfit.Diagnosis.NodeToStatus
	if eligible, _ := pl.PodEligibleToPreemptOthers(ctx, c.pod, statuses.Get(c.pod.Status.NominatedNodeName)); !eligible {
		return picks, nil
	}
	hopeful, err := statuses.NodesForStatusCode(c.fw.SnapshotSharedLister().NodeInfos(), unschedulable)
	if err != nil || len(hopeful) == 0 {
		return picks, err
	}
	var budgets []*policyv1.PodDisruptionBudget
	if budgets, err = c.informers.Policy().V1().PodDisruptionBudgets().Lister().List(labels.Everything()); err != nil {
		return picks, err
	}
	candidates, rejected, err := pl.Evaluator.DryRunPreemption(ctx, state, c.pod, hopeful, budgets, 0, int32(len(hopeful)))
	out.Candidates = map[string]victims{}
	for _, found := range candidates {
		costs := found.Victims()
		out.Candidates[found.Name()] = victims{Pods: podKeys(costs.Pods), PDBViolations: costs.NumPDBViolations}
	}
	if rejected != nil {
		out.Rejected = map[string]verdict{}
		rejected.ForEachExplicitNode(func(name string, s *status) { out.Rejected[name] = verdictOf(s) })
	}
	return c.picks(ctx, pl, candidates), err
}

// picks are the candidates that ever win against the winner: each criterion only breaks the ties of the one before, so
// whoever does is its equal in all.
func (c *cycle) picks(ctx context.Context, pl *defaultpreemption.DefaultPreemption, candidates []candidate) sets.Set[string] {
	if len(candidates) == 0 {
		return sets.New[string]()
	}
	winner := pl.Evaluator.SelectCandidate(ctx, candidates)
	found := sets.New(winner.Name())
	for _, other := range candidates {
		for i := 0; i < rounds && !found.Has(other.Name()); i++ {
			pair := []candidate{winner, other}
			found.Insert(pl.Evaluator.SelectCandidate(ctx, pair).Name())
		}
	}
	return found
}

func podKeys(pods []*v1.Pod) []string {
	keys := []string{}
	for _, pod := range pods {
		keys = append(keys, podKey(pod))
	}
	return keys
}

// inOrder is an error's text; the errors of several nodes come in random order and may repeat.
func inOrder(err error) string {
	var several utilerrors.Aggregate
	if !errors.As(err, &several) {
		return err.Error()
	}
	texts := sets.New[string]()
	for _, one := range utilerrors.Flatten(several).Errors() {
		texts.Insert(one.Error())
	}
	return strings.Join(sets.List(texts), ", ")
}
