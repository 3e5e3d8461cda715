"""KS1xx: the pod itself."""
