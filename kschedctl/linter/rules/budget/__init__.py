"""KS3xx: rules about disruption budgets and priority."""
