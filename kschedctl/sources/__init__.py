"""Sources of a cluster: files of a snapshot, or a running cluster."""
