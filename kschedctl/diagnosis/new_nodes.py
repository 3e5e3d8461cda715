"""Remedies that add nodes like an existing one, and the shapes of nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

import msgspec
from msgspec.structs import replace

from kschedctl.api.core import Node
from kschedctl.api.quantity import parse_quantity
from kschedctl.api.resources import CPU, MEMORY
from kschedctl.api.tolerations import OWN_TAINTS
from kschedctl.api.wording import counted, listed
from kschedctl.cluster.cluster import Cluster
from kschedctl.framework.remedy import Change, Remedy, Risk, created
from kschedctl.framework.remedy_scope import RemedyScope
from kschedctl.whatif.node_copies import copies_of_belongings, copy_of_node, numbered_names


def nodes_like(
    cluster: Cluster, model: str, number: int, *, within: float = 0.0, place: Mapping[str, str] | None = None
) -> Remedy:
    """Return the remedy that adds copies of an existing node.

    The copies are schedulable, and have none of the taints that the control plane sets on unhealthy nodes. Pods of
    DaemonSets follow.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    model : str
        The node to copy.
    number : int
        The number of copies.
    within : float
        The rank among remedies that add nodes.
    place : mapping of str to str, optional
        Labels of another place that the copies get, such as a zone; by default the place of the model.
    """
    node = cluster.nodes.objects[cluster.nodes.row[model]]
    names = list(islice(numbered_names(model, cluster.nodes.row), number))
    taints = tuple(taint for taint in node.spec.taints if not taint.key.startswith(OWN_TAINTS))
    elsewhere = replace(node.metadata, labels={**node.metadata.labels, **(place or {})})
    healthy = replace(node, metadata=elsewhere, spec=replace(node.spec, unschedulable=False, taints=taints))
    belongings = copies_of_belongings((cluster,), model, names)
    where = f" in {listed(sorted(set(place.values())))}" if place else ""
    what = f"{'a node' if number == 1 else counted(number, 'node')} like {model}{where}"
    return Remedy(
        summary=f"add {what}",
        scope=RemedyScope.CLUSTER,
        changes=tuple(map(created, (*(copy_of_node(healthy, name) for name in names), *belongings))),
        risk=Risk.CAPACITY,
        family="node",
        within=within,
        model=model,
        command=f"# add {what}",
        follows=tuple(change for name in names for change in _daemon_pods(cluster, model, name)),
    )


def shape_of(node: Node) -> bytes:
    """Return the properties that nodes of one kind share: allocatable resources, labels except the name, and taints."""
    labels = {key: value for key, value in node.metadata.labels.items() if value != node.name}
    taints = [taint for taint in node.spec.taints if not taint.key.startswith(OWN_TAINTS)]
    return msgspec.json.encode((node.status.allocatable, labels, taints), order="deterministic")


def size_of(node: Node) -> tuple[int, ...]:
    """Return a key that sorts nodes by their number of resources, then by CPU and memory."""
    offered = node.status.allocatable
    sizes = [parse_quantity(offered.get(name, "0")) for name in (CPU, MEMORY)]
    return (len(offered), *sizes)


def _daemon_pods(cluster: Cluster, model: str, name: str) -> Iterator[Change]:
    """Yield the creation of a copy of each DaemonSet pod of a node, on a new node."""
    pods = cluster.pods
    for index in pods.on_node(cluster.nodes.row[model]).tolist():
        owner = pods.owner(index)
        if owner is not None and owner.kind == "DaemonSet":
            pod = pods.pod(index)
            metadata = replace(pod.metadata, name=f"{pod.name}-{name}", uid="")
            yield created(replace(pod, metadata=metadata, spec=replace(pod.spec, node_name=name)))
