"""Loading and validation of a KubeSchedulerConfiguration, and the profiles it resolves to."""
