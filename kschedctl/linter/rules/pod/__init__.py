"""KS1xx: rules about the pod itself."""
