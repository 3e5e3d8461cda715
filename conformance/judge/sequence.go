package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	clocktesting "k8s.io/utils/clock/testing"
)

// attempt is one cycle of the loop: where the pod went, or why it went nowhere; or what became of a group's pods.
type attempt struct {
	Pod        string               `json:"pod,omitempty"`
	Node       string               `json:"node,omitempty"`
	Message    string               `json:"message,omitempty"`
	Nominated  string               `json:"nominated,omitempty"`
	Group      string               `json:"group,omitempty"` // instead of a pod; of a tree of groups the root
	Outcome    string               `json:"outcome,omitempty"`
	Condition  *condition           `json:"condition,omitempty"`  // what the attempt wrote on the group
	Conditions map[string]condition `json:"conditions,omitempty"` // and on the groups below it
	Members    []member             `json:"members,omitempty"`    // in the order in which they are tried
	Picks      [][2]string          `json:"picks,omitempty"`      // pod and node of every search; "" where it found none
	Victims    []string             `json:"victims,omitempty"`

	popped []string // of a group: what the queue gave out
	failed bool     // some member failed with an error
}

// sequenceAnswer is what the loop makes of many pods.
type sequenceAnswer struct {
	header
	Attempts    []attempt              `json:"attempts"`
	Pods        map[string]string      `json:"pods"` // where they are in the end; "" for those that wait
	Nominations map[string]string      `json:"nominations,omitempty"`
	Gated       []string               `json:"gated,omitempty"`  // no cycle was spent on them
	Groups      map[string][]condition `json:"groups,omitempty"` // the conditions of every group in the end
	Held        map[string]verdict     `json:"held,omitempty"`   // what PreEnqueue keeps back in the end
}

// tooMany attempts mean that pods preempt each other forever.
const tooMany = 2000

// loop is the scheduler's own loop, driven a cycle at a time. Its clock goes on by a millisecond per pod and per cycle,
// so that back-off never ends by itself.
type loop struct {
	*cluster
	grouped bool
	server  *apiServer
	clock   *clocktesting.FakeClock
	current atomic.Pointer[attempt]
	ans     *sequenceAnswer
	known   resources
	born    *births
	inVain  rest
}

// runSequence answers a case of many pods: all are created, then cycles run until nothing is left to try. Then comes
// the first stage, and so on.
func runSequence(q question) *sequenceAnswer {
	ans := &sequenceAnswer{Attempts: []attempt{}, Pods: map[string]string{}}
	ans.fill(q, func(ctx context.Context, w *world) error { return play(ctx, w, ans) })
	return ans
}

func play(ctx context.Context, w *world, ans *sequenceAnswer) error {
	l := &loop{
		grouped: w.grouped,
		server:  newAPIServer(unfinished(w.objects)...),
		clock:   clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		ans:     ans,
		known:   resources{},
		born:    &births{number: map[string]int{}},
		inVain:  rest{},
	}
	var err error
	for _, object := range w.objects {
		if _, _, err := l.known.add(object); err != nil {
			return err
		}
	}
	l.cluster, err = newCluster(ctx, l.server.client, w.config,
		scheduler.WithClock(l.clock),
		scheduler.WithPodInitialBackoffSeconds(w.config.PodInitialBackoffSeconds),
		scheduler.WithPodMaxBackoffSeconds(w.config.PodMaxBackoffSeconds))
	if err != nil {
		return fmt.Errorf("scheduler: %w", err)
	}
	l.listen()
	if w.grouped {
		l.settleChance(w.id)
	}
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
	for stages := w.stages; ; stages = stages[1:] {
		for l.more() {
			if len(ans.Attempts) == tooMany {
				return errors.New("does not settle")
			}
			if err := l.cycle(ctx); err != nil {
				return err
			}
		}
		if len(stages) == 0 {
			return l.sumUp(ctx, w.pods)
		}
		if err := l.change(ctx, stages[0]); err != nil {
			return err
		}
	}
}

// settleChance settles what groups.go names.
func (l *loop) settleChance(id string) {
	l.server.starts = l.born.start
	settleMembers(l.scheduler, l.born)
	settlePlacements(l.scheduler)
	everyPlacement(l.scheduler)
	numbers := &dice{id: id}
	onSearch(l.scheduler, numbers.cast, func(pod *v1.Pod, node string) {
		if made := l.current.Load(); made.Group != "" {
			made.member(podKey(pod))
			made.Picks = append(made.Picks, [2]string{podKey(pod), node})
		}
	})
}

// more tells whether a pod is left to try. Evictions run in the background: an empty queue is believed the second time.
func (l *loop) more() bool {
	queue := l.scheduler.SchedulingQueue
	waiting := func() bool {
		for _, pod := range append(queue.PodsInActiveQ(), queue.PodsInBackoffQ()...) {
			if !l.grouped || l.inVain.of(l.groupKey(pod), podKey(pod)) < restful {
				return true
			}
		}
		return false
	}
	if waiting() {
		return true
	}
	time.Sleep(50 * time.Millisecond)
	l.settle()
	return waiting()
}

// listen takes note of the pod or group that the queue gives out, and of the failures that its cycle ends with.
func (l *loop) listen() {
	onNext(l.scheduler, func(pods ...*v1.Pod) {
		made := &attempt{Group: l.groupKey(pods[0])}
		if made.Group == "" {
			made.Pod = podKey(pods[0])
		} else {
			made.popped = podKeys(pods)
		}
		l.current.Store(made)
	})
	handle := l.scheduler.FailureHandler
	l.scheduler.FailureHandler = func(ctx context.Context, fw framework.Framework, info *framework.QueuedPodInfo, s *status, nominating *nominatingInfo, start time.Time) {
		nominated := ""
		if nominating != nil {
			nominated = nominating.NominatedNodeName
		}
		made := l.current.Load()
		if made.Group != "" {
			one := made.member(podKey(info.Pod))
			one.Message, one.Nominated = memberMessage(info.Pod, s), nominated
			made.failed = made.failed || s.Code() == failed
		} else {
			made.Message, made.Nominated = s.Message(), nominated
			if err := s.AsError(); err != nil {
				made.Message = err.Error()
			}
		}
		handle(ctx, fw, info, s, nominating, start)
	}
}

// create hands a pod to the API server and waits until the queue has it, so that they queue in their order.
func (l *loop) create(ctx context.Context, pod *v1.Pod) error {
	l.clock.Step(time.Millisecond)
	pod.CreationTimestamp = metav1.Time{Time: l.clock.Now()}
	l.born.add(pod)
	if _, _, err := l.known.add(pod); err != nil {
		return err
	}
	if _, err := l.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return err
	}
	queued := func() bool {
		waiting, _ := l.scheduler.SchedulingQueue.PendingPods()
		return slices.ContainsFunc(waiting, func(other *v1.Pod) bool { return podKey(other) == podKey(pod) })
	}
	if _, ours := l.scheduler.Profiles[pod.Spec.SchedulerName]; !ours || pod.Spec.NodeName != "" {
		l.settle()
		return nil
	}
	if groupOf(pod) != "" {
		// Without its group a pod may be in no queue, and the group may come later.
		if !eventually(patience, func() bool { return l.seen(podKey(pod)) != nil }) {
			return fmt.Errorf("%s does not arrive", podKey(pod))
		}
		eventually(200*time.Millisecond, queued)
		return nil
	}
	if !eventually(patience, queued) {
		return fmt.Errorf("%s does not arrive in the queue", podKey(pod))
	}
	return nil
}

// cycle lets the scheduler make one attempt and waits until all that it did has arrived.
func (l *loop) cycle(ctx context.Context) error {
	l.clock.Step(time.Millisecond)
	l.server.evicted()
	l.current.Store(nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.scheduler.ScheduleOne(ctx)
	}()
	if err := l.await(done); err != nil {
		return err
	}
	made := l.current.Load()
	if made == nil {
		return nil // skipped: it is gone or bound meanwhile
	}
	if made.Nominated != "" || made.Group != "" {
		time.Sleep(20 * time.Millisecond) // evictions run in the background, and nothing tells whether they have begun
	}
	l.settle()
	made.Victims = l.server.evicted()
	l.finish(made)
	l.inVain.note(made)
	l.ans.Attempts = append(l.ans.Attempts, *made)
	return nil
}

// finish puts down where pods went that did not fail.
func (l *loop) finish(made *attempt) {
	if made.Group == "" {
		if pod := l.seen(made.Pod); made.Message == "" && pod != nil {
			made.Node = pod.Spec.NodeName
		}
		return
	}
	for _, pod := range made.popped {
		made.member(pod)
	}
	for i := range made.Members {
		one := &made.Members[i]
		if pod := l.seen(one.Pod); one.Message == "" && pod != nil {
			one.Node = pod.Spec.NodeName
		}
	}
	made.Condition = l.server.lastWritten(made.Group)
	if hasTrees() {
		made.Conditions = l.server.alsoWritten()
		made.inOrder(l.born)
	}
	made.conclude()
}

// seen returns a pod as the scheduler's informer has it; nil if it has none of the name.
func (l *loop) seen(key string) *v1.Pod {
	namespace, name, _ := strings.Cut(key, "/")
	pod, err := l.informers.Core().V1().Pods().Lister().Pods(namespace).Get(name)
	if err != nil {
		return nil
	}
	return pod
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
	begun := func() bool { return l.current.Load() != nil || ended() }
	for i := 0; i < 600 && !begun(); i++ {
		l.clock.Step(time.Second)
		eventually(20*time.Millisecond, begun)
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
func (l *loop) sumUp(ctx context.Context, asked []*v1.Pod) error {
	tried := map[string]bool{}
	for _, made := range l.ans.Attempts {
		tried[made.Pod] = true
		for _, one := range made.Members {
			tried[one.Pod] = true
		}
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
	if l.grouped {
		l.sumUpGroups(ctx)
	}
	return nil
}

// sumUpGroups puts down the conditions of the groups and what PreEnqueue keeps back.
func (l *loop) sumUpGroups(ctx context.Context) {
	l.ans.Groups, l.ans.Held = map[string][]condition{}, map[string]verdict{}
	for name, resource := range l.known {
		if name.Kind != "PodGroup" && name.Kind != "CompositePodGroup" {
			continue
		}
		if group, err := l.client.Tracker().Get(resource, name.Namespace, name.Name); err == nil {
			l.ans.Groups[name.Namespace+"/"+name.Name] = conditions(group)
		}
	}
	for _, pod := range l.pods() {
		fw, ours := l.scheduler.Profiles[pod.Spec.SchedulerName]
		if pod.Spec.NodeName != "" || !ours {
			continue
		}
		if said := heldBack(ctx, fw, pod); said != nil {
			l.ans.Held[podKey(pod)] = *said
		}
	}
}
