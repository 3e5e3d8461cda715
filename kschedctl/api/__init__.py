"""The Kubernetes objects that scheduling reads, a module per API group, and how their fields are read."""
