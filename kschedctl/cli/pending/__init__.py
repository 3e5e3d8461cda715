"""``kschedctl pending``: the pods that wait, by cause, and what would place most of them."""
