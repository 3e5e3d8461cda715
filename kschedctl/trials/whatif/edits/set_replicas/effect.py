"""Effect of ``--set-replicas``: scales a workload up or down.

A smaller ReplicaSet, or a smaller Deployment through its ReplicaSets, loses nearly the pods that the controller would
delete (upstream ``ActivePodsWithRanks``): first pods without a node, then pods that do not run yet, then pods on the
nodes with most of the workload's pods, then the youngest pods. Readiness, restarts and the deletion cost of pods are
ignored, and the ReplicaSets of a rollout count as one. For a StatefulSet the ordinals are exact.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import InputError
from kschedctl.common.wording import counted
from kschedctl.controllers.workloads.ownership import SCALABLE, Scalable, pods_made_by, with_replicas, workloads
from kschedctl.controllers.workloads.pods import ordinal_of
from kschedctl.objects.meta import ObjectMeta
from kschedctl.objects.releases.release import Release
from kschedctl.objects.workload import StatefulSet
from kschedctl.trials.whatif.pods import move_pods
from kschedctl.trials.whatif.targets import find_kind, not_found
from kschedctl.trials.whatif.workload_pods import with_pods_of

if TYPE_CHECKING:
    from kschedctl.trials.whatif.edit import Changed

_PHASES: Final = {"Pending": 0, "Unknown": 1}


def set_replicas(cluster: Cluster, kind_name: str, key: tuple[str, str], replicas: int, *, release: Release) -> Changed:
    """Scale a workload: add pending pods or remove pods.

    Parameters
    ----------
    kind_name : str
        The kind, in any form that kubectl accepts.
    key : tuple of (str, str)
        The namespace and the name of the workload.
    replicas : int
        The new number of replicas.
    release : Release
        The Kubernetes release whose API server admits new pods.

    Raises
    ------
    InputError
        If the workload does not exist or its kind has no replicas, or if there is neither a pod that could be copied
        nor a template, or if more than 10,000 pods would be added.
    """
    kind = find_kind(kind_name)
    if not issubclass(kind, SCALABLE):
        kinds = ", ".join(each.__name__ for each in SCALABLE)
        raise InputError(f"a {kind.__name__} has no replicas", hint=f"kinds with replicas: {kinds}")
    stored = cluster.get(kind, key[1], key[0])
    if stored is None and key not in (known := workloads(cluster, kind)):
        raise not_found(cluster, kind, key, known)
    shown = f"{kind.__name__} {'/'.join(key)}"
    every = pods_made_by(cluster, kind, *key)
    # Controllers do not count terminating pods; a StatefulSet recreates a pod only when its name is free.
    active = [i for i in every if cluster.pods.records[i].metadata.deletion_timestamp is None]
    workload = with_replicas(stored or kind(metadata=ObjectMeta(name=key[1], namespace=key[0])), replicas)
    has_template = workload.spec.template is not None
    if replicas and not active and not has_template:
        hint = f"add the {kind.__name__} or its pods with --apply"
        raise InputError(f"the cluster has no pod of {'/'.join(key)} to copy and no pod template", hint=hint)
    if stored is not None:
        cluster = cluster.with_added([workload])
    cluster, n_added = with_pods_of(cluster, workload, release=release, where=workload.ref, new=False)
    surplus = _surplus(cluster, workload, replicas)
    moved = move_pods(cluster, removed=surplus)
    n_removed = len(surplus)
    before = counted(len(active), "replica")
    change = f"{shown} has {replicas} instead of {before}"
    if n_added:
        like = "from the pod template" if has_template else "like the newest"
        change += f": {counted(n_added, 'new pod')} {'is' if n_added == 1 else 'are'} pending, {like}"
    elif n_removed:
        order = (
            "the highest ordinals"
            if kind is StatefulSet
            else "pending pods first, then pods that share a node, then the youngest"
        )
        change += f": {counted(n_removed, 'pod')} {'is' if n_removed == 1 else 'are'} removed ({order})"
    return moved.cluster, (change, *moved.told)


def _surplus(cluster: Cluster, workload: Scalable, replicas: int) -> list[int]:
    """Return the pods that the workload loses, as indices into ``Cluster.pods``."""
    kind, records = type(workload), cluster.pods.records
    every = pods_made_by(cluster, kind, workload.namespace, workload.name)
    if isinstance(workload, StatefulSet):
        start = workload.spec.ordinals.start
        ordinals = ((index, ordinal_of(records[index].metadata.name)) for index in every)
        return [index for index, own in ordinals if own is None or not start <= own < start + replicas]
    active = [index for index in every if records[index].metadata.deletion_timestamp is None]
    return _removal_order(cluster, active)[: max(len(active) - replicas, 0)]


def _removal_order(cluster: Cluster, active: list[int]) -> list[int]:
    pods = cluster.pods
    rows = pods.node_row[active].tolist()
    per_node = Counter(rows)

    def rank(position: int) -> tuple[bool, int, int, float]:
        record = pods.records[active[position]]
        created = record.metadata.creation_timestamp
        together = per_node[rows[position]] if record.node_name else 0
        age = -created.timestamp() if created is not None else 0.0
        return bool(record.node_name), _PHASES.get(record.status.phase, 2), -together, age

    return [active[position] for position in sorted(range(len(active)), key=rank)]
