"""``explain``: the node that kube-scheduler would choose for a pod, or the reasons why there is none."""
