"""The steps of a rollout and the pods that hold it up; answers contain both unchanged."""

from __future__ import annotations

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

    number: Annotated[int, Meta(description="From 1.")]
    time: datetime
    seconds: Annotated[float, Meta(description="How long after the first one, by the virtual clock.")]
    revision: Annotated[Side, Meta(description="Which revision gets more or fewer pods.")]
    before: Annotated[int, Meta(description="How many pods of it there are, those that are going not counted.")]
    after: int
    pods: Annotated[tuple[str, ...], Meta(description="Those that come or go, as namespace/name.")]
    available: Annotated[int, Meta(description="How many pods of the workload are available right after it.")]

    def __str__(self) -> str:
        return f"{self.revision} {self.before} -> {self.after}"


class RolloutWaiting(msgspec.Struct, frozen=True):
    """Pods of the workload that are pending for the same reason."""

    message: Annotated[str, Meta(description="What kube-scheduler said last, or what holds them back at a gate.")]
    new: Annotated[tuple[str, ...], Meta(description="Those of the new revision, as namespace/name.")]
    old: tuple[str, ...]
