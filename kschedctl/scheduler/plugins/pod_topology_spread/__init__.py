"""PodTopologySpread: pods are spread evenly over topology domains (KEP-895)."""
