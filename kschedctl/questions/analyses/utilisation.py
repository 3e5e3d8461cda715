"""The requests of the pods on nodes before and after a simulation, by resource and zone."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.resources import CPU, MEMORY, PODS, RequestRules, exact_quantity
from kschedctl.objects.well_known import zone_of
from kschedctl.questions.answers.simulate import UtilisationData

#: The resources that are always reported, in this order; others only if something requests them.
_REPORTED: Final = (CPU, MEMORY, PODS)


def utilisation(
    before: Cluster, after: Cluster, rules: RequestRules, drained: Collection[str] = ()
) -> Iterator[UtilisationData]:
    """Yield the requests of each resource, over all nodes and by zone; the allocatable amount is that of afterwards.

    Parameters
    ----------
    drained : collection of str
        The nodes that do not count afterwards.
    """
    was, now = before.resources(rules), after.resources(rules)
    zones, zones_after = _zones(before), _zones(after)
    remains = np.array([name not in drained for name in after.nodes.names], dtype=np.bool_)
    names = sorted({str(zone) for zone in (*zones, *zones_after) if zone})
    groups = [
        ("", np.ones(len(zones), dtype=np.bool_), remains),
        *((zone, zones == zone, remains & (zones_after == zone)) for zone in names),
    ]
    others = [
        name
        for name in was.names
        if name not in _REPORTED and (was.requested[was.index[name]].any() or name in now.index)
    ]
    for zone, mask, mask_after in groups:
        for name in (*_REPORTED, *others):
            old = int(was.requested[was.index[name]][mask].sum())
            if name in now.index:
                offered = int(now.allocatable[now.index[name]][mask_after].sum())
                new = int(now.requested[now.index[name]][mask_after].sum())
            else:
                offered, new = int(was.allocatable[was.index[name]][mask].sum()), old
            if offered and (old or new):
                yield UtilisationData(zone, name, *(exact_quantity(name, amount) for amount in (offered, old, new)))


def _zones(cluster: Cluster) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
    return np.array([zone_of(node.metadata.labels) for node in cluster.nodes.objects], dtype=np.str_)
