"""Conformance: the real kube-scheduler as a judge, the cases it is asked, and how our answers are held against its."""
