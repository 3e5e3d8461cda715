"""The cluster as columns: nodes are rows, pods are classes, labels are interned."""
