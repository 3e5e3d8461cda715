"""The diagnosis of a decision: all rules are asked, the most important cause comes first."""

from __future__ import annotations

from kschedctl.diagnosis.diagnosis import Diagnosis
from kschedctl.diagnosis.rules import (
    LAST,
    OF_BOUND,
    OF_OTHER_SCHEDULERS,
    RULES,
    RULES_OF_FAILED,
    RULES_OF_GATED,
    RULES_OF_PLACED,
    DiagnosisRule,
)
from kschedctl.diagnosis.situation import Situation
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.outcome import Outcome


def diagnose(decision: Decision, node: str = "") -> tuple[Diagnosis, ...]:
    """Return the causes for which a pod is not scheduled, the most important first.

    For a pod that is scheduled, these are the reasons why it does not start all the same; usually there are none.
    An error for which no rule has a cause is its own cause.

    Parameters
    ----------
    decision : Decision
        The decision for the pod.
    node : str
        The node that the pod is bound to in the snapshot; empty if it is pending.
    """
    situation = Situation(decision, node)
    if decision.other_scheduler:
        return tuple(OF_OTHER_SCHEDULERS.check(situation))
    rules: list[DiagnosisRule] = []
    if decision.schedulable or node:
        rules += RULES_OF_PLACED
    if decision.outcome is Outcome.GATED:
        rules += RULES_OF_GATED
    if decision.outcome is Outcome.ERROR:
        rules += RULES_OF_FAILED
    if decision.outcome is Outcome.UNSCHEDULABLE:
        rules += RULES
    found = tuple(found for rule in rules for found in rule.check(situation))
    if not found and decision.outcome is Outcome.UNSCHEDULABLE:
        found = tuple(LAST.check(situation))
    return (*found, *OF_BOUND.check(situation)) if node else found
