"""Why our answer may differ from the real scheduler's: what the snapshot tells of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from kschedctl.api.meta import ObjectMeta
from kschedctl.api.wording import counted, listed
from kschedctl.cluster.cluster import Cluster
from kschedctl.scheduler.decision import Decision
from kschedctl.scheduler.missing import find_missing

_N_NODES: Final = re.compile(r"0/(\d{1,18}) nodes are available")


def pending_causes(cluster: Cluster, theirs: str, decision: Decision) -> Iterator[str]:
    """What in the snapshot may make our answer for a pending pod another than the stored one.

    Parameters
    ----------
    cluster : Cluster
        The snapshot.
    theirs : str
        The stored message.
    decision : Decision
        Our answer.
    """
    stored = _N_NODES.search(theirs)
    n_nodes = len(cluster.nodes)
    if stored is not None and int(stored[1]) != n_nodes:
        yield f"the scheduler looked at {counted(int(stored[1]), 'node')}, the snapshot has {n_nodes}"
    if decision.schedulable:
        yield "it fits by now: the scheduler has not tried it again since room was made"
    for missing in find_missing(cluster, decision.pod):
        yield f"not in the snapshot: {missing}"
    for feature in decision.not_modelled:
        yield f"not modelled: {feature.feature} ({feature.effect})"
    nominated = decision.framework.nominated_pods(decision.pod)
    if len(nominated):
        names = [cluster.pods.key(index) for index in nominated.tolist()]
        yield f"{listed(names)} {_are(names)} nominated to a node, which changes from moment to moment"
    terminating = [cluster.pods.key(i) for i, r in enumerate(cluster.pods.records) if _terminating(r.metadata)]
    if terminating:
        yield f"{listed(terminating)} {_are(terminating)} being deleted"


def _are(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def changes_since(cluster: Cluster, moment: datetime | None) -> list[str]:
    """What the snapshot has that is younger than a moment, in words."""
    if moment is None:
        return []
    nodes = sum(_younger(node.metadata, moment) for node in cluster.nodes.objects)
    bound = sum(bool(record.node_name) and _younger(record.metadata, moment) for record in cluster.pods.records)
    changes = [f"{counted(nodes, 'node')} came"] if nodes else []
    return [*changes, f"{counted(bound, 'running pod')} came"] if bound else changes


def _younger(metadata: ObjectMeta, moment: datetime) -> bool:
    created = metadata.creation_timestamp
    return created is not None and created > moment


def _terminating(metadata: ObjectMeta) -> bool:
    return metadata.deletion_timestamp is not None
