"""The scheduling cycle for one pod, and the resulting decision."""
