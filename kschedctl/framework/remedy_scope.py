"""The scope of a remedy."""

from __future__ import annotations

from enum import StrEnum


class Scope(StrEnum):
    """What a remedy changes: the pod itself, a node, or something else of the cluster."""

    POD = "pod"
    NODE = "node"
    CLUSTER = "cluster"
