"""A running cluster as the source of a snapshot: read-only, over the official client's configuration and transport."""
