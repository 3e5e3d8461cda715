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
	ID      string            `json:"id"`
	Objects []json.RawMessage `json:"objects"`
	Pod     json.RawMessage   `json:"pod"`
	Pods    []json.RawMessage `json:"pods"`
	Config  json.RawMessage   `json:"config"`
}

// world is a case in the scheduler's own types.
type world struct {
	objects []runtime.Object
	pods    []*v1.Pod
	config  *config.KubeSchedulerConfiguration
}

// unknownKind says that a case has an object which this release has no type for.
type unknownKind struct{ error }

// defaults knows the defaults that an API server sets in objects of the core group.
var defaults = runtime.NewScheme()

// world decodes the case. An error of type unknownKind means that the release cannot be asked.
func (q question) world() (*world, error) {
	w := &world{}
	for i, raw := range q.Objects {
		object, err := decode(raw)
		if err != nil {
			return nil, wrap(fmt.Sprintf("objects[%d]", i), err)
		}
		w.objects = append(w.objects, object)
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
	var err error
	if w.config, err = configuration(q.Config); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return w, nil
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
