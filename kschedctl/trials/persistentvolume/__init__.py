"""The PersistentVolume controller of kube-controller-manager: the binding and provisioning of claims."""
