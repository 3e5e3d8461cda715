"""Worker processes: each holds the cluster, follows its changes and runs one task at a time."""
