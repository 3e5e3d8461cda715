"""KS3xx: disruption budgets and priority."""
