"""Claims at a glance: the volume each has or would get, and where that ties its pods to, as ``volumes`` shows it."""
