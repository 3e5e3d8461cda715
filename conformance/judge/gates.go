package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
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

// gateKeeper lets cases run at the same time only where they set the same gates: gates belong to the whole process.
type gateKeeper struct {
	mu      sync.Mutex
	left    *sync.Cond
	inside  int
	wanted  map[string]bool
	outside map[string]bool // the values from before
}

var gates = newGateKeeper()

func newGateKeeper() *gateKeeper {
	k := &gateKeeper{}
	k.left = sync.NewCond(&k.mu)
	return k
}

// enter sets the gates of a case, once no case with other gates runs. Each enter without an error needs a leave.
func (k *gateKeeper) enter(wanted map[string]bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.inside > 0 && !maps.Equal(k.wanted, wanted) {
		k.left.Wait()
	}
	if k.inside == 0 {
		if err := k.set(wanted); err != nil {
			return err
		}
	}
	k.inside++
	return nil
}

func (k *gateKeeper) set(wanted map[string]bool) error {
	process, outside := utilfeature.DefaultMutableFeatureGate, map[string]bool{}
	known := process.GetAll()
	for name := range wanted {
		gate := featuregate.Feature(name)
		if _, found := known[gate]; !found {
			return unknownKind{fmt.Errorf("featureGates: no gate is named %s", name)}
		}
		outside[name] = process.Enabled(gate)
	}
	if err := process.SetFromMap(wanted); err != nil {
		return fmt.Errorf("featureGates: %w", err)
	}
	k.wanted, k.outside = wanted, outside
	return nil
}

// leave gives the gates back once the last case that set them is done.
func (k *gateKeeper) leave() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.inside--; k.inside > 0 {
		return
	}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(k.outside); err != nil {
		panic(err) // values that were there before
	}
	k.left.Broadcast()
}
