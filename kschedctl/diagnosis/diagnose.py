"""The diagnosis of a decision: all rules are asked, the most important cause comes first."""

from __future__ import annotations

from kschedctl.diagnosis.diagnosis import Diagnosis
from kschedctl.diagnosis.rules import LAST, RULES, RULES_OF_PLACED
from kschedctl.diagnosis.situation import Situation
from kschedctl.scheduler.decision import Decision


def diagnose(decision: Decision, node: str = "") -> tuple[Diagnosis, ...]:
    """Return the causes for which a pod is not scheduled, the most important first.

    For a pod that is scheduled, these are the reasons why it does not start all the same; usually there are none.

    Parameters
    ----------
    decision : Decision
        The decision for the pod.
    node : str
        The node that the pod is bound to in the snapshot; empty if it is pending.
    """
    situation = Situation(decision, node)
    if decision.schedulable:
        return tuple(found for rule in RULES_OF_PLACED for found in rule(situation))
    found = tuple(found for rule in RULES for found in rule(situation))
    return found or tuple(LAST(situation))
