"""``kschedctl simulate``: many pods, one after another."""
