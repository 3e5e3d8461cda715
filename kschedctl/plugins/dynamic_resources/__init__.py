"""DynamicResources: a node must have the devices that the pod's claims ask for."""
