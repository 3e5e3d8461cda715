package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
)

// bench times the scheduler's own cycle, without an API server. Each line is either an object of the cluster or an array
// of pods. The pods are decided and assumed one after another, and the answer is the CPU time of the process for them. A
// pod that fits nowhere is answered with every candidate for preemption, and assumed nowhere.
func bench(in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cfg, err := configuration(nil)
	if err != nil {
		return err
	}
	c, err := newCluster(ctx, fake.NewClientset(), cfg)
	if err != nil {
		return err
	}
	if err := c.start(ctx, nil); err != nil {
		return err
	}
	logger := klog.FromContext(ctx)
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
			result, err := c.timed(ctx, line)
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
		switch o := object.(type) {
		case *v1.Node:
			c.scheduler.Cache.AddNode(logger, o)
		case *v1.Pod:
			if err := c.scheduler.Cache.AddPod(logger, o); err != nil {
				return err
			}
		default:
			return fmt.Errorf("a %T where a Node, a Pod or an array of pods is expected", o)
		}
	}
}

// benchResult is what an array of pods is answered with.
type benchResult struct {
	Seconds    float64 `json:"seconds"`
	Placed     int     `json:"placed"`
	Candidates int     `json:"candidates"`
}

func (c *cluster) timed(ctx context.Context, line []byte) (*benchResult, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(line, &raw); err != nil {
		return nil, err
	}
	objects, err := decodeAll(raw, "pods")
	if err != nil {
		return nil, err
	}
	result := &benchResult{}
	begin := cpuTime()
	for _, object := range objects {
		pod, ok := object.(*v1.Pod)
		if !ok {
			return nil, fmt.Errorf("a %T where a Pod is expected", object)
		}
		if err := c.place(ctx, pod, result); err != nil {
			return nil, err
		}
	}
	result.Seconds = (cpuTime() - begin).Seconds()
	return result, nil
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
