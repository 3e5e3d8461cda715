"""The diagnosis of a decision: all rules are asked, the most important cause comes first."""

from __future__ import annotations

from kschedctl.diagnosis.diagnosis import Diagnosis
from kschedctl.diagnosis.rules import LAST, RULES, RULES_OF_PLACED, other_scheduler
from kschedctl.diagnosis.situation import Situation
from kschedctl.scheduler.decision import Decision


def diagnose(decision: Decision) -> tuple[Diagnosis, ...]:
    """Return the causes for which a pod is not scheduled, the most important first.

    For a pod that is scheduled, these are the reasons why it does not start all the same; usually there are none.
    """
    situation = Situation(decision)
    if decision.other_scheduler:
        return tuple(other_scheduler.check(situation))
    if decision.schedulable:
        return tuple(found for rule in RULES_OF_PLACED for found in rule(situation))
    found = tuple(found for rule in RULES for found in rule(situation))
    return found or tuple(LAST(situation))
