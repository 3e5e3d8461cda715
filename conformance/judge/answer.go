package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sort"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// verdict is a framework status as data.
type verdict struct {
	Code    string   `json:"code"`
	Plugin  string   `json:"plugin,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
}

// nodeScores is what the scorers gave one node.
type nodeScores struct {
	Raw      map[string]int64 `json:"raw"`
	Weighted map[string]int64 `json:"weighted"`
	Total    int64            `json:"total"`
}

// victims is whom a node's preemption costs.
type victims struct {
	Pods          []string `json:"victims"`
	PDBViolations int64    `json:"pdbViolations"`
}

// preemption is what PostFilter came to.
type preemption struct {
	Status     verdict            `json:"status"`
	Nominated  []string           `json:"nominated,omitempty"`
	Candidates map[string]victims `json:"candidates,omitempty"`
	Rejected   map[string]verdict `json:"rejected,omitempty"`
}

// header begins every answer.
type header struct {
	ID      string `json:"id"`
	Unknown string `json:"unknown,omitempty"` // the release cannot be asked this
	Error   string `json:"error,omitempty"`
}

// fill decodes the case and runs what finds the rest of the answer; whatever goes wrong on the way is put down.
func (h *header) fill(q question, run func(context.Context, *world) error) {
	h.ID = q.ID
	defer func() {
		if crash := recover(); crash != nil {
			h.Error = fmt.Sprintf("panic: %v\n%s", crash, debug.Stack())
		}
	}()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	err := gates.enter(q.FeatureGates)
	if err == nil {
		defer gates.leave()
		var w *world
		if w, err = q.world(); err == nil {
			err = run(ctx, w)
		}
	}
	var unknown unknownKind
	switch {
	case errors.As(err, &unknown):
		h.Unknown = unknown.Error()
	case err != nil:
		h.Error = err.Error()
	}
}

// answer is what a cycle says about one pod.
type answer struct {
	header
	PreEnqueue     *verdict                      `json:"preEnqueue,omitempty"`
	PreFilter      *verdict                      `json:"preFilter,omitempty"`
	PreFilterNodes []string                      `json:"preFilterNodes,omitempty"`
	SkippedFilters []string                      `json:"skippedFilters,omitempty"`
	SkippedScores  []string                      `json:"skippedScores,omitempty"`
	Filter         map[string]verdict            `json:"filter,omitempty"`
	AllFilters     map[string]map[string]verdict `json:"allFilters,omitempty"`
	Scores         map[string]nodeScores         `json:"scores,omitempty"`
	Best           []string                      `json:"best,omitempty"`
	Message        string                        `json:"message,omitempty"`
	Preemption     *preemption                   `json:"preemption,omitempty"`
}

func podKey(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

// verdictOf puts a status down; nil is success.
func verdictOf(s *status) verdict {
	if s == nil {
		return verdict{Code: success.String()}
	}
	reasons := append([]string(nil), s.Reasons()...)
	sortExtendedResources(reasons)
	return verdict{Code: s.Code().String(), Plugin: s.Plugin(), Reasons: reasons}
}

// sortExtendedResources puts the trailing "Insufficient NAME" of extended resources in order: NodeResourcesFit walks a
// map to find them.
func sortExtendedResources(reasons []string) {
	first := len(reasons)
	for ; first > 0; first-- {
		name, found := strings.CutPrefix(reasons[first-1], "Insufficient ")
		if !found || name == "cpu" || name == "memory" || name == "ephemeral-storage" {
			break
		}
	}
	sort.Strings(reasons[first:])
}
