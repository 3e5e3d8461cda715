package main

import (
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	configv1 "k8s.io/kube-scheduler/config/v1"
	config "k8s.io/kubernetes/pkg/scheduler/apis/config"
	configscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
)

// question is a case as it is read: with pod, what a single cycle says; with pods, what the loop makes of them.
type question struct {
	ID           string            `json:"id"`
	Objects      []json.RawMessage `json:"objects"`
	Pod          json.RawMessage   `json:"pod"`
	Pods         []json.RawMessage `json:"pods"`
	Then         []change          `json:"then"`
	Config       json.RawMessage   `json:"config"`
	FeatureGates map[string]bool   `json:"featureGates"`
}

// change is what a case does to the cluster once the loop has come to rest: first it creates, then it deletes.
type change struct {
	Create []json.RawMessage `json:"create"`
	Delete []objectName      `json:"delete"`
}

// objectName names an object of a case; no two of its kinds have the same name in different API groups.
type objectName struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// world is a case in the scheduler's own types.
type world struct {
	id      string
	grouped bool // it sets feature gates: groups of pods, and with them what groups.go settles
	objects []runtime.Object
	pods    []*v1.Pod
	stages  []stage
	config  *config.KubeSchedulerConfiguration
}

// stage is a change in the scheduler's own types.
type stage struct {
	create []runtime.Object
	remove []objectName
}

// unknownKind says that a case has an object which this release has no type for.
type unknownKind struct{ error }

// defaults knows the defaults that an API server sets in objects of the core group, and in groups of pods.
var defaults = runtime.NewScheme()

// world decodes the case. An error of type unknownKind means that the release cannot be asked.
func (q question) world() (*world, error) {
	w := &world{id: q.ID, grouped: len(q.FeatureGates) > 0}
	var err error
	if w.objects, err = decodeAll(q.Objects, "objects"); err != nil {
		return nil, err
	}
	for i, planned := range q.Then {
		created, err := decodeAll(planned.Create, fmt.Sprintf("then[%d].create", i))
		if err != nil {
			return nil, err
		}
		w.stages = append(w.stages, stage{created, planned.Delete})
	}
	asked, where := q.Pods, "pods"
	if q.Pods == nil {
		asked, where = []json.RawMessage{q.Pod}, "pod"
	}
	for _, raw := range asked {
		object, err := decode(raw)
		if err != nil {
			return nil, wrap(where, err)
		}
		pod, ok := object.(*v1.Pod)
		if !ok {
			return nil, fmt.Errorf("%s: a %T where a Pod is expected", where, object)
		}
		w.pods = append(w.pods, pod)
	}
	if w.config, err = configuration(q.Config); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return w, nil
}

func decodeAll(list []json.RawMessage, where string) ([]runtime.Object, error) {
	var objects []runtime.Object
	for i, raw := range list {
		object, err := decode(raw)
		if err != nil {
			return nil, wrap(fmt.Sprintf("%s[%d]", where, i), err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

func decode(raw json.RawMessage) (runtime.Object, error) {
	object, _, err := clientscheme.Codecs.UniversalDeserializer().Decode(asServed(raw), nil, nil)
	if err != nil {
		return nil, err
	}
	defaults.Default(object)
	return object, nil
}

func wrap(where string, err error) error {
	wrapped := fmt.Errorf("%s: %w", where, err)
	if runtime.IsNotRegisteredError(err) {
		return unknownKind{wrapped}
	}
	return wrapped
}

// configuration reads a KubeSchedulerConfiguration as kube-scheduler does at its start, or takes the defaults.
// Preemption then looks at every node: which share it looks at otherwise begins at a random one.
func configuration(raw json.RawMessage) (*config.KubeSchedulerConfiguration, error) {
	cfg := &config.KubeSchedulerConfiguration{}
	if len(raw) == 0 || string(raw) == "null" {
		versioned := &configv1.KubeSchedulerConfiguration{}
		configscheme.Scheme.Default(versioned)
		if err := configscheme.Scheme.Convert(versioned, cfg, nil); err != nil {
			return nil, err
		}
	} else {
		object, _, err := configscheme.Codecs.UniversalDecoder().Decode(raw, nil, nil)
		if err != nil {
			return nil, err
		}
		given, ok := object.(*config.KubeSchedulerConfiguration)
		if !ok {
			return nil, fmt.Errorf("a %T where a KubeSchedulerConfiguration is expected", object)
		}
		if err := validation.ValidateKubeSchedulerConfiguration(given); err != nil {
			return nil, err
		}
		cfg = given
	}
	for _, profile := range cfg.Profiles {
		for _, plugin := range profile.PluginConfig {
			if args, ok := plugin.Args.(*config.DefaultPreemptionArgs); ok {
				args.MinCandidateNodesPercentage = 100
			}
		}
	}
	return cfg, nil
}
