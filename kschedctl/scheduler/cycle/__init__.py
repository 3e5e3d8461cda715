"""The scheduling cycles of a pod and of a pod group, and the resulting decisions."""
