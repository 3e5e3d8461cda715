"""The cause for which a pod group is not scheduled, in one clause."""

from __future__ import annotations

from kschedctl.questions.analyses.pod_groups.answer import pod_group_data
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.outcome import Outcome
from kschedctl.scheduler.cycle.pod_group_decision import PodGroupDecision, group_of


def cause_in_group(decision: Decision, cause: str) -> str:
    """Return the cause for a pod; for a member of a group after the number of members that find a node.

    Parameters
    ----------
    decision : Decision
        The decision for the pod.
    cause : str
        The cause for the pod, or for the first member that finds no node; may be empty.
    """
    group = group_of(decision)
    if group is None or decision.outcome is not Outcome.UNSCHEDULABLE:
        return cause
    return f"{count_words(group)}; {cause}" if cause else count_words(group)


def count_words(group: PodGroupDecision) -> str:
    """Return the number of members that find a node, the placement in which they do, and the number that is needed."""
    return pod_group_data(group).count
