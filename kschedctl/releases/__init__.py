"""What a Kubernetes release changes for the scheduler, and which one applies."""
