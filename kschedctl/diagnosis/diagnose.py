"""The diagnosis of a decision: all rules are asked, the most important cause comes first."""

from __future__ import annotations

from importlib import import_module

from kschedctl.diagnosis.cluster_rules import RULES as DiagnoseClusterRULES
from kschedctl.diagnosis.diagnosis import ClusterDiagnosis, ClusterSituation, Diagnosis, Situation
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
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.outcome import Outcome
from kschedctl.scheduler.cycle.scheduler import Scheduler


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


# The diagnosis of a cluster: all rules are asked, in the order of their importance.


def diagnose_cluster(scheduler: Scheduler) -> tuple[ClusterDiagnosis, ...]:
    """Return the problems of workloads, nodes and components, those of the most important rule first.

    Parameters
    ----------
    scheduler : Scheduler
        The scheduler over the cluster.
    """
    situation = ClusterSituation(scheduler)
    found: dict[tuple[str, str], ClusterDiagnosis] = {}
    for module in DiagnoseClusterRULES:
        for each in import_module(f"kschedctl.diagnosis.cluster_rules.{module}").check(situation):
            # A workload that lacks pods for two reasons is reported with the first.
            found.setdefault((each.subject, each.state if not each.missing else ""), each)
    return tuple(found.values())
