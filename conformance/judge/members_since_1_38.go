//go:build kube1.38

package main

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// memberMessage returns the text of the event of a member. Since 1.38 the event of one that fails for its group's sake
// only names the group; the error that says so has a type of the scheduler's own.
func memberMessage(pod *v1.Pod, s *status) string {
	for err := s.AsError(); err != nil; err = errors.Unwrap(err) {
		if fmt.Sprintf("%T", err) == "*scheduler.podGroupFitError" {
			return fmt.Sprintf("parent pod group %q is unschedulable", groupOf(pod))
		}
	}
	return s.Message()
}
