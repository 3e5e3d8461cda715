"""Where a cluster comes from: files of a snapshot, or a running cluster."""
