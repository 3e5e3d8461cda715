package main

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Groups of pods: what an attempt at a group says, and what is settled in a case that sets feature gates, so that it
// has the same answer every time. The scheduler could go all these ways by itself:
//   - the random numbers that decide among equally good nodes are the same in every run of a case;
//   - placements are tried in the order of their names, and the first by name wins among equally good ones;
//   - 1.36 tries members of equal priority in the order of their creation, where it has none itself;
//   - the members of a tree of groups are listed in the order in which they are tried, and then by their creation: the
//     scheduler tells of the groups of a tree in random order.
//
// The node of a preemption among equals stays random.

// member is what an attempt at a group came to for one of its pods.
type member struct {
	Pod       string `json:"pod"`
	Node      string `json:"node,omitempty"`
	Message   string `json:"message,omitempty"`
	Nominated string `json:"nominated,omitempty"`
}

// condition is a condition in the status of a group.
type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

const (
	groupScheduled     = "scheduled" // some member has a node
	groupPreempting    = "preempting"
	groupUnschedulable = "unschedulable"
	groupError         = "error"
)

// member returns what the attempt says about a pod; one that it says nothing about yet comes after the others.
func (a *attempt) member(pod string) *member {
	at := slices.IndexFunc(a.Members, func(m member) bool { return m.Pod == pod })
	if at < 0 {
		a.Members, at = append(a.Members, member{Pod: pod}), len(a.Members)
	}
	return &a.Members[at]
}

// conclude sums up the members.
func (a *attempt) conclude() {
	a.Outcome = groupUnschedulable
	if len(a.Victims) > 0 || slices.ContainsFunc(a.Members, func(m member) bool { return m.Nominated != "" }) {
		a.Outcome = groupPreempting
	}
	if a.failed {
		a.Outcome = groupError
	}
	if slices.ContainsFunc(a.Members, func(m member) bool { return m.Node != "" }) {
		a.Outcome = groupScheduled
	}
}

// inOrder puts the members of a tree in the order in which they were tried; the others come last, by their creation.
func (a *attempt) inOrder(born *births) {
	tried := map[string]int{}
	for i, pick := range a.Picks {
		if _, again := tried[pick[0]]; !again {
			tried[pick[0]] = i
		}
	}
	place := func(m member) int {
		if at, found := tried[m.Pod]; found {
			return at
		}
		return len(a.Picks) + born.at(m.Pod)
	}
	slices.SortStableFunc(a.Members, func(one, two member) int { return cmp.Compare(place(one), place(two)) })
}

// groupKey names the group that a pod is tried with, or the root of that group's tree, as namespace/name; empty for a
// pod that is tried by itself.
func (l *loop) groupKey(pod *v1.Pod) string {
	if name := groupOf(pod); name != "" {
		return pod.Namespace + "/" + rootOf(l.scheduler, pod, name)
	}
	return ""
}

// restful is how often a pod or group may be tried in vain before the loop counts as being at rest.
const restful = 2

// rest counts attempts in vain by pod or group: a group that is rejected is tried again for ever.
type rest map[string]int

func (r rest) of(group, pod string) int {
	if group != "" {
		return r["group "+group]
	}
	return r[pod]
}

// note counts an attempt; one that binds or evicts a pod begins the count anew, as another may now succeed.
func (r rest) note(a *attempt) {
	switch {
	case a.Node != "" || len(a.Victims) > 0 || a.Outcome == groupScheduled:
		clear(r)
	case a.Group != "":
		r["group "+a.Group]++
	default:
		r[a.Pod]++
	}
}

// births numbers the pods of a case in the order of their creation.
type births struct {
	mu     sync.Mutex
	number map[string]int
}

func (b *births) add(pod *v1.Pod) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.number[podKey(pod)] = len(b.number)
}

func (b *births) of(pod *v1.Pod) int { return b.at(podKey(pod)) }

func (b *births) at(key string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.number[key]
}

// start is when a pod starts that was bound: preemption compares these times, so that none may come from a clock.
func (b *births) start(pod *v1.Pod) *metav1.Time {
	return &metav1.Time{Time: time.Date(2026, 2, 1, 0, 0, b.of(pod), 0, time.UTC)}
}

// dice makes the random numbers of every search for a node depend only on the case and on the number of the search.
type dice struct {
	id       string
	searches int
}

// theNumbers belong to the process: one search at a time.
var theNumbers sync.Mutex

// cast seeds the numbers for a search, which ends when the returned function is called.
func (d *dice) cast() (end func()) {
	theNumbers.Lock()
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%s%d", d.id, d.searches)
	d.searches++
	rand.Seed(int64(hash.Sum64())) //nolint:staticcheck // the scheduler takes its numbers from the global source
	return theNumbers.Unlock
}
