package main

import (
	"encoding/json"
	"strconv"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

var podsResource = v1.SchemeGroupVersion.WithResource("pods")

// apiServer makes a fake API server keep pods as a real one does, as far as the scheduler writes to them: bindings,
// patches of the status, evictions.
type apiServer struct {
	client  *fake.Clientset
	mu      sync.Mutex
	version int
	gone    []string
}

func newAPIServer(objects ...runtime.Object) *apiServer {
	a := &apiServer{client: fake.NewClientset(objects...), version: 1_000_000}
	a.client.PrependReactor("create", "pods", a.bind)
	a.client.PrependReactor("patch", "pods", a.patch)
	a.client.PrependReactor("delete", "pods", a.remove)
	return a
}

// store keeps a pod under a new resource version: the scheduler takes what has the old one for a repetition.
func (a *apiServer) store(pod *v1.Pod) error {
	a.mu.Lock()
	a.version++
	pod.ResourceVersion = strconv.Itoa(a.version)
	a.mu.Unlock()
	return a.client.Tracker().Update(podsResource, pod, pod.Namespace)
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
	pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionTrue}}
	return true, binding, a.store(pod)
}

func (a *apiServer) patch(action clienttesting.Action) (bool, runtime.Object, error) {
	wanted := action.(clienttesting.PatchAction)
	before, err := a.pod(wanted.GetNamespace(), wanted.GetName())
	if err != nil {
		return true, nil, err
	}
	text, err := json.Marshal(before)
	if err != nil {
		return true, nil, err
	}
	if text, err = strategicpatch.StrategicMergePatch(text, wanted.GetPatch(), v1.Pod{}); err != nil {
		return true, nil, err
	}
	pod := &v1.Pod{}
	if err := json.Unmarshal(text, pod); err != nil {
		return true, nil, err
	}
	return true, pod, a.store(pod)
}

// remove takes note of an eviction; the tracker then forgets the pod at once, without grace.
func (a *apiServer) remove(action clienttesting.Action) (bool, runtime.Object, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone = append(a.gone, action.GetNamespace()+"/"+action.(clienttesting.DeleteAction).GetName())
	return false, nil, nil
}

// evicted returns the pods that were removed since the last call.
func (a *apiServer) evicted() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	gone := a.gone
	a.gone = nil
	return gone
}
