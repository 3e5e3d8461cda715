"""The decision of the PersistentVolume controller about a claim."""

from __future__ import annotations

from dataclasses import dataclass

from kschedctl.objects.volume import PersistentVolumeClaim
from kschedctl.questions.answers.volumes import ClaimAction
from kschedctl.scheduler.volumes.matching import Mismatch


@dataclass(frozen=True, slots=True)
class Rejected:
    """A volume that the controller does not bind to the claim.

    Attributes
    ----------
    volume : str
        The name of the volume.
    mismatches : tuple of Mismatch
        The reasons; empty if the volume matches but another one takes precedence.
    """

    volume: str
    mismatches: tuple[Mismatch, ...]


@dataclass(frozen=True, slots=True)
class ClaimOutcome:
    """The controller's action on a claim.

    Attributes
    ----------
    claim : PersistentVolumeClaim
        The claim, including the default class if the controller sets it.
    action : ClaimAction
        The action that the controller takes.
    message : str
        The message of the event on the claim; empty if there is none.
    volume : str
        The name of the volume concerned; empty if there is none.
    provisioner : str
        The provisioner that is to create a volume; empty if there is none.
    default_class : str
        The default class that the controller sets on the claim; empty if it sets none.
    rejected : tuple of Rejected
        The other volumes with the reasons against them, in snapshot order; empty for a bound claim.
    """

    claim: PersistentVolumeClaim
    action: ClaimAction
    message: str = ""
    volume: str = ""
    provisioner: str = ""
    default_class: str = ""
    rejected: tuple[Rejected, ...] = ()
