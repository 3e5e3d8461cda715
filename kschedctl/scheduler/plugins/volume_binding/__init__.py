"""VolumeBinding: a pod's claims get volumes that the node can reach; nodes with more free storage score higher."""
