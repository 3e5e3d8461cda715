"""VolumeBinding: a pod's claims get volumes that its node can reach, and nodes with much room score higher."""
