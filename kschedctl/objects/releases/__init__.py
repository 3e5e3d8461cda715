"""The differences between Kubernetes releases for the scheduler, and the choice of the release whose rules apply."""
