"""Version numbers of the cluster's parts: parts with equal numbers are equal, even across clusters."""

from collections.abc import Mapping
from itertools import count
from typing import Final

import msgspec

from kschedctl.common.arrays import Int64Array
from kschedctl.objects.meta import ApiObject

_numbers: Final = count(1)


def next_version() -> int:
    """Return a number that was never returned before."""
    return next(_numbers)


class Versions(msgspec.Struct, frozen=True, eq=False):
    """Version numbers of the parts of a cluster."""

    #: The version of all pods, and of all nodes.
    pods: int
    #: The version of each node's pods, and of each node itself.
    row_pods: Int64Array
    #: The version of all pods, and of all nodes.
    nodes: int
    #: The version of each node's pods, and of each node itself.
    row_nodes: Int64Array
    #: The version of the objects of each existing kind.
    kinds: Mapping[type[ApiObject], int]
