package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
)

// resources are the resources of a case's objects, by their names: objects are deleted by kind.
type resources map[objectName]schema.GroupVersionResource

// add notes an object, and returns its resource and its name.
func (r resources) add(object runtime.Object) (schema.GroupVersionResource, objectName, error) {
	kinds, _, err := clientscheme.Scheme.ObjectKinds(object)
	if err != nil {
		return schema.GroupVersionResource{}, objectName{}, err
	}
	about, err := meta.Accessor(object)
	if err != nil {
		return schema.GroupVersionResource{}, objectName{}, err
	}
	resource, _ := meta.UnsafeGuessKindToResource(kinds[0])
	name := objectName{kinds[0].Kind, about.GetNamespace(), about.GetName()}
	r[name] = resource
	return resource, name, nil
}

// change creates and deletes what a stage says, one after the other, and waits each time until all has arrived.
func (l *loop) change(ctx context.Context, next stage) error {
	clear(l.inVain)
	for _, object := range next.create {
		if pod, ok := object.(*v1.Pod); ok {
			if err := l.create(ctx, pod); err != nil {
				return err
			}
			continue
		}
		resource, name, err := l.known.add(object)
		if err != nil {
			return err
		}
		if err := l.client.Tracker().Create(resource, object, name.Namespace); err != nil {
			return err
		}
		l.settle()
	}
	for _, name := range next.remove {
		resource, ok := l.known[name]
		if !ok {
			return fmt.Errorf("then: there is no %s %s/%s to delete", name.Kind, name.Namespace, name.Name)
		}
		// It may have been evicted.
		if err := l.client.Tracker().Delete(resource, name.Namespace, name.Name); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		l.settle()
	}
	l.settle()
	return nil
}
