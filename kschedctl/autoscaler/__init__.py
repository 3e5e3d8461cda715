"""Node autoscalers: which nodes they would add for pending pods, and why they add none."""
