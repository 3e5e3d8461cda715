"""Claims and their volumes, as data: printed by ``volumes -o json``, and the source of its text.

The form is part of the public interface. ``schema.json`` describes it and is made from these types.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated

from msgspec import structs

from kschedctl.common.wording import counted
from kschedctl.questions.answer import AnswerList, ClusterAnswer, Data
from kschedctl.questions.answer_parts import DiagnosisData
from kschedctl.trials.claim_action import ClaimAction


class ClaimVerdict(StrEnum):
    """The outcome for one claim if its pod is scheduled to a node."""

    #: The claim's volume can be used from the node.
    BOUND = "bound"
    #: The claim's volume cannot be used from the node.
    UNREACHABLE = "unreachable"
    #: The claim's volume is in another zone or region than the node.
    OTHER_ZONE = "otherZone"
    #: The claim's volume does not exist.
    MISSING = "missing"
    #: The claim is bound to an existing volume.
    TAKES = "takes"
    #: A volume is provisioned for the claim.
    PROVISIONED = "provisioned"
    #: A volume is being provisioned for the claim, for another node.
    ELSEWHERE = "elsewhere"
    #: No volume matches the claim, and none can be provisioned.
    NONE = "none"
    #: A volume could be provisioned, but there is too little storage capacity.
    NO_SPACE = "noSpace"
    #: The claim is bound by the PersistentVolume controller, not by the scheduler.
    IMMEDIATE = "immediate"

    @property
    def usable(self) -> bool:
        """True if the pod could run on the node as far as this claim is concerned."""
        return self in (ClaimVerdict.BOUND, ClaimVerdict.TAKES, ClaimVerdict.PROVISIONED)


class MismatchData(Data, frozen=True):
    """A reason why a volume does not match a claim."""

    field: Annotated[str, "The field of the claim that does not match; claimRef if it is reserved for another claim."]
    wanted: Annotated[str, "The value that the claim requires."]
    found: Annotated[str, "The value that the volume has."]


class NotTakenData(Data, frozen=True):
    """A volume that is not bound to the claim."""

    volume: Annotated[str, "The name of the volume."]
    mismatches: Annotated[tuple[MismatchData, ...], "All mismatches; empty if the volume matches but is not chosen."]


class ControllerData(Data, frozen=True):
    """The next action of the PersistentVolume controller for a claim."""

    action: Annotated[ClaimAction, "The next action."]
    summary: Annotated[str, "The action in words."]
    message: Annotated[str, "The message of the event on the claim; empty if there is none."]
    volume: Annotated[str, "The volume concerned; empty if there is none."]
    provisioner: Annotated[str, "The provisioner that is requested to create a volume; empty if there is none."]
    default_class: Annotated[str, "The default storage class that the claim is assigned; empty if there is none."]
    not_taken: Annotated[
        tuple[NotTakenData, ...], "The other volumes, with the reasons why they are not bound to the claim."
    ]


class OnNodeData(Data, frozen=True):
    """The outcome for a claim if its pod is scheduled to a node."""

    claim: Annotated[str, "The claim, as namespace/name."]
    verdict: Annotated[ClaimVerdict, "The outcome."]
    volume: Annotated[str, "The volume of the claim, or the one that would be bound to it; empty if there is none."]
    detail: Annotated[str, "The reason why the claim is not usable; empty if it is."]


class NodeVolumesData(Data, frozen=True):
    """The outcome for claims on a node."""

    name: Annotated[str, "The name of the node."]
    zone: Annotated[str, "The value of the node's zone label; empty if the node has none."]
    usable: Annotated[bool, "True if every claim is usable on the node."]
    claims: Annotated[tuple[OnNodeData, ...], "The outcome by claim."]


class TrapData(Data, frozen=True):
    """A volume whose zone is fixed before its pod is scheduled."""

    storage_class: Annotated[str, "The storage class, whose volumeBindingMode is Immediate."]
    zones: Annotated[
        tuple[str, ...], "The zones from which the volume can be used; empty if it is not provisioned yet."
    ]
    other_zones: Annotated[
        tuple[str, ...], "The zones from which the volume cannot be used; all zones if it is not provisioned yet."
    ]
    explanation: Annotated[str, "The consequence, in words."]
    advice: Annotated[str, "The recommended change, in words."]


class ClaimData(Data, frozen=True, kw_only=True):
    """A PersistentVolumeClaim and its volume."""

    name: Annotated[str, "The claim, as namespace/name."]
    summary: Annotated[str, "The result in one or two sentences."]
    phase: Annotated[str, "The phase of the claim in the snapshot."]
    size: Annotated[str, "The requested storage, as a quantity."]
    access_modes: Annotated[tuple[str, ...], "The access modes that the claim requests."]
    storage_class: Annotated[str, "The storage class; the default class if the claim would be assigned it."]
    binding_mode: Annotated[
        str,
        "The volumeBindingMode of the storage class; empty if the class does not exist, Unknown if storage "
        "classes could not be listed.",
    ]
    volume: Annotated[str, "The volume in spec.volumeName; empty if there is none."]
    pods: Annotated[tuple[str, ...], "The pods that use the claim, as namespace/name."]
    controller: Annotated[ControllerData, "The next action of the PersistentVolume controller."]
    zones: Annotated[
        tuple[str, ...], "The zones to which the claim restricts its pods; empty if there is no restriction."
    ]
    trap: Annotated[TrapData | None, "A binding that is too early for the scheduler; null if there is none."]
    usable: Annotated[bool, "True if the claim has a volume or may get one."]


class ClaimVolumes(ClusterAnswer, frozen=True, kw_only=True):
    """The answer for one claim."""

    summary: Annotated[str, "The result in one or two sentences, that of the claim."] = ""
    claim: Annotated[ClaimData, "The claim and its volume."]
    nodes: Annotated[
        tuple[NodeVolumesData, ...] | None,
        "The outcome by node for a pod that uses only this claim; null in a list of all claims.",
    ]
    diagnoses: Annotated[tuple[DiagnosisData, ...], "The causes for which the claim is not bound."] = ()
    cures: Annotated[tuple[str, ...], "Changes that could help, in words; they are not tried."] = ()

    def __post_init__(self) -> None:
        structs.force_setattr(self, "summary", self.claim.summary)

    @property
    def usable(self) -> bool:
        """True if the claim has a volume or may get one."""
        return self.claim.usable

    @property
    def yes(self) -> bool:
        """True if the claim has a volume or may get one."""
        return self.usable

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the volume that the claim has or would get, ``persistentvolume/NAME``."""
        return _volume_names((self.claim,))


class PodVolumes(ClusterAnswer, frozen=True, kw_only=True):
    """The answer for one pod."""

    pod: Annotated[str, "The pod, as namespace/name."]
    summary: Annotated[str, "The result in one or two sentences."]
    problem: Annotated[str, "The reason why the claims cannot be used on any node; empty if they can."]
    claims: Annotated[tuple[ClaimData, ...], "The claims of the pod."]
    zones: Annotated[
        tuple[str, ...], "The zones to which the volumes restrict the pod; empty if there is no restriction."
    ]
    selected_zones: Annotated[
        tuple[str, ...],
        "The zones to which nodeSelector and node affinity restrict the pod; empty if there is no restriction.",
    ]
    conflict: Annotated[bool, "True if node selection and claims together leave no node."]
    nodes: Annotated[tuple[NodeVolumesData, ...], "The outcome for all claims together, by node."]

    @property
    def usable(self) -> bool:
        """True if the claims leave at least one node for the pod."""
        return not self.problem and not self.conflict

    @property
    def yes(self) -> bool:
        """True if every claim is usable and at least one node is left for the pod."""
        return self.usable

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the volumes that the claims have or would get, one line per volume."""
        return _volume_names(self.claims)


class VolumesList(AnswerList, frozen=True, kw_only=True):
    """The answers for several claims or pods."""

    items: Annotated[tuple[ClaimVolumes | PodVolumes, ...], "The answers, one per claim or pod."]

    def summed_up(self) -> str:
        claims = [answer.claim for answer in self.items if isinstance(answer, ClaimVolumes)]
        n_pods, n_claims = len(self.items) - len(claims), len(claims)
        bound = sum(claim.usable and claim.controller.action is ClaimAction.KEEP for claim in claims)
        stuck = sum(not claim.usable for claim in claims)
        trapped = sum(claim.trap is not None for claim in claims)
        verdicts = [f"{bound} bound"]
        if n_claims - bound - stuck > 0:
            verdicts.append(f"{n_claims - bound - stuck} to be bound")
        if stuck:
            verdicts.append(f"{stuck} without a usable volume")
        if trapped:
            verdicts.append(f"{trapped} restricted to a zone before any pod is scheduled")
        told = [f"{counted(n_claims, 'claim')}: {', '.join(verdicts)}"] if claims else []
        if n_pods:
            told.append(f"the claims of {counted(n_pods, 'pod')}")
        return f"{'; '.join(told)}."


def _volume_names(claims: Iterable[ClaimData]) -> tuple[str, ...]:
    return tuple(f"persistentvolume/{c.controller.volume}" for c in claims if c.controller.volume)
