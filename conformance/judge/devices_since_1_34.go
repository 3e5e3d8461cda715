//go:build kube1.34

package main

import (
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// devicesSeen has the checks that the manager of devices has seen every slice, every claim and all that is allocated.
func devicesSeen(fw framework.Framework, objects []runtime.Object) []func() bool {
	manager := fw.SharedDRAManager()
	if manager == nil {
		return nil
	}
	// Shares of one device are counted apart where the release has them.
	sharing := utilfeature.DefaultFeatureGate.Enabled(features.DRAConsumableCapacity)
	slices, whole, shares := 0, sets.New[string](), sets.New[string]()
	var checks []func() bool
	for _, object := range objects {
		switch o := object.(type) {
		case *resourceapi.ResourceSlice:
			slices++
		case *resourceapi.ResourceClaim:
			checks = append(checks, func() bool { _, err := manager.ResourceClaims().Get(o.Namespace, o.Name); return err == nil })
			if o.Status.Allocation == nil {
				continue
			}
			for _, result := range o.Status.Allocation.Devices.Results {
				id := result.Driver + "/" + result.Pool + "/" + result.Device
				switch {
				case result.AdminAccess != nil && *result.AdminAccess: // does not count as use
				case result.ShareID != nil && sharing:
					shares.Insert(id + "/" + string(*result.ShareID))
				default:
					whole.Insert(id)
				}
			}
		}
	}
	checks = append(checks, func() bool {
		found, err := manager.ResourceSlices().ListWithDeviceTaintRules()
		return err != nil || len(found) >= slices
	}, func() bool {
		found, err := manager.ResourceClaims().ListAllAllocatedDevices()
		return err != nil || found.Len() >= whole.Len()
	})
	if sharing {
		checks = append(checks, func() bool { return countShares(fw) >= shares.Len() })
	}
	return checks
}
