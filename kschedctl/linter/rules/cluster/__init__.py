"""KS5xx: rules that need a snapshot."""
