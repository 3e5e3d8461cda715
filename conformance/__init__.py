"""Conformance: the reference scheduler (the real kube-scheduler), its cases, and the comparison with kschedctl."""
