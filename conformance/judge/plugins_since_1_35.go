//go:build kube1.35

package main

import (
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
)

// Since 1.35 the extension points are public, and VolumeBinding reads the informers' stores themselves.

type (
	plugin          = fwk.Plugin
	filterPlugin    = fwk.FilterPlugin
	scorePlugin     = fwk.ScorePlugin
	preFilterResult = fwk.PreFilterResult
	nominatingInfo  = fwk.NominatingInfo
)

func volumeCaches(*volumebinding.VolumeBinding) (hasVolume, hasClaim func(key string) bool) {
	always := func(string) bool { return true }
	return always, always
}
