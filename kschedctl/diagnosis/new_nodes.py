"""Remedies that add nodes like an existing one, and the shapes of nodes."""

import dataclasses
from collections.abc import Mapping
from itertools import islice
from typing import Final

import msgspec
import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.node_copies import copies_of_belongings, copy_of_node, numbered_names
from kschedctl.common.arrays import Int64Array
from kschedctl.common.wording import counted, listed
from kschedctl.controllers.workloads.template import NODE_BOUND
from kschedctl.diagnosis.diagnosis import Situation
from kschedctl.diagnosis.node_health import stands_for_problem
from kschedctl.objects.core import Node
from kschedctl.objects.quantity import parse_quantity
from kschedctl.objects.resources import CPU, MEMORY, amount_of, exact_quantity
from kschedctl.objects.well_known import INSTANCE_TYPE, POOL_LABELS, ZONE, zone_of
from kschedctl.scheduler.framework.remedy import IN_ZONE, Change, Create, Remedy, created
from kschedctl.scheduler.framework.risk import RemedyScope, Risk

#: The family of remedies that add nodes.
NEW_NODE: Final = "node"
#: The rank of a larger node: behind those of existing shapes.
_LAST: Final = 1000.0
#: The ends of label keys that name a place.
_PLACES: Final = ("/zone", "/zone-id", "/region", "/hostname", "-zone", "-region")


def nodes_like(
    cluster: Cluster, model: str, number: int, *, within: float = 0.0, place: Mapping[str, str] | None = None
) -> Remedy:
    """Return the remedy that adds copies of an existing node.

    The copies are schedulable, and have none of the taints that the control plane sets on unhealthy nodes. Pods of
    DaemonSets follow.

    Args:
        within: The rank among remedies that add nodes.
        place: Labels of another place that the copies get, such as a zone; by default the place of the model.
    """
    node = cluster.nodes.objects[cluster.nodes.row[model]]
    names = list(islice(numbered_names(model, cluster.nodes.row), number))
    taints = tuple(taint for taint in node.spec.taints if not stands_for_problem(taint))
    elsewhere = replace(node.metadata, labels={**node.metadata.labels, **(place or {})})
    healthy = replace(node, metadata=elsewhere, spec=replace(node.spec, unschedulable=False, taints=taints))
    belongings = copies_of_belongings((cluster,), model, names)
    pods = cluster.pods
    of_daemon_sets = [
        pods.pod(index)
        for index in pods.on_node(cluster.nodes.row[model]).tolist()
        if (owner := pods.owner(index)) is not None and owner.kind == "DaemonSet"
    ]
    where = f" {IN_ZONE if ZONE in place else 'in '}{listed(sorted(set(place.values())))}" if place else ""
    if not place and len(cluster.nodes.labels[ZONE].values) > 1 and (zone := zone_of(node.metadata.labels)):
        where = f" {IN_ZONE}{zone}"
    pool = pool_of(node.metadata.labels)
    told = f" ({pool})" if pool else ""
    what = f"add {'a node' if number == 1 else counted(number, 'node')} like {model}{told}{where}"
    return Remedy(
        summary=what,
        scope=RemedyScope.CLUSTER,
        changes=tuple(map(created, (*(copy_of_node(healthy, name) for name in names), *belongings))),
        risk=Risk.CAPACITY,
        family=NEW_NODE,
        within=within,
        model=model,
        command=f"# {what}",
        follows=tuple(
            created(
                replace(
                    pod,
                    metadata=replace(pod.metadata, name=f"{pod.name}-{name}", uid=""),
                    spec=replace(pod.spec, node_name=name),
                )
            )
            for name in names
            for pod in of_daemon_sets
        ),
        side_of=(NEW_NODE, kind_of(node), number),
        side=where.strip() or f"like {model}",
    )


def lacking_on_copy(situation: Situation, row: int) -> dict[str, int]:
    """Return the pod's requests that a copy of a node could not hold beside the pods of its DaemonSets, by resource."""
    free = situation.columns.allocatable[:, row] - _taken(situation, row)
    index = situation.columns.index
    return {
        name: amount
        for name, amount in situation.requests.items()
        if name not in index or amount > int(free[index[name]])
    }


def _taken(situation: Situation, row: int) -> Int64Array:
    """Return the requests of the pods on a node that belong to it, such as those of DaemonSets: (n_resources,)."""
    pods, per_class = situation.cluster.pods, situation.columns.per_class
    on = pods.on_node(row)
    bound = [owner is not None and owner.kind in NODE_BOUND for owner in map(pods.owner, on.tolist())]
    taken: Int64Array = per_class[:, pods.class_id[on[np.array(bound, dtype=np.bool_)]]].sum(axis=1)
    return taken


def larger_nodes(
    situation: Situation, row: int, room: Mapping[str, int], number: int = 1, *, within: float = 0.0
) -> Remedy:
    """Return the remedy that adds nodes like an existing one, but with more room.

    Args:
        row: The row of the node to copy.
        room: The amounts that must be free on each new node beside the pods of DaemonSets: milli-CPU, bytes or a
            count.
        within: The rank among remedies that add larger nodes.
    """
    cluster, columns, taken = situation.cluster, situation.columns, _taken(situation, row)
    model = cluster.nodes.names[row]
    like = nodes_like(cluster, model, number)
    offered = {name: exact_quantity(name, amount + int(taken[columns.index[name]])) for name, amount in room.items()}
    amounts = listed([amount_of(name, amount) for name, amount in room.items()])
    what = f"a larger node than {model}: with {amounts} free"
    if number > 1:
        what = f"{number} larger nodes than {model}: with {amounts} free on each"
    return dataclasses.replace(
        like,
        summary=f"add {what}",
        changes=tuple(_enlarged(change, offered) for change in like.changes),
        # Of the same family, so that it is tried only if no node of an existing size helps.
        once=True,
        within=_LAST + within,
        model="",
        command=f"# add {what}",
        side_of=None,
    )


def _enlarged(change: Change, offered: Mapping[str, str]) -> Change:
    if not isinstance(change, Create) or change.create["kind"] != Node.__name__:
        return change
    status = change.create["status"]
    return Create({**change.create, "status": {**status, "allocatable": {**status["allocatable"], **offered}}})


def pool_of(labels: Mapping[str, str]) -> str:
    """Return the instance type and the pool of a node, from its labels; empty if they tell neither.

    >>> pool_of({"node.kubernetes.io/instance-type": "m5.xlarge", "eks.amazonaws.com/nodegroup": "general"})
    'm5.xlarge, nodegroup general'
    """
    pools = (f"{kind} {labels[key]}" for key, kind in POOL_LABELS.items() if key in labels)
    return ", ".join(part for part in (labels.get(INSTANCE_TYPE, ""), next(pools, "")) if part)


def kind_of(node: Node) -> bytes:
    """Return the properties that nodes of one kind share wherever they are: the shape without labels of places."""
    labels = {key: value for key, value in node.metadata.labels.items() if not key.endswith(_PLACES)}
    return shape_of(replace(node, metadata=replace(node.metadata, labels=labels)))


def shape_of(node: Node) -> bytes:
    """Return the properties that nodes of one kind share: allocatable resources, labels except the name, and taints."""
    labels = {key: value for key, value in node.metadata.labels.items() if value != node.name}
    taints = [taint for taint in node.spec.taints if not stands_for_problem(taint)]
    return msgspec.json.encode((node.status.allocatable, labels, taints), order="deterministic")


def size_of(node: Node) -> tuple[int, ...]:
    """Return a key that sorts nodes by their number of resources, then by CPU and memory."""
    offered = node.status.allocatable
    sizes = [parse_quantity(offered.get(name, "0")) for name in (CPU, MEMORY)]
    return (len(offered), *sizes)
