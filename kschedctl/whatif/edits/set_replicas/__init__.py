"""``--set-replicas``: the edit in ``edit``, what it makes of a cluster in ``effect``."""
