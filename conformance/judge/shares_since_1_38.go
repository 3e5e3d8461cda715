//go:build kube1.38

package main

import (
	"reflect"

	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// countShares returns the number of shares of devices that the manager of devices has seen. Since 1.38 it only says which
// devices are shared, and nothing at all while any claim consumes a negative capacity: its own counters are read.
func countShares(fw framework.Framework) int {
	claims := reflect.ValueOf(fw.SharedDRAManager()).Elem().FieldByName("resourceClaimTracker").Elem()
	return claims.FieldByName("allocatedDevices").Elem().FieldByName("shareIDs").Len()
}
