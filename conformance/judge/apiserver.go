package main

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

var podsResource = v1.SchemeGroupVersion.WithResource("pods")

// apiServer makes a fake API server keep pods and their groups as a real one does, as far as the scheduler writes to
// them: bindings, patches of the status, evictions.
type apiServer struct {
	client  *fake.Clientset
	starts  func(*v1.Pod) *metav1.Time // when a pod starts that is bound; nil: never
	mu      sync.Mutex
	version int
	gone    []string
	written map[string]condition // the last condition written on a group since it was last asked for
}

func newAPIServer(objects ...runtime.Object) *apiServer {
	a := &apiServer{
		client:  fake.NewClientset(objects...),
		starts:  func(*v1.Pod) *metav1.Time { return nil },
		version: 1_000_000,
		written: map[string]condition{},
	}
	a.client.PrependReactor("create", "pods", a.bind)
	a.client.PrependReactor("patch", "pods", a.patch)
	a.client.PrependReactor("delete", "pods", a.remove)
	a.client.PrependReactor("patch", "podgroups", a.patchGroup)
	a.client.PrependReactor("patch", "compositepodgroups", a.patchGroup)
	return a
}

// store keeps an object under a new resource version: the scheduler takes what has the old one for a repetition.
func (a *apiServer) store(resource schema.GroupVersionResource, object runtime.Object) error {
	about, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.version++
	about.SetResourceVersion(strconv.Itoa(a.version))
	a.mu.Unlock()
	return a.client.Tracker().Update(resource, object, about.GetNamespace())
}

func (a *apiServer) pod(namespace, name string) (*v1.Pod, error) {
	found, err := a.client.Tracker().Get(podsResource, namespace, name)
	if err != nil {
		return nil, err
	}
	return found.(*v1.Pod).DeepCopy(), nil
}

func (a *apiServer) bind(action clienttesting.Action) (bool, runtime.Object, error) {
	if action.GetSubresource() != "binding" {
		return false, nil, nil
	}
	binding := action.(clienttesting.CreateAction).GetObject().(*v1.Binding)
	pod, err := a.pod(binding.Namespace, binding.Name)
	if err != nil {
		return true, nil, err
	}
	pod.Spec.NodeName = binding.Target.Name
	pod.Status.NominatedNodeName = ""
	if start := a.starts(pod); start != nil {
		pod.Status.StartTime = start
	}
	pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionTrue}}
	return true, binding, a.store(podsResource, pod)
}

func (a *apiServer) patch(action clienttesting.Action) (bool, runtime.Object, error) {
	_, after, err := a.patched(action.(clienttesting.PatchAction))
	if err != nil {
		return true, nil, err
	}
	return true, after, a.store(action.GetResource(), after)
}

// patchGroup takes note of the condition that a patch changes.
func (a *apiServer) patchGroup(action clienttesting.Action) (bool, runtime.Object, error) {
	wanted := action.(clienttesting.PatchAction)
	before, after, err := a.patched(wanted)
	if err != nil {
		return true, nil, err
	}
	old := conditions(before)
	a.mu.Lock()
	for _, one := range conditions(after) {
		if !slices.Contains(old, one) {
			a.written[wanted.GetNamespace()+"/"+wanted.GetName()] = one
		}
	}
	a.mu.Unlock()
	return true, after, a.store(action.GetResource(), after)
}

// patched returns the object of a patch as it is, and as it becomes.
func (a *apiServer) patched(wanted clienttesting.PatchAction) (before, after runtime.Object, err error) {
	before, err = a.client.Tracker().Get(wanted.GetResource(), wanted.GetNamespace(), wanted.GetName())
	if err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(before)
	if err != nil {
		return nil, nil, err
	}
	if text, err = strategicpatch.StrategicMergePatch(text, wanted.GetPatch(), before); err != nil {
		return nil, nil, err
	}
	after = reflect.New(reflect.TypeOf(before).Elem()).Interface().(runtime.Object)
	return before, after, json.Unmarshal(text, after)
}

// conditions reads the conditions of a group of any version.
func conditions(group runtime.Object) []condition {
	var found struct {
		Status struct {
			Conditions []condition `json:"conditions"`
		} `json:"status"`
	}
	text, err := json.Marshal(group)
	if err != nil || json.Unmarshal(text, &found) != nil {
		return nil
	}
	return found.Status.Conditions
}

// lastWritten returns the condition that was last written on a group since the last call; nil without one.
func (a *apiServer) lastWritten(group string) *condition {
	a.mu.Lock()
	defer a.mu.Unlock()
	found, ok := a.written[group]
	delete(a.written, group)
	if !ok {
		return nil
	}
	return &found
}

// alsoWritten returns the conditions that were last written on any other group since the last call; nil without one.
func (a *apiServer) alsoWritten() map[string]condition {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.written) == 0 {
		return nil
	}
	found := a.written
	a.written = map[string]condition{}
	return found
}

// remove takes note of an eviction; the tracker then forgets the pod at once, without grace.
func (a *apiServer) remove(action clienttesting.Action) (bool, runtime.Object, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone = append(a.gone, action.GetNamespace()+"/"+action.(clienttesting.DeleteAction).GetName())
	return false, nil, nil
}

// evicted returns the pods that were removed since the last call, by name; members of a group may evict the same one.
func (a *apiServer) evicted() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	slices.Sort(a.gone)
	gone := slices.Compact(a.gone)
	a.gone = nil
	return gone
}
