"""Claims and their volumes, as data: what ``volumes -o json`` prints and what its text is made of.

The form is part of the public interface. ``schema/volumes.json`` describes it and is made from these types.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from msgspec import Meta

from kschedctl.persistentvolume.outcome import Action
from kschedctl.report.envelope import Answer, AnswerList, Data, json_schema
from kschedctl.volumeview.on_nodes import Verdict


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


class ClaimVolumes(Answer, frozen=True, kw_only=True):
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

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """The volume that the claim has or would get."""
        return _volume_names((self.claim,))


class PodVolumes(Answer, frozen=True, kw_only=True):
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

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """The volumes that its claims have or would get, a line each."""
        return _volume_names(self.claims)


class VolumesList(AnswerList, frozen=True, kw_only=True):
    """The answers for several claims or pods."""

    items: tuple[ClaimVolumes | PodVolumes, ...]


def _volume_names(claims: Iterable[ClaimData]) -> tuple[str, ...]:
    return tuple(f"persistentvolume/{c.controller.volume}" for c in claims if c.controller.volume)


def schema() -> dict[str, Any]:
    """The JSON Schema of what ``-o json`` prints."""
    return json_schema(
        "volumes",
        "One answer, or a list of them where several claims or pods may be meant.",
        ClaimVolumes,
        PodVolumes,
        VolumesList,
    )
