"""``kschedctl preempt``: who would be evicted for a pod, and why them."""
