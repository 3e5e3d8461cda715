"""What-ifs: changes to a cluster as data, and the cluster that they make; the one they start from stays as it is."""
