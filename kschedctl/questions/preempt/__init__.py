"""preempt."""
