"""``kschedctl rollout``: a new revision of a workload."""
