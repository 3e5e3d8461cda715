"""KS2xx: rules about workloads and their rollouts."""
