"""The diagnosis of a decision or a cluster: all rules are asked, the most important cause comes first."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from kschedctl.diagnosis.diagnosis import ClusterDiagnosis, ClusterSituation, Diagnosis, Situation
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.outcome import Outcome
from kschedctl.scheduler.cycle.scheduler import Scheduler

DiagnosisRule: TypeAlias = Callable[[Situation], Iterable[Diagnosis]]

# The rules are imported when they are first asked: most pods need few of them.


def rules_of_unscheduled() -> tuple[DiagnosisRule, ...]:
    """Return the rules for pods that fit nowhere; the first cause found is that of the first line."""
    from kschedctl.diagnosis.rules import (
        affinity,
        csi_drivers,
        device_requests,
        devices,
        gangs,
        held_devices,
        kubelet_features,
        labels,
        pod_claims,
        queue,
        requests,
        spread,
        storage_capacity,
        taints,
        volumes,
    )
    from kschedctl.diagnosis.rules import unbound_claims as claims

    return (
        queue.nominated_waits,
        gangs.gang_deadlock,
        labels.lost_label,
        labels.mistyped_label,
        pod_claims.missing_claim,
        claims.unbound_claim,
        volumes.volume_place,
        storage_capacity.unreported_storage,
        pod_claims.waiting_claim,
        pod_claims.claim_in_use,
        csi_drivers.csi_driver,
        csi_drivers.node_without_driver,
        taints.mistyped_toleration,
        devices.mistyped_resource,
        devices.no_device_plugin,
        held_devices.finished_holders,
        held_devices.incomplete_pools,
        kubelet_features.kubelet_features,
        spread.foreign_spread,
        spread.spread_counts_others,
        spread.blocked_domain,
        affinity.affinity_elsewhere,
        taints.unhealthy_nodes,
        taints.reserved_nodes,
        requests.oversized_request,
        spread.missing_topology,
        affinity.affinity_cycle,
        affinity.affinity_matches_no_pod,
        queue.rolling_update,
        affinity.anti_affinity,
        affinity.host_port_taken,
        gangs.gang_members,
        devices.devices_in_use,
        requests.daemon_set_node,
        devices.device_claims,
        device_requests.device_requests,
    )


def last_rule() -> DiagnosisRule:
    """Return the rule that always finds a cause; it is asked if no other finds one."""
    from kschedctl.diagnosis.rules.obstacles import obstacles

    return obstacles


def rules_of_gated() -> tuple[DiagnosisRule, ...]:
    """Return the rules for pods that a gate keeps out of the queue."""
    from kschedctl.diagnosis.rules import gangs, held

    return held.scheduling_gates, gangs.waiting_gang


def rules_of_placed() -> tuple[DiagnosisRule, ...]:
    """Return the rules for pods that are scheduled, or run."""
    from kschedctl.diagnosis.rules import csi_drivers, queue, volumes
    from kschedctl.diagnosis.rules import unbound_claims as claims

    return (
        claims.claim_without_scheduler,
        volumes.attached_elsewhere,
        csi_drivers.csi_driver_of_placed,
        claims.provisioning,
        queue.idle_scheduler,
    )


def rules_of_failed() -> tuple[DiagnosisRule, ...]:
    """Return the rules for pods for which kube-scheduler returns an error."""
    from kschedctl.diagnosis.rules import device_requests, devices

    return devices.unscored_claims, device_requests.device_selector_error


def diagnose(decision: Decision, node: str = "") -> tuple[Diagnosis, ...]:
    """Return the causes for which a pod is not scheduled, the most important first.

    For a pod that is scheduled, these are the reasons why it does not start all the same; usually there are none.
    An error for which no rule has a cause is its own cause.

    Args:
        node: The node that the pod is bound to in the snapshot; empty if it is pending.
    """
    situation = Situation(decision, node)
    if decision.other_scheduler:
        from kschedctl.diagnosis.rules.other_schedulers import other_scheduler

        return tuple(other_scheduler(situation))
    rules: list[DiagnosisRule] = []
    if decision.schedulable or node:
        rules += rules_of_placed()
    if decision.outcome is Outcome.GATED:
        rules += rules_of_gated()
    if decision.outcome is Outcome.ERROR:
        rules += rules_of_failed()
    if decision.outcome is Outcome.UNSCHEDULABLE:
        rules += rules_of_unscheduled()
    found = [found for rule in rules for found in rule(situation)]
    if not found and decision.outcome is Outcome.UNSCHEDULABLE:
        found += last_rule()(situation)
    if decision.preemption is not None and decision.preemption.nominated:
        from kschedctl.diagnosis.rules.other_schedulers import two_schedulers

        # Asked after the cause for which the pod fits nowhere: it says why preemption does not help.
        found += two_schedulers(situation)
    if not node and not decision.schedulable:
        from kschedctl.diagnosis.testimony import with_testimony

        found = with_testimony(situation, found)
    if node:
        from kschedctl.diagnosis.rules.unstarted import unstarted

        # Asked last: a bound pod can fit on no node as well.
        found += unstarted(situation)
    return tuple(found)


def cluster_rules() -> tuple[Callable[[ClusterSituation], Iterator[ClusterDiagnosis]], ...]:
    """Return the rules about a cluster, in the order of their importance."""
    from kschedctl.diagnosis.rules import cluster, held, unstarted
    from kschedctl.diagnosis.rules.refused_pods import refused_pods

    return (
        cluster.idle_control_plane,
        refused_pods,
        held.held_jobs,
        cluster.ordinal_waits,
        unstarted.unstarted_pods,
        unstarted.waiting_resizes,
        cluster.lost_nodes,
        cluster.stuck_deletions,
        cluster.sick_components,
    )


def diagnose_workload(scheduler: Scheduler, workload: tuple[str, str, str]) -> ClusterDiagnosis | None:
    """Return why a workload lacks pods: an API server refuses them, a queue or an earlier pod comes first; or ``None``.

    Args:
        workload: Its kind, namespace and name.
    """
    from kschedctl.diagnosis.rules.cluster import ordinal_waits
    from kschedctl.diagnosis.rules.held import held_jobs
    from kschedctl.diagnosis.rules.refused_pods import refused_pods

    situation = ClusterSituation(scheduler, workload)
    found = (each for rule in (refused_pods, held_jobs, ordinal_waits) for each in rule(situation))
    return next((each for each in found if (each.kind, each.namespace, each.name) == workload), None)


def diagnose_cluster(scheduler: Scheduler) -> tuple[ClusterDiagnosis, ...]:
    """Return the problems of workloads, nodes and components, those of the most important rule first."""
    situation = ClusterSituation(scheduler)
    found: dict[tuple[str, str], ClusterDiagnosis] = {}
    for rule in cluster_rules():
        for each in rule(situation):
            # A workload that lacks pods for two reasons is reported with the first.
            found.setdefault((each.subject, each.state if not each.missing else ""), each)
    return tuple(found.values())
