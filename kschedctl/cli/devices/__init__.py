"""``kschedctl devices``: devices, who holds them, and where a claim could be allocated."""
