"""The pods that wait, as data: what ``pending -o json`` prints and what its text is made of.

The form is part of the public interface. ``schema/pending.json`` describes it and is made from these types.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from kschedctl.answers.base import ClusterAnswer, Data
from kschedctl.answers.tried import AppliedData


class GroupData(Data, frozen=True):
    """Pods of one workload that wait for the same."""

    kind: Annotated[str, Meta(description="The kind of what made them; Pod for one by itself.")]
    namespace: str
    name: str
    pods: Annotated[tuple[str, ...], Meta(description="As namespace/name, the oldest first.")]
    since: Annotated[datetime | None, Meta(description="Since when the oldest of them is there.")]
    waiting_seconds: Annotated[
        int | None, Meta(description="How long that was, when the snapshot was taken, as far as its files tell.")
    ]
    result: Annotated[
        str, Meta(description="As in explain; notOurs where no profile of the configuration is responsible.")
    ]
    why: Annotated[str, Meta(description="What turns them away, in the scheduler's words; empty where they fit.")]
    n_fit: Annotated[int | None, Meta(description="How many find room as things are; null where that was not tried.")]
    preempts: Annotated[bool, Meta(description="Whether preemption finds a node for the first of them.")]
    message: Annotated[str, Meta(description="The text of the FailedScheduling event of the first of them.")]


class UnblockingData(AppliedData, frozen=True):
    """A change that was made and tried in a simulation of the queue."""

    would_place: Annotated[tuple[str, ...], Meta(description="The pods that get a node by it, on top of those before.")]


class Pending(ClusterAnswer, frozen=True, kw_only=True, tag="Pending"):
    """The pods that wait."""

    summary: str
    groups: Annotated[tuple[GroupData, ...], Meta(description="The largest first, those that fit last.")]
    fit: Annotated[
        tuple[str, ...] | None,
        Meta(description="The pods that get a node as things are, one after another; null where that was not tried."),
    ]
    changes: Annotated[
        tuple[UnblockingData, ...],
        Meta(description="The one that places most first; each comes on top of those before."),
    ]
    together: Annotated[tuple[str, ...], Meta(description="The pods that all of the changes together place.")]

    @property
    def all_fit(self) -> bool:
        """Whether all find a node as things are, as far as that was tried."""
        return all(group.result == "scheduled" and group.n_fit in (None, len(group.pods)) for group in self.groups)

    @property
    def yes(self) -> bool:
        """True if every pending pod could be placed as things are."""
        return self.all_fit

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """The pods that wait, a line each: ``pod/NAMESPACE/NAME``."""
        return tuple(f"pod/{pod}" for group in self.groups for pod in group.pods)
