"""``leader``: elections on Leases, as a cluster has them and simulated."""
