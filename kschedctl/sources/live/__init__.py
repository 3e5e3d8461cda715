"""Access to a running cluster, mainly read-only as the source of a snapshot, over the official client's transport."""
