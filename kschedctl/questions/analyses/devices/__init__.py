"""``devices``: devices, their pools, and the nodes on which a claim can be allocated."""
