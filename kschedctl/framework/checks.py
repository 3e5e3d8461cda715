"""What a filter compares on a node: told for nodes that pass as well, when somebody looks at one."""

from __future__ import annotations

import msgspec


class FilterCheck(msgspec.Struct, frozen=True, rename="camel"):
    """One comparison of a filter.

    Attributes
    ----------
    wanted : str
        What the pod, or what stands on the node, asks for: ``nodeSelector disk=ssd``, ``0.5 cpu``.
    found : str
        What it is compared with, with every number: ``node has disk=hdd``, ``free 0.3 of 4``.
    holds : bool
        Whether that suits the pod. The filter lets the pod pass where all of them do.
    """

    wanted: str
    found: str
    holds: bool
