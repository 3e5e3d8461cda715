"""A new pod of a rolling update that waits for a place that an old pod of the same Deployment holds.

With ``maxUnavailable`` 0, also as 25 % of less than 4 replicas, the controller stops no old pod before a new one is
ready, so that the update needs room for one pod more: another node for a host port or anti-affinity, or free resources.
Operators let an old pod go first, with ``maxSurge`` 0 and ``maxUnavailable`` 1, or add a node. They do not delete an
old pod: its ReplicaSet creates it again.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from kschedctl.common.errors import ManifestError
from kschedctl.controllers.workloads.ownership import intermediate_owners, pods_made_by
from kschedctl.controllers.workloads.pods import revision
from kschedctl.controllers.workloads.update_strategy import deployment_rolling
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis
from kschedctl.diagnosis.rules import obstacles
from kschedctl.diagnosis.situation import Situation
from kschedctl.objects.workload import Deployment, ReplicaSet
from kschedctl.scheduler.framework.remedy import Risk
from kschedctl.scheduler.framework.status import Code

#: The places of at most 10 old pods are tried.
_MOST: Final = 10
_ONE_FIRST: Final = '{"spec":{"strategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":1}}}}'


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the old pods, if the pod fits where one of them is, and none may leave before a new pod is ready."""
    kind, namespace, name = situation.workload
    if kind != Deployment.__name__ or not situation.filtered:
        return
    deployment = situation.cluster.get(Deployment, name, namespace)
    if deployment is None or _may_be_unavailable(deployment):
        return
    node = next(_places(situation), "")
    if node:
        base = next(obstacles.check(situation))
        yield Diagnosis(
            rule="rolling-update",
            cause=f"{base.cause}; the old pods of Deployment {namespace}/{name} keep their places until a new one is "
            "ready (maxUnavailable 0)",
            evidence=(f"the pod fits on {node} without the old pod there", *base.evidence),
            advice=(
                Advice(
                    summary=f"maxSurge 0 and maxUnavailable 1 for Deployment {namespace}/{name}, so that an old pod "
                    "leaves first",
                    risk=Risk.POD,
                    untried=f"kschedctl rollout deployment/{name} -n {namespace} shows the whole update",
                    command=f"kubectl patch deployment {name} -n {namespace} -p '{_ONE_FIRST}'",
                ),
            ),
        )


def _may_be_unavailable(deployment: Deployment) -> bool:
    replicas = deployment.spec.replicas
    try:
        rolling = deployment_rolling(deployment, 1 if replicas is None else replicas)
    except ManifestError:
        return True
    return rolling.recreate or rolling.max_unavailable > 0


def _places(situation: Situation) -> Iterator[str]:
    """Yield the nodes on which the pod fits if one old pod of its Deployment is gone."""
    cluster, (_, namespace, name), older = situation.cluster, situation.workload, _older_replica_sets(situation)
    if not older:
        return
    old = (
        (index, record.node_name)
        for index in pods_made_by(cluster, Deployment, namespace, name)
        if (record := cluster.pods.records[index]).node_name
        and (owner := record.metadata.controller) is not None
        and owner.name in older
    )
    for index, node in islice(old, _MOST):
        if situation.decision.framework.status_without(situation.pod, node, [index]).code is Code.SUCCESS:
            yield node


def _older_replica_sets(situation: Situation) -> set[str]:
    """Return the names of the Deployment's ReplicaSets that are older than the pod's and still have replicas."""
    cluster, (_, namespace, name), owner = situation.cluster, situation.workload, situation.pod.metadata.controller
    own = cluster.get(ReplicaSet, owner.name, namespace) if owner is not None else None
    if own is None:
        return set()
    found = (each for each in intermediate_owners(cluster, Deployment, namespace, name) if isinstance(each, ReplicaSet))
    return {each.name for each in found if revision(each) < revision(own) and each.spec.replicas != 0}
