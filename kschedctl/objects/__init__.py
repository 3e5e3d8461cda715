"""Kubernetes objects: their types, releases, and what an API server accepts."""
