"""``explain``: where kube-scheduler would put a pod, or why it cannot."""
