"""The Kubernetes objects that scheduling reads, one module per API group, and parsers for their field values."""
