package main

import (
	"fmt"
	"io"
	"maps"
	"slices"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	logs "k8s.io/component-base/logs/api/v1"
	metrics "k8s.io/component-base/metrics/features"
)

// printGates lists what kube-scheduler takes for --feature-gates: per line a name, on or off, and ! where that is locked.
func printGates(out io.Writer) error {
	gates := utilfeature.DefaultMutableFeatureGate
	// The program itself adds these two before it reads its command line.
	if err := logs.AddFeatureGates(gates); err != nil {
		return err
	}
	if err := metrics.AddFeatureGates(gates); err != nil {
		return err
	}
	known := gates.GetAll()
	for _, name := range slices.Sorted(maps.Keys(known)) {
		state := "off"
		if known[name].Default {
			state = "on"
		}
		if known[name].LockToDefault {
			state += "!"
		}
		if _, err := fmt.Fprintln(out, name, state); err != nil {
			return err
		}
	}
	return nil
}
