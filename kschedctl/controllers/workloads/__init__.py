"""The pods that the controllers of workloads create."""
