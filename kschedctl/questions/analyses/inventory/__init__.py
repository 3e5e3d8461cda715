"""The analyses behind lists of objects: pods, workloads, disruption budgets and search."""
