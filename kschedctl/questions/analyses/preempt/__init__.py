"""``preempt``: the pods that would be evicted for a pod, and the pods that would evict one."""
