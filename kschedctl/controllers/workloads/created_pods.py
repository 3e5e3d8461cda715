"""A pod that a controller creates, its number of replicas, and the objects created with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kschedctl.common.errors import ManifestError
from kschedctl.common.findings import Where
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.volume import PersistentVolumeClaim

#: The maximum number of pods that are created one by one for a question.
MOST_MADE: Final = 10_000


def check_number(number: int, where: Where = "") -> None:
    """Raise ``ManifestError`` if more pods would be created one by one than ``MOST_MADE`` (10,000)."""
    if number > MOST_MADE:
        problem = f"{number:,} pods would be created one by one, and at most {MOST_MADE:,} can be"
        raise ManifestError(problem, where=where, hint="set fewer replicas, and a lower parallelism for a Job")


@dataclass(frozen=True, slots=True)
class MadePod:
    """A pod that a workload's controller creates.

    Attributes
    ----------
    pod : Pod
        The pod as its controller sends it to the API server: without API defaults, not admitted.
    replicas : int
        The number of pods of the workload that are equal to this one except for the name; 0 if the workload is
        scaled to zero or suspended.
    node : str
        The only node the pod can run on, if its controller chose one; else empty.
    objects : tuple of ApiObject
        The objects that the pod refers to and the cluster lacks: its controller, whose selector default topology
        spreading uses, and the claims created for it. They are overlaid on the cluster.
    """

    pod: Pod
    replicas: int = 1
    node: str = ""
    objects: tuple[ApiObject, ...] = ()

    @property
    def claims(self) -> tuple[PersistentVolumeClaim, ...]:
        """The persistent volume claims created for the pod."""
        return tuple(obj for obj in self.objects if isinstance(obj, PersistentVolumeClaim))
