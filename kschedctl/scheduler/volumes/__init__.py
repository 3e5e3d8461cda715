"""Code shared by the volume plugins: a pod's claims, the binder, zones, and attached volumes."""
