"""Pods that are bound to a node that no longer exists.

The pod garbage collector deletes such pods, but a pod with a finalizer, or whose controller waits for the kubelet,
stays. A StatefulSet creates no replacement before the old pod is gone.

Operators delete the pods by force once they know that the machine is gone. The rule is silent if the snapshot seems to
lack nodes: if more nodes are gone than are left.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kschedctl.api.wording import counted, listed
from kschedctl.cluster.records import LOST
from kschedctl.diagnosis.cluster_diagnosis import ClusterDiagnosis, ClusterSituation
from kschedctl.diagnosis.diagnosis import Advice
from kschedctl.framework.remedy import Risk, delete_command


def check(situation: ClusterSituation) -> Iterator[ClusterDiagnosis]:
    """Yield the nodes that are gone, with the pods that are still bound to them."""
    pods = situation.cluster.pods
    lost = np.flatnonzero(pods.node_row == LOST).tolist()
    by_node: dict[str, list[int]] = {}
    for index in lost:
        by_node.setdefault(pods.records[index].node_name, []).append(index)
    if len(by_node) > len(situation.cluster.nodes):
        return
    for node, members in by_node.items():
        keys = tuple(pods.key(index) for index in members)
        yield ClusterDiagnosis(
            rule="lost-node",
            cause=f"{counted(len(keys), 'pod')} {'is' if len(keys) == 1 else 'are'} still bound to it: "
            f"{listed(keys, most=3)}",
            advice=(
                Advice(
                    summary=f"delete {listed(keys, most=3)} by force, if the machine of {node} is gone",
                    risk=Risk.EVICTION,
                    untried="controllers create replacements",
                    command=f"{delete_command(keys)} --force --grace-period=0",
                ),
            ),
            checks=(f"kubectl get node {node}",),
            kind="Node",
            namespace="",
            name=node,
            state="no longer exists",
            pods=keys,
        )
