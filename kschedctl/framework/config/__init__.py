"""Reading a KubeSchedulerConfiguration, and the profiles that come of it."""
