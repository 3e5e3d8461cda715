"""Version numbers of the cluster's parts: parts with equal numbers are equal, even across clusters."""

import os
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Final

import msgspec

from kschedctl.common.arrays import Int64Array
from kschedctl.objects.meta import ApiObject

#: A process has 2 to this power of numbers.
_BITS: Final = 30


def _new_numbers() -> Iterator[int]:
    """Return numbers that no other process uses, because clusters are exchanged with their numbers."""
    return count(int.from_bytes(os.urandom(4)) << _BITS)


_numbers = _new_numbers()


def _begin_again() -> None:
    global _numbers
    _numbers = _new_numbers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_again)


def next_version() -> int:
    """Return a number that was never returned before, in no process."""
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
