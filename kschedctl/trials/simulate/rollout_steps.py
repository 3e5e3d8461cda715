"""The steps of a rollout, as answers show them."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta


class Side(StrEnum):
    """The revision of a pod: old or new."""

    OLD = "old"
    NEW = "new"


class RolloutStep(msgspec.Struct, frozen=True):
    """An action of the workload's controller."""

    number: Annotated[int, Meta(description="The number of the step, from 1.")]
    time: Annotated[datetime, Meta(description="The time of the step on the virtual clock.")]
    seconds: Annotated[float, Meta(description="The virtual seconds since the first step.")]
    revision: Annotated[Side, Meta(description="The revision whose number of pods changes.")]
    before: Annotated[int, Meta(description="The number of its pods before the step, except pods being deleted.")]
    after: Annotated[int, Meta(description="The number of its pods after the step.")]
    pods: Annotated[tuple[str, ...], Meta(description="The pods that are created or deleted, as namespace/name.")]
    available: Annotated[int, Meta(description="The number of the workload's available pods right after the step.")]

    def __str__(self) -> str:
        return f"{self.revision} {self.before} -> {self.after}"


class RolloutWaiting(msgspec.Struct, frozen=True):
    """Pods of the workload that are pending for the same reason."""

    message: Annotated[str, Meta(description="The last message of kube-scheduler, or of the scheduling gate.")]
    new: Annotated[tuple[str, ...], Meta(description="The pods of the new revision, as namespace/name.")]
    old: Annotated[tuple[str, ...], Meta(description="The pods of the old revision, as namespace/name.")]
