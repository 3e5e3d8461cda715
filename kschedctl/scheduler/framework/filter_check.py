"""The comparisons a filter makes on a node, reported on demand for nodes that pass as well."""

from __future__ import annotations

import msgspec


class FilterCheck(msgspec.Struct, frozen=True, rename="camel"):
    """A single comparison made by a filter.

    Attributes
    ----------
    wanted : str
        The requirement of the pod, or of something on the node: ``nodeSelector disk=ssd``, ``0.5 cpu``.
    found : str
        The actual state it is compared with, with every number: ``node has disk=hdd``, ``free 0.3 of 4``.
    holds : bool
        True if the requirement is met. The filter passes the pod if all its checks hold.
    """

    wanted: str
    found: str
    holds: bool
