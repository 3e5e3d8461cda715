"""``kschedctl watch``: the answers for pods that wait, as they change."""
