//go:build !kube1.34

package main

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// devicesSeen has nothing to wait for: until 1.33 claims for devices are behind a gate that is off.
func devicesSeen(framework.Framework, []runtime.Object) []func() bool { return nil }
