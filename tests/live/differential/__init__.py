"""Random clusters on a real control plane: each step of the real scheduler is compared with kschedctl's decisions."""
