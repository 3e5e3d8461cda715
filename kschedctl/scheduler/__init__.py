"""What kube-scheduler does with a pod: the framework, its plugins, preemption and the cycle."""
