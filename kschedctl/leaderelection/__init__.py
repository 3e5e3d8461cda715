"""Who leads: the election on Leases as client-go has it, on any clock, and what Leases tell of elections."""
