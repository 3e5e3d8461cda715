"""KS4xx: rules about volumes."""
