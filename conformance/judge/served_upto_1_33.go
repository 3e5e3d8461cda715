//go:build !kube1.34

package main

import "encoding/json"

// older are the versions under which 1.33 serves what became v1 with 1.34, in the same form; by version and kind.
var older = map[string]string{
	"resource.k8s.io/v1/DeviceClass":           "resource.k8s.io/v1beta2",
	"resource.k8s.io/v1/ResourceClaim":         "resource.k8s.io/v1beta2",
	"resource.k8s.io/v1/ResourceClaimTemplate": "resource.k8s.io/v1beta2",
	"resource.k8s.io/v1/ResourceSlice":         "resource.k8s.io/v1beta2",
	"storage.k8s.io/v1/VolumeAttributesClass":  "storage.k8s.io/v1beta1",
}

// asServed is the object in the version that the release knows it by.
func asServed(raw []byte) []byte {
	var fields map[string]json.RawMessage
	var version, kind string
	if json.Unmarshal(raw, &fields) != nil ||
		json.Unmarshal(fields["apiVersion"], &version) != nil || json.Unmarshal(fields["kind"], &kind) != nil {
		return raw
	}
	known, ok := older[version+"/"+kind]
	if !ok {
		return raw
	}
	fields["apiVersion"], _ = json.Marshal(known)
	if served, err := json.Marshal(fields); err == nil {
		return served
	}
	return raw
}
