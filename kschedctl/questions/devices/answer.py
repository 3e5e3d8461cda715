"""Devices and their possible allocations, as data: printed by ``devices -o json``, and the source of its text.

The form is part of the public interface. ``schema.json`` describes it and is made from these types.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta

from kschedctl.questions.answer import AnswerList, ClusterAnswer, Data, OperandsData


class HolderData(Data, frozen=True):
    """A claim to which a device, or a share of it, is allocated."""

    claim: Annotated[str, "The claim, as namespace/name."]
    pods: Annotated[tuple[str, ...], "The names of the pods that the claim is reserved for."]


class DeviceData(Data, frozen=True):
    """A device and its use."""

    name: Annotated[str, "The name of the device in its pool."]
    free: Annotated[bool, "True if neither the device nor a share of it is allocated."]
    available: Annotated[
        bool,
        "True if the device is free and a claim without tolerations can get it: no taint keeps claims away, its "
        "pool is used, and a node of the snapshot can use the pool.",
    ]
    shared: Annotated[bool, "True if only shares of the device are allocated."]
    consumed: Annotated[dict[str, str], "The capacity that allocated shares consume, as quantities by name."]
    taints: Annotated[tuple[str, ...], "The taints of the device, as key=value:effect."]
    holders: Annotated[tuple[HolderData, ...], "The claims that hold the device or a share of it."]


class PoolData(Data, frozen=True):
    """A pool of devices, in its newest generation."""

    driver: Annotated[str, "The driver of the devices."]
    name: Annotated[str, "The name of the pool."]
    generation: Annotated[int, "The newest generation of the pool."]
    slices: Annotated[int, "The number of ResourceSlices of the newest generation."]
    slices_wanted: Annotated[int, "The number of ResourceSlices that the pool should have."]
    outdated_slices: Annotated[int, "The number of ResourceSlices of older generations."]
    nodes: Annotated[tuple[str, ...], "The nodes that can use at least one device of the pool."]
    problem: Annotated[str, "The reason why the devices of the pool cannot be allocated; empty if they can."]
    devices: Annotated[tuple[DeviceData, ...], "The devices of the pool."]

    @property
    def allocated(self) -> int:
        """The number of devices that are allocated, or of which shares are."""
        return sum(not device.free for device in self.devices)

    @property
    def available(self) -> int:
        """The number of devices that are free and that a claim without tolerations can get."""
        return sum(device.available for device in self.devices)


class DevicesOverview(ClusterAnswer, frozen=True, kw_only=True):
    """All pools and devices."""

    summary: Annotated[str, "The result in one sentence."]
    pools: Annotated[tuple[PoolData, ...], "The pools, sorted by driver and name."]

    @property
    def usable(self) -> bool:
        """True if the devices of every pool can be allocated."""
        return not any(pool.problem for pool in self.pools)

    @property
    def yes(self) -> bool:
        """True if the devices of every pool can be allocated."""
        return self.usable

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the devices that a claim without tolerations can get, one line per device: ``DRIVER/POOL/DEVICE``."""
        return tuple(f"{p.driver}/{p.name}/{d.name}" for p in self.pools for d in p.devices if d.available)


class GivenData(Data, frozen=True):
    """A device that is allocated to a request."""

    request: Annotated[str, "The request, as request or request/alternative."]
    driver: Annotated[str, "The driver of the device."]
    pool: Annotated[str, "The pool of the device."]
    device: Annotated[str, "The name of the device in its pool."]
    admin_access: Annotated[bool, "True if the device is only accessed for administration, not used."]
    shared: Annotated[bool, "True if the allocation is a share of the device."]
    consumed_capacity: Annotated[dict[str, str], "The capacity that the share consumes, as quantities."]
    binding_conditions: Annotated[
        tuple[str, ...], "The conditions of the device that must be true before the pod is bound."
    ]
    binding_failure_conditions: Annotated[tuple[str, ...], "The conditions of the device that mean that binding fails."]

    @property
    def name(self) -> str:
        """``driver/pool/device``."""
        return f"{self.driver}/{self.pool}/{self.device}"


class AllocationData(Data, frozen=True):
    """The allocation of a claim, in the form that the scheduler writes."""

    claim: Annotated[str, "The claim, as namespace/name."]
    stored: Annotated[bool, "True if the allocation is already in the claim's status."]
    devices: Annotated[tuple[GivenData, ...], "The devices that are allocated."]
    node_selector: Annotated[
        dict[str, Any] | None, "The nodes that can use the allocation, as a NodeSelector; null for all nodes."
    ]
    for_nodes: Annotated[str, "The node selector in words."]


class PlaceData(Data, frozen=True):
    """Nodes with the same result for a claim."""

    usable: Annotated[bool, "True if the claim can be allocated on these nodes."]
    nodes: Annotated[tuple[str, ...], "The nodes."]
    allocations: Annotated[
        tuple[AllocationData, ...], "The allocations that exist, or that would be made on the first of the nodes."
    ]
    refusal: Annotated[str, "The reason why the claim cannot be allocated, in the scheduler's words; empty if it can."]
    reasons: Annotated[tuple[str, ...], "The details of the refusal, in words."]
    selectors: Annotated[tuple[str, ...], "The selectors that reject devices, in words."]
    operands: Annotated[
        OperandsData,
        Meta(description="The values behind the refusal on the first node.", extra_json_schema={"type": "object"}),
    ]


class DeviceSupply(ClusterAnswer, frozen=True, kw_only=True):
    """The nodes on which a claim, or one device of a class, can be allocated."""

    subject: Annotated[Literal["claim", "class"], "The kind of the subject."]
    name: Annotated[str, "The claim, as namespace/name, or the name of the class."]
    summary: Annotated[str, "The result in one sentence."]
    allocated: Annotated[bool, "True if the claim is already allocated."]
    pods: Annotated[tuple[str, ...], "The names of the pods that the claim is reserved for."]
    problem: Annotated[
        str, "The reason why the claim cannot be allocated on any node, whatever devices there are; empty if none."
    ]
    places: Annotated[tuple[PlaceData, ...], "All nodes in groups, usable ones first."]

    @property
    def usable(self) -> bool:
        """True if the claim is allocated, or can be allocated on some node."""
        return any(place.usable for place in self.places)

    @property
    def argument(self) -> str:
        """The command-line argument that selects the subject."""
        return self.name if self.subject == "claim" else f"class/{self.name}"

    @property
    def yes(self) -> bool:
        """True if the claim or a device of the class can be allocated on some node."""
        return self.usable

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the nodes that can be used, ``node/NODE``, each followed by the subject unless ``single``."""
        suffix = "" if single else f" {self.argument}"
        return tuple(f"node/{node}{suffix}" for place in self.places if place.usable for node in place.nodes)


class DevicesList(AnswerList, frozen=True, kw_only=True):
    """The answers for several claims and classes."""

    items: Annotated[tuple[DevicesOverview | DeviceSupply, ...], "The answers, one per claim or class."]

    def summed_up(self) -> str:
        return " ".join(answer.summary for answer in self.items)
