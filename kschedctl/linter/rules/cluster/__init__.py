"""KS5xx: against a snapshot."""
