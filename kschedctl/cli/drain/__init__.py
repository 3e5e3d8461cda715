"""``kschedctl drain``: what becomes of the pods of nodes that are drained."""
