"""The given set against a snapshot: it is laid over it, and the engine answers for each workload."""
