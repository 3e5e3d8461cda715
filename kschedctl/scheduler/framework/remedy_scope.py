"""The scope of a remedy."""

from __future__ import annotations

from enum import StrEnum


class RemedyScope(StrEnum):
    """The kind of object that a remedy changes: the pod itself, a node, or another object of the cluster."""

    POD = "pod"
    NODE = "node"
    CLUSTER = "cluster"
