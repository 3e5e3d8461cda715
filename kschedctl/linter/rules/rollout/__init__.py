"""KS2xx: workloads and their rollouts."""
