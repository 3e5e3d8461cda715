"""A command that runs only while a lease is held, and is killed before another candidate can acquire the lease."""
