"""Cluster Autoscaler (kubernetes/autoscaler): its node groups, and the group that it would enlarge for a pod."""
