"""The diagnosis of a decision: all rules are asked, the most important cause comes first."""

from __future__ import annotations

from kschedctl.diagnosis.diagnosis import Diagnosis
from kschedctl.diagnosis.rules import LAST, RULES, RULES_OF_PLACED
from kschedctl.diagnosis.situation import Situation
from kschedctl.scheduler.decision import Decision
from kschedctl.scheduler.outcome import Outcome


def diagnose(decision: Decision) -> tuple[Diagnosis, ...]:
    """Return the causes for which a pod is not scheduled, the most important first.

    For a pod that is scheduled, these are the reasons why it does not start all the same; usually there are none.
    Nothing is returned for a pod that a gate keeps out of the queue, and for an error: both are their own cause.
    """
    situation = Situation(decision)
    match decision.outcome:
        case Outcome.SCHEDULED:
            return tuple(found for rule in RULES_OF_PLACED for found in rule(situation))
        case Outcome.UNSCHEDULABLE:
            found = tuple(found for rule in RULES for found in rule(situation))
            return found or tuple(LAST(situation))
    return ()
