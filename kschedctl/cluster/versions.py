"""Numbers for states of the cluster's parts: what has the same number is the same, in whatever cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Final

from kschedctl.api.meta import ApiObject
from kschedctl.arrays import Int64Array

_numbers: Final = count(1)


def next_version() -> int:
    """A number that was never given before."""
    return next(_numbers)


@dataclass(frozen=True, slots=True, eq=False)
class Versions:
    """Numbers for the parts of a cluster.

    Attributes
    ----------
    pods, nodes : int
        All pods; all nodes.
    row_pods, row_nodes : ndarray of int64, shape (n_nodes,)
        The pods on each node; the node itself.
    kinds : mapping of type to int
        The objects of each kind that there are any of.
    """

    pods: int
    row_pods: Int64Array
    nodes: int
    row_nodes: Int64Array
    kinds: Mapping[type[ApiObject], int]
