//go:build !kube1.38

package main

import v1 "k8s.io/api/core/v1"

// memberMessage returns the text of the event of a member.
func memberMessage(_ *v1.Pod, s *status) string { return s.Message() }
