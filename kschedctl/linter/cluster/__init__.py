"""Lint with a snapshot: the manifests are applied to it, and the scheduler's algorithm runs for each workload."""
