"""The unfinished pods of a cluster as a table: where they run, what they belong to, and what they request."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

import numpy as np

from kschedctl.common.frames import Cell, ColumnType, Table
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.objects.resources import PODS, RequestRules
from kschedctl.questions.answers.amounts import unit_name
from kschedctl.trials.loaded_cluster import LoadedCluster

_COLUMNS: Final[dict[str, ColumnType]] = {
    "namespace": str,
    "name": str,
    "workload_kind": str,
    "workload": str,
    "node": str,
    "nominated_node": str,
    "phase": str,
    "priority": int,
    "scheduler": str,
    "created": datetime,
    "started": datetime,
    "terminating": bool,
}


def pods_table(cluster: LoadedCluster) -> Table:
    """Return the unfinished pods of a cluster, one row per pod in the order of the snapshot.

    The requests are those that the scheduler counts, in milli-CPU, bytes and counts, one column for each resource that
    a pod requests.
    """
    resources = cluster.cluster.resources(RequestRules.of(cluster.release_choice.release))
    class_id = cluster.pods.class_id
    requested = {
        name: resources.per_class[i, class_id]
        for i, name in enumerate(resources.names)
        if name != PODS and np.any(resources.per_class[i, class_id])
    }
    types = _COLUMNS | dict.fromkeys((f"requested.{unit_name(name)}" for name in requested), int)
    amounts = zip(*(column.tolist() for column in requested.values()), strict=True) if requested else None
    rows = [(*pod, *(next(amounts) if amounts is not None else ())) for pod in _pods(cluster)]
    return Table(types, rows)


def _pods(cluster: LoadedCluster) -> Iterator[tuple[Cell, ...]]:
    for record in cluster.pods.records:
        metadata, spec, status = record.metadata, record.spec, record.status
        kind, _, workload = workload_of(cluster.cluster, metadata)
        yield (
            metadata.namespace,
            metadata.name,
            kind,
            workload,
            record.node_name,
            status.nominated_node_name,
            status.phase,
            record.priority,
            spec.scheduler_name,
            metadata.creation_timestamp,
            status.start_time,
            metadata.deletion_timestamp is not None,
        )
