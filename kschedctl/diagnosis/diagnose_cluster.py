"""The diagnosis of a cluster: all rules are asked, in the order of their importance."""

from __future__ import annotations

from importlib import import_module

from kschedctl.diagnosis.cluster_diagnosis import ClusterDiagnosis, ClusterSituation
from kschedctl.diagnosis.cluster_rules import RULES
from kschedctl.scheduler.cycle.scheduler import Scheduler


def diagnose_cluster(scheduler: Scheduler) -> tuple[ClusterDiagnosis, ...]:
    """Return the problems of workloads, nodes and components, those of the most important rule first.

    Parameters
    ----------
    scheduler : Scheduler
        The scheduler over the cluster.
    """
    situation = ClusterSituation(scheduler)
    found: dict[tuple[str, str], ClusterDiagnosis] = {}
    for module in RULES:
        for each in import_module(f"kschedctl.diagnosis.cluster_rules.{module}").check(situation):
            # A workload that lacks pods for two reasons is reported with the first.
            found.setdefault((each.subject, each.state if not each.missing else ""), each)
    return tuple(found.values())
