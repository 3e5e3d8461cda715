"""The work of kube-scheduler for a pod: framework, plugins, preemption, volumes, devices and the cycle."""
