"""What the scheduler's volume plugins share: a pod's claims, the binder, zones, and what is attached to nodes."""
