"""Devices and where they could be allocated, as data: what ``devices -o json`` prints and what its text is made of.

The form is part of the public interface. ``schema/devices.json`` describes it and is made from these types.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from kschedctl.answers.base import AnswerList, ClusterAnswer, Data
from kschedctl.answers.operands import OperandsData


class HolderData(Data, frozen=True):
    """A claim that holds a device, or a share of it."""

    claim: Annotated[str, Meta(description="As namespace/name.")]
    pods: Annotated[tuple[str, ...], Meta(description="The pods that it is reserved for, by name.")]


class DeviceData(Data, frozen=True):
    """One device."""

    name: str
    free: Annotated[bool, Meta(description="Whether nobody holds it or a share of it.")]
    shared: Annotated[bool, Meta(description="Whether what is held of it are shares.")]
    consumed: Annotated[dict[str, int], Meta(description="What shares take of its capacity, in whole units.")]
    taints: Annotated[tuple[str, ...], Meta(description="As key=value:effect.")]
    holders: tuple[HolderData, ...]


class PoolData(Data, frozen=True):
    """One pool, in its newest generation."""

    driver: str
    name: str
    generation: int
    slices: Annotated[int, Meta(description="How many slices of it there are.")]
    slices_wanted: Annotated[int, Meta(description="How many slices it should have.")]
    outdated_slices: Annotated[int, Meta(description="How many slices of older generations are left.")]
    nodes: Annotated[tuple[str, ...], Meta(description="The nodes that can use some device of it.")]
    problem: Annotated[str, Meta(description="Why its devices are not used; empty where they are.")]
    devices: tuple[DeviceData, ...]

    @property
    def free(self) -> int:
        """How many of its devices nobody holds."""
        return sum(device.free for device in self.devices)


class DevicesOverview(ClusterAnswer, frozen=True, kw_only=True):
    """All pools and devices."""

    summary: Annotated[str, Meta(description="One sentence.")]
    pools: Annotated[tuple[PoolData, ...], Meta(description="By driver and name.")]

    @property
    def usable(self) -> bool:
        """Whether the devices of every pool are used."""
        return not any(pool.problem for pool in self.pools)

    @property
    def yes(self) -> bool:
        """True if every pool is used."""
        return self.usable

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """The devices of pools that are used which nobody holds, as driver/pool/device."""
        pools = [pool for pool in self.pools if not pool.problem]
        return tuple(f"{p.driver}/{p.name}/{d.name}" for p in pools for d in p.devices if d.free)


class GivenData(Data, frozen=True):
    """A device that a request gets."""

    request: Annotated[str, Meta(description="As request, or as request/alternative.")]
    driver: str
    pool: str
    device: str
    admin_access: Annotated[bool, Meta(description="Whether it is not used, only accessed.")]
    shared: Annotated[bool, Meta(description="Whether it is a share of the device.")]
    consumed_capacity: Annotated[dict[str, str], Meta(description="What the share takes, as quantities.")]
    binding_conditions: Annotated[
        tuple[str, ...], Meta(description="What must be true of the device before the pod is bound.")
    ]
    binding_failure_conditions: Annotated[tuple[str, ...], Meta(description="What means that it never will be.")]

    @property
    def name(self) -> str:
        """``driver/pool/device``."""
        return f"{self.driver}/{self.pool}/{self.device}"


class AllocationData(Data, frozen=True):
    """The allocation of a claim, as the scheduler writes it."""

    claim: Annotated[str, Meta(description="As namespace/name.")]
    stored: Annotated[bool, Meta(description="Whether the claim has it already.")]
    devices: tuple[GivenData, ...]
    node_selector: Annotated[
        dict[str, Any] | None, Meta(description="The nodes that it is for, a NodeSelector; null for all.")
    ]
    for_nodes: Annotated[str, Meta(description="The same in words.")]


class PlaceData(Data, frozen=True):
    """Nodes on which a claim fares alike."""

    usable: bool
    nodes: tuple[str, ...]
    allocations: Annotated[
        tuple[AllocationData, ...], Meta(description="What it has, or would get on the first of the nodes.")
    ]
    refusal: Annotated[str, Meta(description="Why not, in the scheduler's words; empty where it can be allocated.")]
    reasons: Annotated[tuple[str, ...], Meta(description="What is behind that, in words.")]
    selectors: Annotated[tuple[str, ...], Meta(description="Which selectors turn devices away, in words.")]
    operands: Annotated[
        OperandsData,
        Meta(description="The numbers behind that on the first node.", extra_json_schema={"type": "object"}),
    ]


class DeviceSupply(ClusterAnswer, frozen=True, kw_only=True):
    """Where a claim could be allocated, or one device of a class."""

    subject: Annotated[Literal["claim", "class"], Meta(description="What is asked about.")]
    name: Annotated[str, Meta(description="As namespace/name, or of a class its name.")]
    summary: Annotated[str, Meta(description="One sentence.")]
    allocated: Annotated[bool, Meta(description="Whether the claim has its devices already.")]
    pods: Annotated[tuple[str, ...], Meta(description="The pods that the claim is reserved for, by name.")]
    problem: Annotated[str, Meta(description="Why it can be allocated nowhere, whatever the nodes have; else empty.")]
    places: Annotated[tuple[PlaceData, ...], Meta(description="All nodes, those where it can be first.")]

    @property
    def usable(self) -> bool:
        """Whether it can be allocated somewhere, or is."""
        return any(place.usable for place in self.places)

    @property
    def argument(self) -> str:
        """What asks for it on the command line."""
        return self.name if self.subject == "claim" else f"class/{self.name}"

    @property
    def yes(self) -> bool:
        """True if it can be allocated on a node."""
        return self.usable

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """The nodes on which it can be allocated."""
        suffix = "" if single else f" {self.argument}"
        return tuple(f"node/{node}{suffix}" for place in self.places if place.usable for node in place.nodes)


class DevicesList(AnswerList, frozen=True, kw_only=True):
    """The answers for several claims and classes."""

    items: tuple[DevicesOverview | DeviceSupply, ...]
