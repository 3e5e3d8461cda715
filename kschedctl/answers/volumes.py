"""Claims and their volumes, as data: what ``volumes -o json`` prints and what its text is made of.

The form is part of the public interface. ``schema/volumes.json`` describes it and is made from these types.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from kschedctl.answers.base import AnswerList, ClusterAnswer, Data


class Action(StrEnum):
    """What becomes of a claim."""

    #: It is bound, and stays so.
    KEEP = "Bound"
    #: It is bound to a volume that exists.
    BIND = "Bind"
    #: Its provisioner is asked for a volume.
    PROVISION = "Provision"
    #: It waits for a pod that uses it.
    WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
    #: It waits for the pods that use it to be scheduled.
    WAIT_FOR_POD = "WaitForPodScheduled"
    #: The volume that it names does not exist yet.
    WAIT_FOR_VOLUME = "WaitForVolume"
    #: No volume suits it, or the one it names is another claim's.
    FAILED_BINDING = "FailedBinding"
    #: The volume that it names does not satisfy it.
    VOLUME_MISMATCH = "VolumeMismatch"
    #: Its class does not exist or cannot provision.
    PROVISIONING_FAILED = "ProvisioningFailed"
    #: It was bound to a volume that is gone, or is another claim's.
    LOST = "Lost"


class Verdict(StrEnum):
    """What becomes of one claim if its pod goes to one node."""

    #: Its volume can be reached.
    BOUND = "bound"
    #: Its volume cannot be reached.
    UNREACHABLE = "unreachable"
    #: Its volume is of another zone or region than the node.
    OTHER_ZONE = "otherZone"
    #: Its volume does not exist.
    MISSING = "missing"
    #: It takes an existing volume.
    TAKES = "takes"
    #: A volume is made for it.
    PROVISIONED = "provisioned"
    #: A volume is being made for it, for another node.
    ELSEWHERE = "elsewhere"
    #: No volume suits it, and none can be made.
    NONE = "none"
    #: A volume could be made, but there is too little space.
    NO_SPACE = "noSpace"
    #: It is the controller's to bind, not the scheduler's.
    IMMEDIATE = "immediate"

    @property
    def usable(self) -> bool:
        """Whether the pod could run there, as far as this claim goes."""
        return self in (Verdict.BOUND, Verdict.TAKES, Verdict.PROVISIONED)


class MismatchData(Data, frozen=True):
    """One reason why a volume is not for a claim."""

    field: str
    wanted: Annotated[str, Meta(description="What the claim wants.")]
    found: Annotated[str, Meta(description="What the volume has.")]


class NotTakenData(Data, frozen=True):
    """A volume that the claim does not get."""

    volume: str
    mismatches: Annotated[
        tuple[MismatchData, ...], Meta(description="Every reason; empty where the volume would do but is not taken.")
    ]


class ControllerData(Data, frozen=True):
    """What the PersistentVolume controller does with a claim when it next looks at it."""

    action: Action
    summary: Annotated[str, Meta(description="The same in words.")]
    message: Annotated[str, Meta(description="The event on the claim; empty where there is none.")]
    volume: Annotated[str, Meta(description="The volume concerned; empty for none.")]
    provisioner: Annotated[str, Meta(description="Whom it asks for a volume; empty for nobody.")]
    default_class: Annotated[str, Meta(description="The default class that the claim is given; empty for none.")]
    not_taken: Annotated[tuple[NotTakenData, ...], Meta(description="Why it is not each other volume.")]


class OnNodeData(Data, frozen=True):
    """What becomes of a claim if its pod goes to a node."""

    claim: Annotated[str, Meta(description="As namespace/name.")]
    verdict: Verdict
    volume: Annotated[str, Meta(description="The volume it has or takes; empty for none.")]
    detail: Annotated[str, Meta(description="Why not; empty where it is usable.")]


class NodeVolumesData(Data, frozen=True):
    """What becomes of claims on a node."""

    name: str
    zone: Annotated[str, Meta(description="Of its label; empty where it has none.")]
    usable: Annotated[bool, Meta(description="Whether every claim is usable there.")]
    claims: tuple[OnNodeData, ...]


class TrapData(Data, frozen=True):
    """A volume whose zone is settled before its pod is placed."""

    storage_class: Annotated[str, Meta(description="The class that binds immediately.")]
    zones: Annotated[tuple[str, ...], Meta(description="Where the volume is; empty where it is not made yet.")]
    other_zones: Annotated[tuple[str, ...], Meta(description="From where it cannot be used.")]
    explanation: Annotated[str, Meta(description="What that means, in words.")]
    advice: Annotated[str, Meta(description="What to do about it.")]


class ClaimData(Data, frozen=True, kw_only=True):
    """One claim."""

    name: Annotated[str, Meta(description="As namespace/name.")]
    summary: Annotated[str, Meta(description="One or two sentences.")]
    phase: Annotated[str, Meta(description="Its phase in the snapshot.")]
    size: Annotated[str, Meta(description="What it requests, as a quantity.")]
    access_modes: tuple[str, ...]
    storage_class: Annotated[str, Meta(description="Its class; the default class where it would be given that.")]
    binding_mode: Annotated[str, Meta(description="When that class binds; empty where it does not exist.")]
    volume: Annotated[str, Meta(description="The volume it names; empty for none.")]
    pods: Annotated[tuple[str, ...], Meta(description="The pods that use it, as namespace/name.")]
    controller: ControllerData
    zones: Annotated[tuple[str, ...], Meta(description="The zones it ties its pods to; empty where all are open.")]
    trap: TrapData | None
    usable: Annotated[bool, Meta(description="Whether it has a volume, or may get one.")]


class ClaimVolumes(ClusterAnswer, frozen=True, kw_only=True):
    """The answer for one claim."""

    claim: ClaimData
    nodes: Annotated[
        tuple[NodeVolumesData, ...] | None,
        Meta(description="What becomes of it for a pod that uses no other; null in a list of all claims."),
    ]

    @property
    def usable(self) -> bool:
        """Whether the claim has a volume, or may get one."""
        return self.claim.usable

    @property
    def yes(self) -> bool:
        """True if the claim has a volume or may get one."""
        return self.usable

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """The volume that the claim has or would get."""
        return _volume_names((self.claim,))


class PodVolumes(ClusterAnswer, frozen=True, kw_only=True):
    """The answer for one pod."""

    pod: Annotated[str, Meta(description="As namespace/name.")]
    summary: Annotated[str, Meta(description="One or two sentences.")]
    problem: Annotated[str, Meta(description="Why its claims cannot be used on any node; empty where they can.")]
    claims: tuple[ClaimData, ...]
    zones: Annotated[tuple[str, ...], Meta(description="The zones its volumes tie it to; empty where all are open.")]
    selected_zones: Annotated[
        tuple[str, ...], Meta(description="The zones its node selection ties it to; empty where all are open.")
    ]
    conflict: Annotated[bool, Meta(description="Whether node selection and claims together leave no node.")]
    nodes: Annotated[tuple[NodeVolumesData, ...], Meta(description="What becomes of all its claims together.")]

    @property
    def usable(self) -> bool:
        """Whether its claims leave the pod any node."""
        return not self.problem and not self.conflict

    @property
    def yes(self) -> bool:
        """True if every claim is usable and a node is left for the pod."""
        return self.usable

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """The volumes that its claims have or would get, a line each."""
        return _volume_names(self.claims)


class VolumesList(AnswerList, frozen=True, kw_only=True):
    """The answers for several claims or pods."""

    items: tuple[ClaimVolumes | PodVolumes, ...]


def _volume_names(claims: Iterable[ClaimData]) -> tuple[str, ...]:
    return tuple(f"persistentvolume/{c.controller.volume}" for c in claims if c.controller.volume)
