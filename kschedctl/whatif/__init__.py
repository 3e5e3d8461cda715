"""What-ifs: changes to a cluster and its pods as data, and what these make; what they start from stays as it is."""
