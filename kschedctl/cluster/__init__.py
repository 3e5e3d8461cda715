"""The cluster as columns: nodes are rows, pods are grouped into classes, labels are interned."""
