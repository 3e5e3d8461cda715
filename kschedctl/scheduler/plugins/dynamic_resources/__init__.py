"""DynamicResources: a node must have the devices requested by the pod's claims."""
