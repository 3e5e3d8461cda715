"""Lint with a snapshot: the manifests are applied to it, and the engine decides for each workload."""
