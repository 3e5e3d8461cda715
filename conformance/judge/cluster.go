package main

import (
	"context"
	"errors"
	"reflect"
	"time"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	config "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

const patience = 10 * time.Second

// cluster is the real scheduler over a fake API server.
type cluster struct {
	client    *fake.Clientset
	informers informers.SharedInformerFactory
	scheduler *scheduler.Scheduler
}

// unfinished leaves out the pods that have run: the scheduler's informer asks for others only, by a field selector that
// the fake API server does not know.
func unfinished(objects []runtime.Object) []runtime.Object {
	var kept []runtime.Object
	for _, object := range objects {
		if pod, ok := object.(*v1.Pod); ok && hasRun(pod) {
			continue
		}
		kept = append(kept, object)
	}
	return kept
}

func hasRun(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// newCluster makes a scheduler that looks at every node. It watches nothing before start.
func newCluster(ctx context.Context, client *fake.Clientset, cfg *config.KubeSchedulerConfiguration, more ...scheduler.Option) (*cluster, error) {
	c := &cluster{client: client, informers: newInformerFactory(client)}
	recorders := profile.NewRecorderFactory(events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()}))
	everyNode := int32(100)
	options := append([]scheduler.Option{
		scheduler.WithProfiles(cfg.Profiles...),
		scheduler.WithPercentageOfNodesToScore(&everyNode),
		scheduler.WithParallelism(1),
	}, more...)
	var err error
	c.scheduler, err = scheduler.New(ctx, client, c.informers, nil, recorders, options...)
	return c, err
}

// start runs the informers until the scheduler and everything that hangs off it has seen every object.
func (c *cluster) start(ctx context.Context, objects []runtime.Object) error {
	// Plugins ask for these listers only when a pod needs them, too late to fill them.
	c.informers.Policy().V1().PodDisruptionBudgets().Informer()
	c.informers.Core().V1().Namespaces().Informer()
	c.informers.Start(ctx.Done())
	c.informers.WaitForCacheSync(ctx.Done())
	if err := c.scheduler.WaitForHandlersSync(ctx); err != nil {
		return err
	}
	nodes, pods := 0, 0
	for _, object := range objects {
		switch o := object.(type) {
		case *v1.Node:
			nodes++
		case *v1.Pod:
			if o.Spec.NodeName != "" && !hasRun(o) {
				pods++
			}
		}
	}
	if !eventually(patience, func() bool {
		n, err := c.scheduler.Cache.PodCount()
		return err == nil && n >= pods && c.scheduler.Cache.NodeCount() >= nodes // more: nodes that only pods name
	}) {
		return errors.New("the scheduler's cache did not fill")
	}
	for _, fw := range c.scheduler.Profiles {
		for _, seen := range append(volumesSeen(fw, objects), devicesSeen(fw, objects)...) {
			if !eventually(patience, seen) {
				return errors.New("the plugins' caches did not fill")
			}
		}
	}
	return nil
}

// volumesSeen has a check per object that VolumeBinding keeps in a cache of its own, filled by handlers that
// WaitForHandlersSync knows nothing of.
func volumesSeen(fw framework.Framework, objects []runtime.Object) []func() bool {
	binding, ok := instances(fw)["VolumeBinding"].(*volumebinding.VolumeBinding)
	if !ok {
		return nil
	}
	hasVolume, hasClaim := volumeCaches(binding)
	var checks []func() bool
	for _, object := range objects {
		switch o := object.(type) {
		case *v1.PersistentVolume:
			checks = append(checks, func() bool { return hasVolume(o.Name) })
		case *v1.PersistentVolumeClaim:
			checks = append(checks, func() bool { return hasClaim(o.Namespace + "/" + o.Name) })
		}
	}
	return checks
}

// instances are the plugins that a profile runs. New ones of the same kind would not do: their caches would be empty.
func instances(fw framework.Framework) map[string]plugin {
	return *(*map[string]plugin)(unexported(fw, "pluginsMap"))
}

// unexported points at a field that the scheduler keeps to itself.
func unexported(owner any, field string) unsafe.Pointer {
	return unsafe.Pointer(reflect.ValueOf(owner).Elem().FieldByName(field).UnsafeAddr())
}

// eventually asks until it is so, or patience ends.
func eventually(limit time.Duration, so func() bool) bool {
	for end := time.Now().Add(limit); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
