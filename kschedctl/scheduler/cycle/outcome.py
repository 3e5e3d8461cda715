"""The outcomes of a scheduling cycle: for a pod, and for a pod group."""

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


class GroupOutcome(StrEnum):
    """The outcome of an attempt at a group."""

    SCHEDULED = "scheduled"
    PREEMPTING = "preempting"
    UNSCHEDULABLE = "unschedulable"
    ERROR = "error"
