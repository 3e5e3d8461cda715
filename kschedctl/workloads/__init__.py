"""From a workload to the pods that its controller makes."""
