"""How many copies of a pod more fit, as data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kschedctl.api.well_known import zone_of
from kschedctl.api.wording import counted
from kschedctl.report.capacity.data import PodCapacity, RoomData, ZoneRoomData
from kschedctl.report.envelope import Provenance, envelope
from kschedctl.report.explain.answer import explanation
from kschedctl.simulate.capacity import Capacity


def capacity_answer(name: str, found: Capacity, provenance: Provenance) -> PodCapacity:
    """The answer for one pod.

    Parameters
    ----------
    name : str
        What is copied.
    found : Capacity
        What was found.
    provenance : Provenance
        What the answer rests on.
    """
    decision = found.next
    told = explanation(decision, provenance)
    nodes = decision.cluster.nodes
    zones = [zone_of(node.metadata.labels) for node in nodes.objects]
    order = np.lexsort((np.array(nodes.names), -found.counts)).tolist()
    rooms = tuple(RoomData(nodes.names[row], zones[row], int(found.counts[row])) for row in order if found.counts[row])
    return PodCapacity(
        **envelope(decision.cluster, provenance, decision.not_modelled),
        summary=_summary(name, found, len(rooms)),
        name=name,
        pod=told.pod,
        copies=found.total,
        bounded=found.bounded,
        nodes=rooms,
        zones=tuple(_zones(rooms, zones)),
        message=decision.error or decision.message,
        refusals=tuple(node for node in told.nodes if not node.fits),
    )


def _summary(name: str, found: Capacity, n_nodes: int) -> str:
    if not found.total:
        return f"{name}: not one more fits"
    verb = "fits" if found.total == 1 else "fit"
    least = "at least " if found.bounded else ""
    return f"{name}: {least}{found.total} more {verb}, on {counted(n_nodes, 'node')}"


def _zones(rooms: tuple[RoomData, ...], zones: list[str]) -> Iterator[ZoneRoomData]:
    for zone in sorted(set(zones)):
        own = [room for room in rooms if room.zone == zone]
        yield ZoneRoomData(zone, len(own), sum(room.copies for room in own))
