"""The pods that a constraint of a pod counts by topology domain, reported on demand."""

from __future__ import annotations

from typing import Final

import msgspec

from kschedctl.cluster.labels import LabelColumn
from kschedctl.common.arrays import Int64Array

#: The most domains that are reported: a constraint over host names has one per node.
_MOST: Final = 60


class CountedDomains(msgspec.Struct, frozen=True, kw_only=True):
    """The matching pods of a required constraint by topology domain, without nominated pods.

    Attributes
    ----------
    topology_key : str
        The label whose values are the domains.
    pods : dict of str to int
        The number of matching pods by domain, those with the most pods first; at most 60 domains.
    domains : int
        The number of all domains.
    own : bool
        True if the pod itself matches.
    minimum : int or None
        The minimum over all domains of a spread constraint, 0 if there are fewer domains than ``minDomains``; ``None``
        for affinity.
    max_skew : int or None
        The largest skew that a spread constraint allows; ``None`` for affinity.
    """

    topology_key: str
    pods: dict[str, int]
    domains: int
    own: bool
    minimum: int | None = None
    max_skew: int | None = None


def most_populated(column: LabelColumn, counts: Int64Array, domains: Int64Array) -> dict[str, int]:
    """Return the number of pods of the domains with the most pods, by name.

    Parameters
    ----------
    counts : ndarray of int64, shape (n_domains,)
        The number of matching pods by domain.
    domains : ndarray of int64
        The domains that count.
    """
    found = [(column.values[domain], int(counts[domain])) for domain in domains.tolist()]
    return dict(sorted(found, key=lambda each: (-each[1], each[0]))[:_MOST])
