package main

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// cycle is one pod's scheduling cycle, gone through twice: by the scheduler itself, and by asking every extension point
// without stopping where the scheduler would.
type cycle struct {
	*cluster
	fw      framework.Framework
	plugins map[string]plugin
	pod     *v1.Pod
	ans     *answer
}

// decide answers a case of one pod.
func decide(q question) *answer {
	ans := &answer{}
	ans.fill(q, func(ctx context.Context, w *world) error { return ask(ctx, w, ans) })
	return ans
}

// ask runs the scheduler over the world and puts down what it says.
func ask(ctx context.Context, w *world, ans *answer) error {
	pod := w.pods[0]
	// With its node's name in it, the stored pod would count as running there while NodeName judges it.
	stored := pod.DeepCopy()
	stored.Spec.NodeName = ""
	c, err := newCluster(ctx, fake.NewClientset(append(unfinished(w.objects), stored)...), w.config)
	if err != nil {
		return fmt.Errorf("scheduler: %w", err)
	}
	if err := c.start(ctx, w.objects); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	fw, ok := c.scheduler.Profiles[pod.Spec.SchedulerName]
	if !ok {
		return fmt.Errorf("no profile %q", pod.Spec.SchedulerName)
	}
	run := &cycle{cluster: c, fw: fw, plugins: instances(fw), pod: pod, ans: ans}
	return run.whole(ctx)
}

func (c *cycle) whole(ctx context.Context) error {
	c.preEnqueue(ctx)
	own := framework.NewCycleState()
	host, failure := schedulePod(ctx, c.scheduler, c.fw, own, c.pod)
	var unfit *framework.FitError
	if failure != nil && !errors.As(failure, &unfit) {
		c.ans.Error = failure.Error()
	}
	if err := c.everyPoint(ctx, host, failure); err != nil {
		return err
	}
	if c.ans.Error == "" {
		c.ans.Error = c.contradiction(host, unfit != nil)
	}
	if unfit != nil {
		c.postFilter(ctx, own, unfit)
		c.ans.Message = unfit.Error()
	}
	return nil
}

// preEnqueue puts down the gate that would keep the pod out of the queue. The rest of the answer is what comes after it.
func (c *cycle) preEnqueue(ctx context.Context) { c.ans.PreEnqueue = heldBack(ctx, c.fw, c.pod) }

// heldBack is what the first gate says that keeps a pod out of the queue; nil without one.
func heldBack(ctx context.Context, fw framework.Framework, pod *v1.Pod) *verdict {
	for _, gate := range fw.PreEnqueuePlugins() {
		if s := gate.PreEnqueue(ctx, pod); !s.IsSuccess() {
			said := verdictOf(s)
			said.Plugin = gate.Name()
			return &said
		}
	}
	return nil
}

// everyPoint asks PreFilter, Filter and Score again over the snapshot that the scheduler took.
func (c *cycle) everyPoint(ctx context.Context, host string, failure error) error {
	infos, err := c.fw.SnapshotSharedLister().NodeInfos().List()
	if err != nil {
		return err
	}
	state := framework.NewCycleState()
	narrowed, s, _ := c.fw.RunPreFilterPlugins(ctx, state, c.pod)
	said := verdictOf(s)
	c.ans.PreFilter = &said
	if !narrowed.AllNodes() {
		c.ans.PreFilterNodes = sets.List(narrowed.NodeNames)
	}
	if !s.IsSuccess() {
		return nil
	}
	c.ans.SkippedFilters = sets.List(skippedFilters(state))
	feasible := c.filter(ctx, state, infos, narrowed)
	if c.ans.Error != "" {
		c.nameFirstError()
	}
	if len(feasible) == 0 {
		return nil
	}
	if err := c.score(ctx, state, feasible); err != nil {
		if failure != nil {
			c.ans.Error = err.Error()
			return nil
		}
		// The scheduler did not score at all: one node only came into question.
		c.ans.SkippedScores, c.ans.Scores, c.ans.Best = nil, nil, []string{host}
	}
	return nil
}

// filter puts down the status that every node gets, and what each plugin says by itself; it returns the nodes that fit.
func (c *cycle) filter(ctx context.Context, state cycleState, infos []nodeInfo, narrowed *preFilterResult) []nodeInfo {
	c.ans.Filter, c.ans.AllFilters = map[string]verdict{}, map[string]map[string]verdict{}
	var feasible []nodeInfo
	for _, info := range infos {
		name := info.Node().Name
		if !narrowed.AllNodes() && !narrowed.NodeNames.Has(name) {
			continue
		}
		s := c.fw.RunFilterPluginsWithNominatedPods(ctx, state, c.pod, info)
		c.ans.Filter[name] = verdictOf(s)
		if s.IsSuccess() {
			feasible = append(feasible, info)
		}
		failing := map[string]verdict{}
		for _, enabled := range c.fw.ListPlugins().Filter.Enabled {
			if skippedFilters(state).Has(enabled.Name) {
				continue
			}
			if s := c.plugins[enabled.Name].(filterPlugin).Filter(ctx, state, c.pod, info); !s.IsSuccess() {
				said := verdictOf(s)
				said.Plugin = ""
				failing[enabled.Name] = said
			}
		}
		if len(failing) > 0 {
			c.ans.AllFilters[name] = failing
		}
	}
	return feasible
}

// nameFirstError takes the first node by name for the error: the scheduler ends the cycle at whichever errs first.
func (c *cycle) nameFirstError() {
	for _, name := range sets.List(sets.KeySet(c.ans.Filter)) {
		if said := c.ans.Filter[name]; said.Code == failed.String() {
			c.ans.Error = strings.Join(said.Reasons, ", ")
			return
		}
	}
}

// score puts down what every scorer gives the nodes that fit, and which have the most.
func (c *cycle) score(ctx context.Context, state cycleState, feasible []nodeInfo) error {
	if s := c.fw.RunPreScorePlugins(ctx, state, c.pod, feasible); !s.IsSuccess() {
		return fmt.Errorf("prescore: %s", s.Message())
	}
	c.ans.SkippedScores = sets.List(skippedScores(state))
	found, s := c.fw.RunScorePlugins(ctx, state, c.pod, feasible)
	if !s.IsSuccess() {
		return fmt.Errorf("score: %s", s.Message())
	}
	c.ans.Scores = map[string]nodeScores{}
	for i, info := range feasible {
		row := nodeScores{Raw: map[string]int64{}, Weighted: map[string]int64{}, Total: found[i].TotalScore}
		for _, weighted := range found[i].Scores {
			row.Weighted[weighted.Name] = weighted.Score
		}
		for _, enabled := range c.fw.ListPlugins().Score.Enabled {
			if skippedScores(state).Has(enabled.Name) {
				continue
			}
			raw, s := c.plugins[enabled.Name].(scorePlugin).Score(ctx, state, c.pod, info)
			if !s.IsSuccess() {
				return fmt.Errorf("raw score %s: %s", enabled.Name, s.Message())
			}
			row.Raw[enabled.Name] = raw
		}
		c.ans.Scores[found[i].Name] = row
	}
	c.ans.Best = c.best()
	return nil
}

// best has the nodes with the top total; a pod's own nominated node is taken without a look at the others.
func (c *cycle) best() []string {
	if own := c.pod.Status.NominatedNodeName; own != "" {
		if _, fits := c.ans.Scores[own]; fits {
			return []string{own}
		}
	}
	var top []string
	for name, row := range c.ans.Scores {
		if len(top) == 0 || row.Total > c.ans.Scores[top[0]].Total {
			top = top[:0]
		}
		if len(top) == 0 || row.Total == c.ans.Scores[top[0]].Total {
			top = append(top, name)
		}
	}
	sort.Strings(top)
	return top
}

// contradiction says where going through the points by hand found something else than the scheduler did. Then this
// program is wrong.
func (c *cycle) contradiction(host string, unfit bool) string {
	best := sets.New(c.ans.Best...)
	switch {
	case unfit && best.Len() > 0:
		return fmt.Sprintf("contradiction: the scheduler found no node, %v fit", c.ans.Best)
	case host != "" && !best.Has(host):
		return fmt.Sprintf("contradiction: the scheduler took %s, the best are %v", host, c.ans.Best)
	}
	return ""
}
