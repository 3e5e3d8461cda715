"""``kschedctl watch``: pods that wait, explained while the cluster lives."""
