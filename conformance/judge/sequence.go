package main

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	clocktesting "k8s.io/utils/clock/testing"
)

// attempt is one cycle of the loop: where the pod went, or why it went nowhere.
type attempt struct {
	Pod       string   `json:"pod"`
	Node      string   `json:"node,omitempty"`
	Message   string   `json:"message,omitempty"`
	Nominated string   `json:"nominated,omitempty"`
	Victims   []string `json:"victims,omitempty"`
}

// sequenceAnswer is what the loop makes of many pods.
type sequenceAnswer struct {
	header
	Attempts    []attempt         `json:"attempts"`
	Pods        map[string]string `json:"pods"` // where they are in the end; "" for those that wait
	Nominations map[string]string `json:"nominations,omitempty"`
	Gated       []string          `json:"gated,omitempty"` // no cycle was spent on them
}

// tooMany attempts mean that pods preempt each other forever.
const tooMany = 2000

// loop is the scheduler's own loop, driven a cycle at a time. Its clock goes on by a millisecond per pod and per cycle,
// so that back-off never ends by itself.
type loop struct {
	*cluster
	server  *apiServer
	clock   *clocktesting.FakeClock
	current *attempt
	ans     *sequenceAnswer
}

// runSequence answers a case of many pods: all are created, then cycles run until nothing is left to try.
func runSequence(q question) *sequenceAnswer {
	ans := &sequenceAnswer{Attempts: []attempt{}, Pods: map[string]string{}}
	ans.fill(q, func(ctx context.Context, w *world) error { return play(ctx, w, ans) })
	return ans
}

func play(ctx context.Context, w *world, ans *sequenceAnswer) error {
	l := &loop{
		server: newAPIServer(unfinished(w.objects)...),
		clock:  clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		ans:    ans,
	}
	var err error
	l.cluster, err = newCluster(ctx, l.server.client, w.config,
		scheduler.WithClock(l.clock),
		scheduler.WithPodInitialBackoffSeconds(w.config.PodInitialBackoffSeconds),
		scheduler.WithPodMaxBackoffSeconds(w.config.PodMaxBackoffSeconds))
	if err != nil {
		return fmt.Errorf("scheduler: %w", err)
	}
	l.listen()
	if err := l.start(ctx, w.objects); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	logger := klog.FromContext(ctx)
	l.scheduler.SchedulingQueue.Run(logger)
	runDispatcher(l.scheduler, logger)
	l.settle()
	for _, pod := range w.pods {
		if err := l.create(ctx, pod); err != nil {
			return err
		}
	}
	l.settle()
	for l.more() {
		if len(ans.Attempts) == tooMany {
			return errors.New("does not settle")
		}
		if err := l.cycle(ctx); err != nil {
			return err
		}
	}
	return l.sumUp(w.pods)
}

// more tells whether a pod is left to try. Evictions run in the background: an empty queue is believed the second time.
func (l *loop) more() bool {
	queue := l.scheduler.SchedulingQueue
	waiting := func() bool { return len(queue.PodsInActiveQ())+len(queue.PodsInBackoffQ()) > 0 }
	if waiting() {
		return true
	}
	time.Sleep(50 * time.Millisecond)
	l.settle()
	return waiting()
}

// listen takes note of the pod that the queue gives out, and of the failure that its cycle ends with.
func (l *loop) listen() {
	onNext(l.scheduler, func(pod *v1.Pod) { l.current = &attempt{Pod: podKey(pod)} })
	handle := l.scheduler.FailureHandler
	l.scheduler.FailureHandler = func(ctx context.Context, fw framework.Framework, info *framework.QueuedPodInfo, s *status, nominating *nominatingInfo, start time.Time) {
		l.current.Message = s.Message()
		if err := s.AsError(); err != nil {
			l.current.Message = err.Error()
		}
		if nominating != nil {
			l.current.Nominated = nominating.NominatedNodeName
		}
		handle(ctx, fw, info, s, nominating, start)
	}
}

// create hands a pod to the API server and waits until the queue has it, so that they queue in their order.
func (l *loop) create(ctx context.Context, pod *v1.Pod) error {
	l.clock.Step(time.Millisecond)
	pod.CreationTimestamp = metav1.Time{Time: l.clock.Now()}
	if _, err := l.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return err
	}
	arrived := eventually(patience, func() bool {
		waiting, _ := l.scheduler.SchedulingQueue.PendingPods()
		for _, other := range waiting {
			if podKey(other) == podKey(pod) {
				return true
			}
		}
		return false
	})
	if _, ours := l.scheduler.Profiles[pod.Spec.SchedulerName]; ours && pod.Spec.NodeName == "" && !arrived {
		return fmt.Errorf("%s does not arrive in the queue", podKey(pod))
	}
	return nil
}

// cycle lets the scheduler make one attempt and waits until all that it did has arrived.
func (l *loop) cycle(ctx context.Context) error {
	l.clock.Step(time.Millisecond)
	l.server.evicted()
	l.current = nil
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.scheduler.ScheduleOne(ctx)
	}()
	if err := l.await(done); err != nil {
		return err
	}
	made := l.current
	if made == nil {
		return nil // skipped: it is gone or bound meanwhile
	}
	if made.Nominated != "" {
		time.Sleep(20 * time.Millisecond) // evictions run in the background, and nothing tells whether they have begun
	}
	l.settle()
	made.Victims = l.server.evicted()
	sort.Strings(made.Victims)
	if namespace, name, _ := strings.Cut(made.Pod, "/"); made.Message == "" {
		if pod, err := l.informers.Core().V1().Pods().Lister().Pods(namespace).Get(name); err == nil {
			made.Node = pod.Spec.NodeName
		}
	}
	l.ans.Attempts = append(l.ans.Attempts, *made)
	return nil
}

// await waits for a cycle to end. Where the queue gives nothing out, only pods in back-off after an error are left, and
// the clock has to go on.
func (l *loop) await(done <-chan struct{}) error {
	ended := func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
	if eventually(300*time.Millisecond, ended) {
		return nil
	}
	for i := 0; i < 600 && l.current == nil && !ended(); i++ {
		l.clock.Step(time.Second)
		time.Sleep(10 * time.Millisecond)
	}
	if !eventually(patience, ended) {
		return errors.New("the queue gives nothing out")
	}
	return nil
}

// settle waits until queue, cache and informers say the same several times in a row.
func (l *loop) settle() {
	last, same := "", 0
	for end := time.Now().Add(patience); same < 6 && time.Now().Before(end); time.Sleep(3 * time.Millisecond) {
		now, steady := l.picture()
		if steady && now == last {
			same++
		} else {
			last, same = now, 0
		}
	}
}

// picture describes the state that the next cycle would find, and tells whether every assumed pod is confirmed.
func (l *loop) picture() (string, bool) {
	_, summary := l.scheduler.SchedulingQueue.PendingPods()
	cached, _ := l.scheduler.Cache.PodCount()
	lines := []string{}
	steady := true
	for _, pod := range l.pods() {
		assumed, err := l.scheduler.Cache.IsAssumedPod(pod)
		steady = steady && !(assumed && err == nil)
		lines = append(lines, fmt.Sprint(podKey(pod), pod.Spec.NodeName, pod.Status.NominatedNodeName))
	}
	sort.Strings(lines)
	return fmt.Sprint(summary, cached, len(l.client.Actions()), lines), steady
}

func (l *loop) pods() []*v1.Pod {
	pods, _ := l.informers.Core().V1().Pods().Lister().List(labels.Everything())
	return pods
}

// sumUp puts down where everything is in the end.
func (l *loop) sumUp(asked []*v1.Pod) error {
	tried := map[string]bool{}
	for _, made := range l.ans.Attempts {
		tried[made.Pod] = true
	}
	for _, pod := range l.pods() {
		l.ans.Pods[podKey(pod)] = pod.Spec.NodeName
		if pod.Status.NominatedNodeName != "" {
			if l.ans.Nominations == nil {
				l.ans.Nominations = map[string]string{}
			}
			l.ans.Nominations[podKey(pod)] = pod.Status.NominatedNodeName
		}
	}
	for _, pod := range asked {
		if !tried[podKey(pod)] {
			l.ans.Gated = append(l.ans.Gated, podKey(pod))
		}
	}
	return nil
}
