"""Random clusters on a real control plane: what the real scheduler does there, step by step, against what we say."""
