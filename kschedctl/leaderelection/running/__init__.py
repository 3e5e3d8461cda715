"""A command that runs only while its lease is held, and is dead before the lease can be another's, whatever happens."""
