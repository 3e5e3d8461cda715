"""The PersistentVolume controller of kube-controller-manager: what a claim is bound to, or who makes its volume."""
