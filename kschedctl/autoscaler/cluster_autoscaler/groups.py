"""The node groups of Cluster Autoscaler, and the nodes of each, by labels and annotations of the platforms."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from kschedctl.autoscaler.cluster_autoscaler.status import GroupStatus, Status
from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.cluster_autoscaler import (
    MACHINE,
    MAX_SIZES,
    MIN_SIZES,
    OWNER_NAME,
    SCALABLE_KINDS,
    MachineDeployment,
    MachineSet,
    ScalableSet,
)
from kschedctl.objects.core import Node
from kschedctl.objects.karpenter import NODE_POOL_LABEL
from kschedctl.objects.well_known import POOL_LABELS, pool_name, zone_of


class Platform(NamedTuple):
    """A provider whose node groups have a label on their nodes, and another name in the cloud."""

    label: str
    #: The name of the group in the cloud, as a regular expression with ``{pool}`` in place of the label's value.
    name: str
    #: The command that sets the sizes, with the fields ``pool``, ``minimum`` and ``maximum``.
    command: str
    #: True if the expression tells the label's value from the name alone.
    is_exact: bool = True


_UUID: Final = "[0-9a-f]{{8}}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}"
_AKS: Final = (
    "az aks nodepool update --resource-group GROUP --cluster-name CLUSTER --name {pool} --update-cluster-autoscaler "
    "--min-count {minimum} --max-count {maximum}"
)
_PLATFORMS: Final = (
    Platform(
        "eks.amazonaws.com/nodegroup",
        "eks-{pool}-" + _UUID,
        "aws eks update-nodegroup-config --cluster-name CLUSTER --nodegroup-name {pool} "
        "--scaling-config maxSize={maximum}",
    ),
    Platform(
        "alpha.eksctl.io/nodegroup-name",
        "eksctl-.+-nodegroup-{pool}-NodeGroup-.+",
        "eksctl scale nodegroup --cluster CLUSTER --name {pool} --nodes-max {maximum}",
    ),
    Platform(
        "cloud.google.com/gke-nodepool",
        ".*/gke-.+-{pool}-[0-9a-f]{{8}}-grp",
        "gcloud container node-pools update {pool} --cluster CLUSTER --enable-autoscaling --max-nodes {maximum}",
        is_exact=False,
    ),
    Platform("kubernetes.azure.com/agentpool", "aks-{pool}-[0-9]+-vmss", _AKS),
    Platform("agentpool", "aks-{pool}-[0-9]+-vmss", _AKS),
    Platform(
        "kops.k8s.io/instancegroup",
        r"{pool}(\..+)?",
        "kops edit instancegroup {pool}    # spec.maxSize: {maximum}",
        is_exact=False,
    ),
)
#: The words for a pool of the platforms that ``POOL_LABELS`` does not have.
_WORDS: Final = {**POOL_LABELS, "kops.k8s.io/instancegroup": "instance group"}
_ZONE_IN_URL: Final = re.compile(r".*/zones/([^/]+)/.*")
#: The end of the name of a managed instance group of GCE, which its nodes' names do not have.
_GCE_END: Final = "-grp"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeGroup:
    """A node group: the nodes that the autoscaler may add to or remove from one scalable object of the cloud."""

    #: The name by which the autoscaler knows it; empty if only its nodes' label is known.
    name: str
    #: Its kind and name in a sentence: ``nodegroup spot``.
    words: str
    #: The rows of its nodes, ascending.
    rows: tuple[int, ...] = ()
    #: The smallest and the largest size, and the number of nodes that the cloud was asked for; ``None`` if unknown.
    minimum: int | None = None
    maximum: int | None = None
    target: int | None = None
    #: The autoscaler's own words about it.
    status: GroupStatus | None = None
    #: The set of machines of Cluster API or OpenShift behind it.
    scalable: ScalableSet | None = None
    platform: Platform | None = None
    #: The value of the platform's label.
    pool: str = ""
    #: The zone in its name; empty if the name has none.
    zone: str = ""

    @property
    def is_at_maximum(self) -> bool:
        return self.maximum is not None and self.target is not None and self.target >= self.maximum


def node_groups(cluster: Cluster, status: Status | None) -> tuple[NodeGroup, ...]:
    """Return the node groups of a cluster: those of the status, else the sets of machines, else those of labels.

    Groups of labels alone have no known size; a caller asks for them only if it knows that an autoscaler runs.
    """
    scalable = {name_of_set(each): each for each in _scalable_sets(cluster)}
    if status is not None:
        return _groups_of_status(cluster, status, scalable)
    if scalable:
        members = _members(cluster, tuple(scalable))
        return tuple(_of_set(each, tuple(members.get(name, ()))) for name, each in scalable.items())
    return tuple(_groups_of_labels(cluster))


def name_of_set(scalable: ScalableSet) -> str:
    """Return the name that the autoscaler gives to the group of a set of machines."""
    return f"{group_and_kind(scalable)[1]}/{scalable.namespace}/{scalable.name}"


def group_and_kind(scalable: ScalableSet) -> tuple[str, str]:
    """Return the API group and the kind of a set of machines."""
    return next(key for key, type_ in SCALABLE_KINDS.items() if type_ is type(scalable))


def annotated_size(annotations: Mapping[str, str], keys: tuple[str, ...]) -> tuple[str, int] | None:
    """Return the annotation with a size, and its value; ``None`` if there is none that is a number."""
    found = ((key, annotations[key]) for key in keys if key in annotations)
    return next(((key, int(text)) for key, text in found if re.fullmatch("[0-9]{1,9}", text, re.ASCII)), None)


def _scalable_sets(cluster: Cluster) -> Iterator[ScalableSet]:
    """Yield the sets of machines that the autoscaler may scale: both sizes are set, and no other set owns them."""
    for kind in SCALABLE_KINDS.values():
        for each in cluster.list(kind):
            owner = each.metadata.controller
            sizes = (annotated_size(each.metadata.annotations, keys) for keys in (MIN_SIZES, MAX_SIZES))
            if all(sizes) and not (owner is not None and owner.kind == MachineDeployment.__name__):
                yield each


def _of_set(scalable: ScalableSet, rows: tuple[int, ...], status: GroupStatus | None = None) -> NodeGroup:
    annotations = scalable.metadata.annotations
    minimum, maximum = (annotated_size(annotations, keys) for keys in (MIN_SIZES, MAX_SIZES))
    replicas = 1 if scalable.spec.replicas is None else scalable.spec.replicas
    return NodeGroup(
        name=name_of_set(scalable),
        words=f"{group_and_kind(scalable)[1]} {scalable.name}",
        rows=rows,
        minimum=minimum[1] if minimum is not None else None,
        maximum=status.health.max_size if status is not None else maximum[1] if maximum is not None else None,
        target=status.health.cloud_provider_target if status is not None else replicas,
        status=status,
        scalable=scalable,
    )


def _groups_of_status(cluster: Cluster, status: Status, scalable: Mapping[str, ScalableSet]) -> tuple[NodeGroup, ...]:
    names = tuple(group.name for group in status.groups)
    members = _members(cluster, names)
    pools = _pools(cluster)
    out = []
    for group in status.groups:
        rows = tuple(members.get(group.name, ()))
        if group.name in scalable:
            out.append(_of_set(scalable[group.name], rows, group))
            continue
        platform, pool = _pool_of_group(cluster, group.name, rows, pools)
        zone = found[1] if (found := _ZONE_IN_URL.fullmatch(group.name)) is not None else ""
        where = f" in zone {zone}" if zone and pool else ""
        out.append(
            NodeGroup(
                name=group.name,
                words=f"{_WORDS[platform.label]} {pool}{where}" if platform else f"node group {_short(group.name)}",
                rows=rows,
                minimum=group.health.min_size,
                maximum=group.health.max_size,
                target=group.health.cloud_provider_target,
                status=group,
                platform=platform,
                pool=pool,
                zone=zone,
            )
        )
    return tuple(out)


def _groups_of_labels(cluster: Cluster) -> Iterator[NodeGroup]:
    """Yield a group for each value of a platform's label, without nodes of Karpenter."""
    found: dict[tuple[Platform, str], list[int]] = {}
    for row, node in enumerate(cluster.nodes.objects):
        if (labelled := _labelled_pool(node)) is not None:
            found.setdefault(labelled, []).append(row)
    for (platform, pool), rows in found.items():
        words = f"{_WORDS[platform.label]} {pool}"
        yield NodeGroup(name="", words=words, rows=tuple(rows), platform=platform, pool=pool)


def _labelled_pool(node: Node) -> tuple[Platform, str] | None:
    labels = node.metadata.labels
    if NODE_POOL_LABEL in labels:
        return None
    return next(((each, labels[each.label]) for each in _PLATFORMS if labels.get(each.label)), None)


def _pools(cluster: Cluster) -> tuple[tuple[Platform, str], ...]:
    return tuple(dict.fromkeys(pool for pool in map(_labelled_pool, cluster.nodes.objects) if pool is not None))


def _pool_of_group(
    cluster: Cluster, name: str, rows: tuple[int, ...], pools: tuple[tuple[Platform, str], ...]
) -> tuple[Platform | None, str]:
    """Return the platform and the label's value of a group: those of its nodes, else those in its name."""
    if rows:
        return _labelled_pool(cluster.nodes.objects[rows[0]]) or (None, "")
    for platform, pool in pools:
        if _is_name_of(name, platform, pool):
            return platform, pool
    for platform in _PLATFORMS:
        if platform.is_exact and (found := re.fullmatch(platform.name.format(pool="(?P<pool>.+?)"), name)) is not None:
            return platform, found["pool"]
    return None, ""


def _is_name_of(name: str, platform: Platform, pool: str) -> bool:
    return re.fullmatch(platform.name.format(pool=re.escape(pool)), name) is not None


def _short(name: str) -> str:
    """Return the last part of a group's name, without the end that its nodes' names do not have.

    >>> _short("https://compute.example/zones/z/instanceGroups/gke-shop-gpu-0a1b2c3d-grp"), _short("workers")
    ('gke-shop-gpu-0a1b2c3d', 'workers')
    """
    return name.rpartition("/")[2].removesuffix(_GCE_END)


# The nodes of each group.


def _members(cluster: Cluster, names: tuple[str, ...]) -> dict[str, list[int]]:
    """Return the rows of the nodes of each group, by the group's name."""
    by_length = sorted(names, key=lambda name: (-len(_short(name)), name))
    owners = {each.name: owner.name for each in cluster.list(MachineSet) if (owner := each.metadata.controller)}
    of_pool: dict[tuple[Platform, str], list[str]] = {}
    out: dict[str, list[int]] = {}
    for row, node in enumerate(cluster.nodes.objects):
        pool = _labelled_pool(node)
        if pool is not None and pool not in of_pool:
            of_pool[pool] = [name for name in names if _is_name_of(name, *pool)]
        name = _group_of_node(node, by_length, owners, of_pool[pool] if pool is not None else [])
        if name:
            out.setdefault(name, []).append(row)
    return out


def _group_of_node(node: Node, by_length: list[str], owners: Mapping[str, str], of_pool: list[str]) -> str:
    """Return the group of a node; empty if none is recognized.

    Args:
        by_length: The names of all groups, those with the longest last part first.
        owners: The MachineDeployment of each MachineSet.
        of_pool: The groups whose name has the node's pool.
    """
    annotations = node.metadata.annotations
    machine_set = annotations.get(OWNER_NAME, "") or annotations.get(MACHINE, "").rpartition("/")[2].rpartition("-")[0]
    if machine_set:
        known = owners.get(machine_set, machine_set)
        return next((name for name in by_length if _is_or_begins(known, _short(name))), "")
    # Names of nodes begin with the group's on GKE, AKS, Gardener and others; of several groups the longest name counts.
    if (begun := next((name for name in by_length if _is_or_begins(node.name, _short(name))), "")) or not of_pool:
        return begun or next((name for name in by_length if name == pool_name(node.metadata.labels)), "")
    zone = zone_of(node.metadata.labels)
    return next((name for name in of_pool if f"/zones/{zone}/" in name), of_pool[0])


def _is_or_begins(name: str, group: str) -> bool:
    # The nodes of a scale set of Azure have numbers directly behind its name.
    return name == group or (name.startswith(group) and (name[len(group)] == "-" or group.endswith("-vmss")))
