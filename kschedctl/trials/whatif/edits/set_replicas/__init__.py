"""``--set-replicas``: ``edit`` defines the edit, ``effect`` applies it to a cluster."""
