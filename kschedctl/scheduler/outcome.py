"""The outcome of a scheduling cycle."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """The outcome of a scheduling cycle."""

    SCHEDULED = "scheduled"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    ERROR = "error"
    #: No profile has the pod's ``schedulerName``.
    OTHER_SCHEDULER = "notOurs"
