"""Sources of instance types: a file, or the nodes and NodeClaims of a cluster."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from kschedctl.autoscaler.instance_types import CAPACITY_TYPE, CAPACITY_TYPES, RESERVED, InstanceType, Offering
from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import InputError
from kschedctl.common.text.yaml import yaml_value
from kschedctl.objects.core import ResourceList
from kschedctl.objects.karpenter import INSTANCE_LABELS, NODE_POOL_LABEL, NodeClaim, NodePool
from kschedctl.objects.meta import Labels
from kschedctl.objects.quantity import NANO, QuantityError, check_quantities, quantity_text
from kschedctl.objects.resources import CPU, MEMORY, parse_resources
from kschedctl.objects.selectors import IN
from kschedctl.objects.well_known import INSTANCE_TYPE, REGION, ZONE, instance_type_of, zone_of

#: The source of types that are read from a cluster, in words.
SEEN: Final = "the nodes of the cluster"
_AWS: Final = "karpenter.k8s.aws/instance-"
#: The names of AWS, such as ``m7g.4xlarge`` and ``u-6tb1.metal``.
_AWS_NAME: Final = re.compile(r"(?P<family>(?P<category>[a-z]+)(?P<generation>[0-9]+)[a-z0-9-]*)\.(?P<size>[a-z0-9-]+)")


class _Catalog(msgspec.Struct, rename="camel"):
    instance_types: tuple[InstanceType, ...] = ()


def read_catalog(path: str) -> tuple[InstanceType, ...]:
    """Read instance types from a YAML or JSON file: a list, or an object with ``instanceTypes``.

    Raises InputError if the file cannot be read, or is no catalog.
    """
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", where=path) from None
    data: Any = yaml_value(text, path)[0]
    hint = "docs/node-is-not-added.md shows a catalog, and how to make one of a cloud's list"
    try:
        whole = data if isinstance(data, dict) else {"instanceTypes": data}
        types = msgspec.convert(whole, _Catalog).instance_types
        check_quantities(types)
    except msgspec.ValidationError as error:
        raise InputError(str(error), where=path, hint=hint) from None
    except QuantityError as error:
        raise InputError(str(error), where=path, path=f"instanceTypes{error.path}", hint=hint) from None
    if not types:
        raise InputError("has no instance types", where=path, hint=hint)
    for i, kind in enumerate(types):
        if not kind.offerings:
            raise InputError("is empty", where=path, path=f"instanceTypes[{i}].offerings", hint=hint)
        for j, each in enumerate(kind.offerings):
            if each.capacity_type not in CAPACITY_TYPES:
                problem = f'"{each.capacity_type}" is not one of {", ".join(CAPACITY_TYPES)}'
                raise InputError(problem, where=path, path=f"instanceTypes[{i}].offerings[{j}].capacityType", hint=hint)
    return types


def no_node_pools(cluster: Cluster) -> InputError:
    """Return the error of a question about Karpenter for a cluster without it."""
    hint = "kubectl get nodepools.karpenter.sh lists them; a snapshot of kschedctl snapshot contains them"
    hint = next((warning for warning in cluster.warnings if "NodePool" in warning), hint)
    return InputError("the cluster has no NodePool of Karpenter", hint=hint)


def seen_types(cluster: Cluster) -> tuple[InstanceType, ...]:
    """Return the instance types of a cluster's nodes and NodeClaims, the smallest first.

    Each is taken to be offered in all zones that the cluster uses. Prices are not known. A what-if that removes nodes
    does not change what the cloud offers.
    """
    found: dict[str, InstanceType] = {}
    machines = list(_machines(cluster))
    if not cluster.is_as_read:
        machines += _machines(cluster.origin)
    zones, capacity_types = _places([labels for labels, _, _ in machines], cluster.list(NodePool))
    offerings = tuple(Offering(zone=zone, capacity_type=kind) for zone in zones for kind in capacity_types)
    for labels, capacity, allocatable in machines:
        name = instance_type_of(labels)
        if name and name not in found and capacity:
            found[name] = _type(name, labels, capacity, allocatable or capacity, offerings)
    return tuple(sorted(found.values(), key=_size))


def _machines(cluster: Cluster) -> Iterator[tuple[Labels, ResourceList, ResourceList]]:
    """Yield labels, capacity and allocatable amounts of nodes, those of Karpenter first, and of NodeClaims."""
    own = sorted(cluster.nodes.objects, key=lambda node: NODE_POOL_LABEL not in node.metadata.labels)
    for node in own:
        yield node.metadata.labels, node.status.capacity or node.status.allocatable, node.status.allocatable
    for claim in cluster.list(NodeClaim):
        yield claim.metadata.labels, claim.status.capacity, claim.status.allocatable


def _places(labelled: Iterable[Labels], pools: Iterable[NodePool]) -> tuple[list[str], list[str]]:
    """Return the zones and capacity types of machines and of the requirements of pools."""
    zones: set[str] = set()
    kinds = {"on-demand"}
    for labels in labelled:
        zones.add(zone_of(labels))
        kinds.add(labels.get(CAPACITY_TYPE, "on-demand"))
    for pool in pools:
        for each in pool.spec.template.spec.requirements:
            if each.operator == IN and each.key == ZONE:
                zones.update(each.values)
            if each.operator == IN and each.key == CAPACITY_TYPE:
                kinds.update(each.values)
    return sorted(zones - {""}), sorted(kinds - {RESERVED})


def _type(
    name: str, labels: Labels, capacity: ResourceList, allocatable: ResourceList, offerings: tuple[Offering, ...]
) -> InstanceType:
    total, left = parse_resources(capacity), parse_resources(allocatable)
    overhead = {each: quantity_text(total[each] - left[each]) for each in left if total.get(each, 0) > left[each]}
    own = {key: value for key, value in labels.items() if key.startswith(INSTANCE_LABELS)}
    return InstanceType(
        name=name,
        arch=labels.get("kubernetes.io/arch", "amd64"),
        os=(labels.get("kubernetes.io/os", "linux"),),
        capacity=capacity,
        overhead=dict(overhead),
        labels={**_derived(name, total), **own, **({REGION: labels[REGION]} if REGION in labels else {})},
        offerings=offerings,
    )


def _derived(name: str, total: dict[str, int]) -> dict[str, str]:
    """Return the labels that Karpenter's provider for AWS gives a type, as far as its name and size tell."""
    match = _AWS_NAME.fullmatch(name)
    if match is None:
        return {}
    out = {f"{_AWS}{part}": match[part] for part in ("category", "family", "generation", "size")}
    out[f"{_AWS}cpu"] = str(total.get(CPU, 0) // NANO)
    out[f"{_AWS}memory"] = str(total.get(MEMORY, 0) // NANO >> 20)
    return out


def _size(kind: InstanceType) -> tuple[int, int, int, str]:
    amounts = parse_resources(kind.capacity)
    extended = sum(name not in (CPU, MEMORY, "pods", "ephemeral-storage") for name in amounts)
    return extended, amounts.get(CPU, 0), amounts.get(MEMORY, 0), kind.name


def type_labels(kind: InstanceType) -> Labels:
    """Return the labels that every node of an instance type has, wherever it is."""
    return {INSTANCE_TYPE: kind.name, "kubernetes.io/arch": kind.arch, "kubernetes.io/os": kind.os[0], **kind.labels}
