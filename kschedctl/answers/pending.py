"""The pending pods, as data: printed by ``pending -o json``, and the source of its text.

The form is part of the public interface. ``schema.json`` describes it and is made from these types.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from kschedctl.answers.base import ClusterAnswer, Data
from kschedctl.answers.tried_changes import AppliedData


class GroupData(Data, frozen=True):
    """Pending pods of one workload with the same cause."""

    kind: Annotated[str, Meta(description="The kind of the workload that owns the pods; Pod for a pod without one.")]
    namespace: str
    name: str
    pods: Annotated[tuple[str, ...], Meta(description="The pods as namespace/name, oldest first.")]
    since: Annotated[datetime | None, Meta(description="The creation time of the oldest pod; null if unknown.")]
    waiting_seconds: Annotated[
        int | None,
        Meta(
            description="The age of the oldest pod at the time of the snapshot, in seconds; null if its creation "
            "time is unknown."
        ),
    ]
    result: Annotated[
        str,
        Meta(
            description="The result as in explain; notOurs if no profile of the configuration has the pods' "
            "schedulerName."
        ),
    ]
    why: Annotated[str, Meta(description="The cause of rejection, in the scheduler's words; empty if the pods fit.")]
    n_fit: Annotated[
        int | None, Meta(description="The number of pods that fit without any change; null if that was not tried.")
    ]
    preempts: Annotated[bool, Meta(description="True if preemption finds a node for the first pod.")]
    message: Annotated[str, Meta(description="The text of the FailedScheduling event of the first pod.")]


class UnblockingData(AppliedData, frozen=True):
    """A change that was made and tried in a simulation of the scheduling queue."""

    would_place: Annotated[
        tuple[str, ...],
        Meta(description="The pods that the change schedules, in addition to those of earlier changes."),
    ]


class Pending(ClusterAnswer, frozen=True, kw_only=True, tag="Pending"):
    """The pending pods, by cause."""

    summary: str
    groups: Annotated[tuple[GroupData, ...], Meta(description="The groups, largest first; those that fit are last.")]
    fit: Annotated[
        tuple[str, ...] | None,
        Meta(
            description="The pods that fit without any change, scheduled one after another; null if that was not tried."
        ),
    ]
    changes: Annotated[
        tuple[UnblockingData, ...],
        Meta(description="The changes, in the order in which they are made; each applies on top of the earlier ones."),
    ]
    together: Annotated[tuple[str, ...], Meta(description="The pods that all changes together schedule.")]

    @property
    def all_fit(self) -> bool:
        """True if all pods fit without any change, as far as that was tried."""
        return all(group.result == "scheduled" and group.n_fit in (None, len(group.pods)) for group in self.groups)

    @property
    def yes(self) -> bool:
        """True if all pods fit without any change."""
        return self.all_fit

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the pending pods, one line per pod: ``pod/NAMESPACE/NAME``."""
        return tuple(f"pod/{pod}" for group in self.groups for pod in group.pods)
