"""``nodes``: the free and allocatable capacity of nodes, and the pods that use it."""
