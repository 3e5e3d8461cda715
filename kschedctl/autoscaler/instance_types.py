"""Instance types that a cloud offers: labels, sizes and offerings; and as columns, for questions about all of them.

The form of a catalog is that of a case of the batch command (``instanceTypes``).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from kschedctl.autoscaler.requirements import (
    ARCH,
    OS,
    Requirement,
    Requirements,
    added,
    are_compatible,
    intersection,
    intersects,
    requirement,
)
from kschedctl.objects.core import ResourceList
from kschedctl.objects.karpenter import NODE_POOL_LABEL
from kschedctl.objects.meta import Int32
from kschedctl.objects.quantity import NANO
from kschedctl.objects.resources import HUGEPAGES_PREFIX, MEMORY, parse_resources
from kschedctl.objects.selectors import DOES_NOT_EXIST, IN
from kschedctl.objects.well_known import INSTANCE_TYPE, REGION, ZONE

CAPACITY_TYPE: Final = "karpenter.sh/capacity-type"
RESERVED: Final = "reserved"
CAPACITY_TYPES: Final = ("on-demand", RESERVED, "spot")

_AWS: Final = "karpenter.k8s.aws"
RESERVATION: Final = f"{_AWS}/capacity-reservation-id"
#: The labels that Karpenter's provider for AWS knows of every instance type.
_AWS_LABELS: Final = frozenset(
    f"{_AWS}/{name}"
    for name in (
        "capacity-reservation-id",
        "capacity-reservation-type",
        "instance-accelerator-count",
        "instance-accelerator-manufacturer",
        "instance-accelerator-name",
        "instance-capability-flex",
        "instance-category",
        "instance-cpu",
        "instance-cpu-manufacturer",
        "instance-cpu-sustained-clock-speed-mhz",
        "instance-ebs-bandwidth",
        "instance-encryption-in-transit-supported",
        "instance-family",
        "instance-generation",
        "instance-gpu-count",
        "instance-gpu-manufacturer",
        "instance-gpu-memory",
        "instance-gpu-name",
        "instance-hypervisor",
        "instance-local-nvme",
        "instance-memory",
        "instance-network-bandwidth",
        "instance-size",
        "instance-tenancy",
    )
)
#: Beginnings of labels that other providers know of their instance types.
_OTHER_LABELS: Final = (
    "eks.amazonaws.com/instance-",
    "karpenter.azure.com/",
    "kubernetes.azure.com/",
    "karpenter.k8s.gcp/",
    "cloud.google.com/",
)


class _WellKnownLabels(frozenset[str]):
    """Labels by name, and all that begin as those of other providers do."""

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or (isinstance(key, str) and key.startswith(_OTHER_LABELS))


#: The labels that a new node may get although no requirement of its pool defines them (v1.WellKnownLabels).
WELL_KNOWN: Final = _WellKnownLabels(
    _AWS_LABELS
    | {
        NODE_POOL_LABEL,
        ZONE,
        REGION,
        INSTANCE_TYPE,
        ARCH,
        OS,
        CAPACITY_TYPE,
        "node.kubernetes.io/windows-build",
        "topology.k8s.aws/zone-id",
    }
)

#: Amounts of all resources that a round knows, in thousandths of a unit (milli-CPU, milli-bytes, milli-devices).
Amounts = NDArray[np.int64]
#: A mask of the instance types of a pool.
TypeMask = NDArray[np.bool_]
_MILLI: Final = NANO // 1000


class Offering(msgspec.Struct, frozen=True, rename="camel", kw_only=True, dict=True):
    """A zone and a capacity type in which an instance type can be had."""

    zone: str
    capacity_type: str
    #: Per hour, in the currency of the catalog.
    price: float = 0.0
    available: bool = True
    #: The reservation of an offering of type ``reserved``, and the number of its instances that are left.
    reservation_id: str = ""
    reservation_capacity: Int32 = 0

    @property
    def is_launchable(self) -> bool:
        """True if an instance can be started now; a reservation that is full cannot."""
        return self.available and (self.capacity_type != RESERVED or self.reservation_capacity > 0)

    @cached_property
    def requirements(self) -> Requirements:
        """The labels that nodes of the offering get."""
        reservation = (
            requirement(RESERVATION, IN, (self.reservation_id,))
            if self.reservation_id
            else requirement(RESERVATION, DOES_NOT_EXIST)
        )
        zone = requirement(ZONE, IN, (self.zone,))
        return added({}, (zone, requirement(CAPACITY_TYPE, IN, (self.capacity_type,)), reservation))


class InstanceType(msgspec.Struct, frozen=True, rename="camel", kw_only=True, dict=True):
    """A kind of machine that a cloud offers."""

    name: str
    arch: str = "amd64"
    os: tuple[str, ...] = ("linux",)
    capacity: ResourceList = {}
    #: The part of the capacity that the system of a node keeps.
    overhead: ResourceList = {}
    labels: dict[str, str] = {}
    offerings: tuple[Offering, ...] = ()
    #: The NodePools that may use it; empty for all.
    node_pools: tuple[str, ...] = ()
    #: The number of volumes per CSI driver.
    volume_limits: dict[str, Int32] = {}

    @cached_property
    def requirements(self) -> Requirements:
        """The labels of its nodes; a label that the cloud knows and the type lacks cannot exist."""
        available = [each for each in self.offerings if each.available]
        out = added(
            {},
            (
                requirement(INSTANCE_TYPE, IN, (self.name,)),
                requirement(ARCH, IN, (self.arch,)),
                requirement(OS, IN, self.os),
                requirement(ZONE, IN, sorted({each.zone for each in available})),
                requirement(CAPACITY_TYPE, IN, sorted({each.capacity_type for each in available})),
            ),
        )
        reservations = sorted({each.reservation_id for each in available if each.reservation_id})
        if reservations:
            out = added(out, (requirement(RESERVATION, IN, reservations),))
        out = added(out, (requirement(key, IN, (value,)) for key, value in self.labels.items()))
        return out | {key: requirement(key, DOES_NOT_EXIST) for key in _AWS_LABELS if key not in out}

    def price(self, requirements: Requirements) -> float:
        """Return the price of its cheapest offering that can be started and meets requirements; infinite if none."""
        return min(
            (each.price for each in self.offerings if each.is_launchable and is_offered(requirements, each)),
            default=float("inf"),
        )


def is_offered(requirements: Requirements, offering: Offering) -> bool:
    """Report whether nodes that meet requirements can be had as an offering."""
    return are_compatible(requirements, offering.requirements, WELL_KNOWN)


class Resources:
    """The resources that a round knows, in order: the columns of its amounts."""

    def __init__(self, lists: Iterable[Mapping[str, int]]) -> None:
        self.names: tuple[str, ...] = tuple(sorted({name for each in lists for name in each}))
        self._columns = {name: i for i, name in enumerate(self.names)}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Resources) and self.names == other.names

    def __hash__(self) -> int:
        return hash(self.names)

    def amounts(self, nanos: Mapping[str, int]) -> Amounts:
        """Return amounts as an array of int64, shape (n_resources,), in thousandths, rounded up."""
        out = np.zeros(len(self.names), dtype=np.int64)
        for name, amount in nanos.items():
            column = self._columns.get(name)
            if column is not None:
                out[column] = -(-amount // _MILLI)
        return out

    def mask(self, names: Iterable[str]) -> NDArray[np.bool_]:
        """Return which of the resources are named."""
        chosen = set(names)
        return np.array([name in chosen for name in self.names], dtype=np.bool_)


def allocatable(kind: InstanceType) -> dict[str, int]:
    """Return what an instance type leaves to pods, in nano-units: memory without the huge pages of its capacity."""
    capacity, overhead = parse_resources(kind.capacity), parse_resources(kind.overhead)
    out = {name: amount - overhead.get(name, 0) for name, amount in capacity.items()}
    pages = sum(amount for name, amount in capacity.items() if name.startswith(HUGEPAGES_PREFIX))
    if pages and MEMORY in out:
        out[MEMORY] = max(out[MEMORY] - pages, 0)
    return out


@dataclass(frozen=True, eq=False)
class InstanceTypes:
    """Instance types as columns. A mask is an array of bool, shape (n_types,)."""

    types: tuple[InstanceType, ...]
    #: The amounts that pods can use, and those that count against limits, shape (n_types, n_resources).
    allocatable: Amounts
    capacity: Amounts

    @classmethod
    def of(cls, types: Sequence[InstanceType], resources: Resources) -> "InstanceTypes":
        shape = (len(types), len(resources.names))
        free = np.array([resources.amounts(allocatable(each)) for each in types], dtype=np.int64).reshape(shape)
        capacity = np.array(
            [resources.amounts(parse_resources(each.capacity)) for each in types], dtype=np.int64
        ).reshape(shape)
        return cls(tuple(types), free, capacity)

    @cached_property
    def _memo(self) -> dict[object, TypeMask]:
        return {}

    def meeting(self, requirements: Requirements) -> TypeMask:
        """Return the types whose labels may meet requirements; keys that a type does not define are met."""
        out = np.ones(len(self.types), dtype=np.bool_)
        for each in requirements.values():
            mask = self._memo.get(each)
            if mask is None:
                mask = self._memo[each] = self._meeting(each)
            out &= mask
        return out

    def _meeting(self, wanted: Requirement) -> TypeMask:
        def meets(own: Requirement | None) -> bool:
            return own is None or intersects(own, wanted) or (own.excludes and wanted.excludes)

        return np.array([meets(each.requirements.get(wanted.key)) for each in self.types], dtype=np.bool_)

    def offered(self, requirements: Requirements) -> TypeMask:
        """Return the types with an available offering that nodes with these requirements can be had as."""
        key = tuple(requirements.get(each) for each in (ZONE, CAPACITY_TYPE, RESERVATION))
        mask = self._memo.get(key)
        if mask is None:
            mask = self._memo[key] = np.array(
                [any(o.available and is_offered(requirements, o) for o in each.offerings) for each in self.types],
                dtype=np.bool_,
            )
        return mask

    def fitting(self, requests: Amounts) -> TypeMask:
        """Return the types that have room for requests."""
        return np.asarray(((self.allocatable >= requests) & (self.allocatable >= 0)).all(axis=1))

    def holding(self, n_volumes: Mapping[str, int]) -> TypeMask:
        """Return the types to which as many volumes of each CSI driver can be attached."""
        return np.array(
            [all(n <= each.volume_limits.get(driver, n) for driver, n in n_volumes.items()) for each in self.types],
            dtype=np.bool_,
        )

    def values(self, mask: TypeMask, wanted: Requirement) -> set[str]:
        """Return the values of a label that some types have and a requirement admits."""
        out: set[str] = set()
        for i in np.flatnonzero(mask):
            own = self.types[i].requirements.get(wanted.key)
            if own is not None:
                out.update(value for value in own.values if wanted.has(value))
        return out


def narrowed(types: Iterable[InstanceType], requirements: Requirements, key: str) -> set[str]:
    """Return the values of a label that nodes of some types can have, where their pool has requirements.

    As in Karpenter, the values that a requirement excludes are among them where no type defines the label.
    """
    own = requirements.get(key)
    out: set[str] = set()
    for each in {kind.requirements.get(key) for kind in types}:
        both = own if each is None else each if own is None else intersection(each, own)
        if both is not None:
            out |= both.values
    return out
