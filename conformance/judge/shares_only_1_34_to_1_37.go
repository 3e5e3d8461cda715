//go:build kube1.34 && !kube1.38

package main

import "k8s.io/kubernetes/pkg/scheduler/framework"

// countShares returns the number of shares of devices that the manager of devices has seen.
func countShares(fw framework.Framework) int {
	found, err := fw.SharedDRAManager().ResourceClaims().GatherAllocatedState()
	if err != nil {
		return 0
	}
	return found.AllocatedSharedDeviceIDs.Len()
}
