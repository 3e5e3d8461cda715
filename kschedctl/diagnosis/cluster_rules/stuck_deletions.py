"""Pods of a StatefulSet that are being deleted on an unhealthy node, and stay because their kubelet does not answer.

A pod is gone when its kubelet has confirmed its end. A StatefulSet creates no replacement before, as two pods of one
name could write to one volume.

Operators get the node back. If its machine is off, they give it the taint ``node.kubernetes.io/out-of-service``: the
pods are then deleted by force, and their volumes detached.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from kschedctl.common.wording import listed
from kschedctl.diagnosis.cluster_diagnosis import ClusterDiagnosis, ClusterSituation
from kschedctl.diagnosis.node_health import health_problem, is_unhealthy, silent_node_advice

#: A deletion is stuck if the grace period has been over for five minutes.
_PATIENCE: Final = 300
_MOST: Final = 3


def check(situation: ClusterSituation) -> Iterator[ClusterDiagnosis]:
    """Yield the unhealthy nodes with pods of StatefulSets whose deletion does not end."""
    cluster = situation.cluster
    by_node: dict[int, list[int]] = {}
    pods = cluster.pods
    for index in np.flatnonzero(pods.class_terminating[pods.class_id] & (pods.node_row >= 0)).tolist():
        metadata = pods.records[index].metadata
        ends, owner = metadata.deletion_timestamp, metadata.controller
        if ends is None or owner is None or owner.kind != "StatefulSet":
            continue
        row = int(pods.node_row[index])
        if is_unhealthy(cluster.nodes.objects[row]) and situation.seconds_since(ends) > _PATIENCE:
            by_node.setdefault(row, []).append(index)
    for row, members in by_node.items():
        node = cluster.nodes.objects[row]
        keys = tuple(cluster.pods.key(index) for index in members)
        ends_at = [cluster.pods.records[index].metadata.deletion_timestamp for index in members]
        names, one = listed(keys, most=_MOST), len(keys) == 1
        yield ClusterDiagnosis(
            rule="stuck-deletion",
            cause=f"{names} {'is' if one else 'are'} being deleted there, and {'stays' if one else 'stay'} until its "
            f"kubelet answers; {'its' if one else 'their'} StatefulSet creates no replacement before",
            advice=silent_node_advice(node.name, f"get {node.name} back, so that its kubelet ends {names}"),
            checks=(f"kubectl describe node {node.name}",),
            kind="Node",
            namespace="",
            name=node.name,
            state=f"is {health_problem(node)}",
            pods=keys,
            since=min((time for time in ends_at if time is not None), default=None),
        )
