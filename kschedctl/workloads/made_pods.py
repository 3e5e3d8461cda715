"""A pod that a controller creates, the number of its replicas, and the objects that come with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kschedctl.api.meta import ApiObject
from kschedctl.api.pod import Pod
from kschedctl.api.volume import PersistentVolumeClaim

#: Of so many pods that are alike each is made; of more the others go without saying.
MOST_MADE: Final = 10_000


@dataclass(frozen=True, slots=True)
class MadePod:
    """A pod of a workload.

    Attributes
    ----------
    pod : Pod
        The pod as its controller sends it to the API server: not defaulted, not admitted.
    replicas : int
        How many pods the workload wants that differ from this one in nothing but their name; 0 for a workload that
        is scaled down or suspended.
    node : str
        The only node that the pod is for, where its controller chose one.
    objects : tuple of ApiObject
        What the cluster does not have and the pod refers to: its controller with the selector that default spreading
        goes by, and the claims that are made for it. To be laid over the cluster.
    """

    pod: Pod
    replicas: int = 1
    node: str = ""
    objects: tuple[ApiObject, ...] = ()

    @property
    def claims(self) -> tuple[PersistentVolumeClaim, ...]:
        """The claims that are made for the pod."""
        return tuple(obj for obj in self.objects if isinstance(obj, PersistentVolumeClaim))
