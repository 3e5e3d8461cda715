"""Pods that are bound to a node that no longer exists.

The pod garbage collector deletes such pods, but a pod with a finalizer, or whose controller waits for the kubelet,
stays. A StatefulSet creates no replacement before the old pod is gone.

Operators delete the pods by force once they know that the machine is gone. The rule is silent if the snapshot seems to
lack nodes: if more nodes are gone than are left.

A pod without a controller that never started was created with the ``nodeName`` of a node that does not exist, often a
mistyped one. Operators recreate it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.common.wording import counted, listed
from kschedctl.diagnosis.bound_pods import is_misnamed, misnamed_node, pods_by_lost_node
from kschedctl.diagnosis.cluster_diagnosis import ClusterDiagnosis, ClusterSituation
from kschedctl.diagnosis.diagnosis import Advice
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.remedy import Risk, delete_command


def check(situation: ClusterSituation) -> Iterator[ClusterDiagnosis]:
    """Yield the nodes that are gone, with the pods that are still bound to them."""
    pods = situation.cluster.pods
    for node, members in pods_by_lost_node(situation.cluster).items():
        misnamed = [index for index in members if is_misnamed(pods.pod(index))]
        yield from (_misnamed(situation, pods.pod(index), node) for index in misnamed)
        keys = tuple(pods.key(index) for index in members if index not in misnamed)
        if not keys:
            continue
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


def _misnamed(situation: ClusterSituation, pod: Pod, node: str) -> ClusterDiagnosis:
    found = misnamed_node(situation.cluster, pod, node)
    return ClusterDiagnosis(
        rule=found.rule,
        cause=found.cause,
        advice=found.advice,
        checks=found.checks,
        kind=Pod.__name__,
        namespace=pod.namespace,
        name=pod.name,
        state="does not start",
        pods=(pod.key,),
        since=pod.metadata.creation_timestamp,
    )
