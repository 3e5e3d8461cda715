"""What the PersistentVolume controller decides about a claim."""

from __future__ import annotations

from dataclasses import dataclass

from kschedctl.answers.volumes import Action
from kschedctl.api.volume import PersistentVolumeClaim
from kschedctl.volumes.matching import Mismatch


@dataclass(frozen=True, slots=True)
class Rejected:
    """A volume that is not for the claim.

    Attributes
    ----------
    volume : str
        Its name.
    mismatches : tuple of Mismatch
        Every reason; empty where the volume would do but another goes first.
    """

    volume: str
    mismatches: tuple[Mismatch, ...]


@dataclass(frozen=True, slots=True)
class ClaimOutcome:
    """What the controller does with one claim.

    Attributes
    ----------
    claim : PersistentVolumeClaim
        The claim, with the default class where it is given one.
    action : Action
        What it does.
    message : str
        The event on the claim; empty where there is none.
    volume : str
        The volume concerned; empty where there is none.
    provisioner : str
        Whom it asks for a volume; empty where it asks nobody.
    default_class : str
        The default class that the claim is given; empty where it is given none.
    rejected : tuple of Rejected
        Why each other volume is not taken, in the order of the snapshot; empty for a claim that is bound.
    """

    claim: PersistentVolumeClaim
    action: Action
    message: str = ""
    volume: str = ""
    provisioner: str = ""
    default_class: str = ""
    rejected: tuple[Rejected, ...] = ()
