"""Leader election on Leases as in client-go, on a real or virtual clock, and a report of a cluster's elections."""
