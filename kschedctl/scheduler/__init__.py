"""The scheduling cycle for one pod, and the decision that comes out of it."""
