//go:build !kube1.35

package main

import (
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
)

// Until 1.34 the extension points are internal, and VolumeBinding fills caches of its own from the informers.

type (
	plugin          = framework.Plugin
	filterPlugin    = framework.FilterPlugin
	scorePlugin     = framework.ScorePlugin
	preFilterResult = framework.PreFilterResult
	nominatingInfo  = framework.NominatingInfo
)

func volumeCaches(vb *volumebinding.VolumeBinding) (hasVolume, hasClaim func(key string) bool) {
	volumes := *(**volumebinding.PVAssumeCache)(unexported(vb.Binder, "pvCache"))
	claims := *(**volumebinding.PVCAssumeCache)(unexported(vb.Binder, "pvcCache"))
	return func(key string) bool { _, err := volumes.GetPV(key); return err == nil },
		func(key string) bool { _, err := claims.GetPVC(key); return err == nil }
}
