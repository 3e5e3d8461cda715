package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	goruntime "runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
)

// parallelism is how many nodes kube-scheduler works on at once by default.
const parallelism = 16

// bench times the scheduler's own cycle, without an API server. Each line is either an object of the cluster or an array
// of pods. The pods are decided and assumed one after another, and the answer is the time of the process for them. A pod
// that fits nowhere is answered with every candidate for preemption, and assumed nowhere. An array that begins with a
// PodGroup is one attempt at this group of the pods after it.
func bench(in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cfg, err := configuration(nil)
	if err != nil {
		return err
	}
	c, err := newCluster(ctx, fake.NewClientset(), cfg, scheduler.WithParallelism(parallelism))
	if err != nil {
		return err
	}
	if err := c.start(ctx, nil); err != nil {
		return err
	}
	var known []runtime.Object
	lines := bufio.NewReaderSize(in, 1<<20)
	encoder := json.NewEncoder(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if line[0] == '[' {
			result, err := c.timed(ctx, line, known)
			if err != nil {
				return err
			}
			if err := encoder.Encode(result); err != nil {
				return err
			}
			continue
		}
		object, err := decode(line)
		if err != nil {
			return err
		}
		if err := c.put(ctx, object); err != nil {
			return err
		}
		known = append(known, object)
	}
}

// put makes an object of the cluster known to the scheduler.
func (c *cluster) put(ctx context.Context, object runtime.Object) error {
	logger := klog.FromContext(ctx)
	switch o := object.(type) {
	case *v1.Node:
		c.scheduler.Cache.AddNode(logger, o)
		return nil
	case *v1.Pod:
		return c.scheduler.Cache.AddPod(logger, o)
	default:
		return fmt.Errorf("a %T where a Node, a Pod or an array is expected", o)
	}
}

// benchResult is what an array is answered with.
type benchResult struct {
	Seconds    float64 `json:"seconds"` // of CPU time
	Wall       float64 `json:"wall"`    // seconds, too
	Placed     int     `json:"placed"`
	Candidates int     `json:"candidates"`

	// Of a group: the node of every search, "" where it found none, and what it evicts.
	Picks   []string `json:"picks,omitempty"`
	Victims []string `json:"victims,omitempty"`
}

// time runs something, and notes how long it takes.
func (r *benchResult) time(run func() error) error {
	cpu, wall := cpuTime(), time.Now()
	err := run()
	r.Seconds, r.Wall = (cpuTime() - cpu).Seconds(), time.Since(wall).Seconds()
	return err
}

func (c *cluster) timed(ctx context.Context, line []byte, known []runtime.Object) (*benchResult, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(line, &raw); err != nil {
		return nil, err
	}
	objects, err := decodeAll(raw, "pods")
	if err != nil {
		return nil, err
	}
	result := &benchResult{}
	if _, ok := objects[0].(*v1.Pod); !ok {
		return result, attemptAt(ctx, objects, known, result)
	}
	return result, result.time(func() error {
		for _, object := range objects {
			pod, ok := object.(*v1.Pod)
			if !ok {
				return fmt.Errorf("a %T where a Pod is expected", object)
			}
			if err := c.place(ctx, pod, result); err != nil {
				return err
			}
		}
		return nil
	})
}

// attemptAt times one attempt at a group, from the queue on, by a scheduler of its own over the known objects: it finds
// no trace of other groups, and its bindings and evictions change nothing.
func attemptAt(ctx context.Context, group, known []runtime.Object, result *benchResult) error {
	if err := gates.enter(map[string]bool{"GenericWorkload": true, "TopologyAwareWorkloadScheduling": true}); err != nil {
		return err
	}
	defer gates.leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cfg, err := configuration(nil)
	if err != nil {
		return err
	}
	client := newAPIServer(group...).client
	var evicted sync.Map
	victims := func() []string {
		var names []string
		evicted.Range(func(name, _ any) bool {
			names = append(names, name.(string))
			return true
		})
		slices.Sort(names)
		return names
	}
	for _, verb := range []string{"create", "patch"} { // bindings and nominations
		client.PrependReactor(verb, "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, &v1.Pod{}, nil
		})
	}
	client.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		evicted.Store(action.GetNamespace()+"/"+action.(clienttesting.DeleteAction).GetName(), nil)
		return true, nil, nil
	})
	c, err := newCluster(ctx, client, cfg, scheduler.WithParallelism(parallelism))
	if err != nil {
		return err
	}
	onSearch(c.scheduler, func() func() { return func() {} }, func(_ *v1.Pod, node string) {
		result.Picks = append(result.Picks, node)
	})
	if err := c.start(ctx, group); err != nil {
		return err
	}
	for _, object := range known {
		if err := c.put(ctx, object); err != nil {
			return err
		}
	}
	logger := klog.FromContext(ctx)
	queue := c.scheduler.SchedulingQueue
	queue.Run(logger)
	if !eventually(patience, func() bool { return len(queue.PodsInActiveQ()) == len(group)-1 }) {
		return errors.New("the group does not arrive in the queue")
	}
	if err := c.scheduler.Cache.UpdateSnapshot(logger, *(**cache.Snapshot)(unexported(c.scheduler, "nodeInfoSnapshot"))); err != nil {
		return err
	}
	before, err := c.scheduler.Cache.PodCount()
	if err != nil {
		return err
	}
	goruntime.GC()
	err = result.time(func() error {
		c.scheduler.ScheduleOne(ctx)
		return nil
	})
	after, counting := c.scheduler.Cache.PodCount()
	result.Placed = after - before
	// Evictions run in the background: they are over when no more come.
	for last := -1; last != len(victims()); time.Sleep(200 * time.Millisecond) {
		last = len(victims())
	}
	result.Victims = victims()
	return errors.Join(err, counting)
}

// place decides and assumes a pod, or finds the candidates for preemption.
func (c *cluster) place(ctx context.Context, pod *v1.Pod, result *benchResult) error {
	fw := c.scheduler.Profiles[pod.Spec.SchedulerName]
	if fw == nil {
		return fmt.Errorf("no profile %q", pod.Spec.SchedulerName)
	}
	state := framework.NewCycleState()
	host, err := schedulePod(ctx, c.scheduler, fw, state, pod)
	var unfit *framework.FitError
	if errors.As(err, &unfit) {
		return c.preemptionCandidates(ctx, fw, state, pod, unfit, result)
	}
	if err != nil {
		return err
	}
	assumed := pod.DeepCopy()
	assumed.Spec.NodeName = host
	result.Placed++
	return c.scheduler.Cache.AssumePod(klog.FromContext(ctx), assumed)
}

func (c *cluster) preemptionCandidates(ctx context.Context, fw framework.Framework, state cycleState, pod *v1.Pod, unfit *framework.FitError, result *benchResult) error {
	pl, ok := instances(fw)[defaultpreemption.Name].(*defaultpreemption.DefaultPreemption)
	if !ok {
		return errors.New("the profile has no DefaultPreemption")
	}
	hopeful, err := unfit.Diagnosis.NodeToStatus.NodesForStatusCode(fw.SnapshotSharedLister().NodeInfos(), unschedulable)
	if err != nil {
		return err
	}
	candidates, _, err := pl.Evaluator.DryRunPreemption(ctx, state, pod, hopeful, nil, 0, int32(len(hopeful)))
	if err != nil {
		return err
	}
	if len(candidates) > 0 {
		pl.Evaluator.SelectCandidate(ctx, candidates)
	}
	result.Candidates += len(candidates)
	return nil
}

// cpuTime is the CPU time of all threads of the process.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
