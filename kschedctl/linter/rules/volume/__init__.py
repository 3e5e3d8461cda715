"""KS4xx: volumes."""
