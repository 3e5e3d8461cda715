"""Checks of a cluster's leader elections, and of a scheduler configuration against them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import PodRecord
from kschedctl.common.findings import Finding, ObjectRef, Severity, shortened
from kschedctl.common.wording import counted, listed
from kschedctl.leaderelection.overview import Elections, host_of, retry_period
from kschedctl.leaderelection.settings import ElectionSettings
from kschedctl.objects.pod import Pod
from kschedctl.questions.answers.leader import Election, ElectionState
from kschedctl.questions.answers.preempt_words import time_span
from kschedctl.scheduler.framework.config.types import LeaderElection

#: Identities are shortened to 80 characters.
_MOST_HOLDER: Final = 80
_SCHEDULER: Final = "scheduler"
_CONTROL_PLANE: Final = "kube-system"
_COMPONENT: Final = "component"
_HASH: Final = "pod-template-hash"


def settings_of(election: LeaderElection) -> ElectionSettings:
    """Return the election settings of a KubeSchedulerConfiguration; kube-scheduler releases the lease on exit."""
    return ElectionSettings(
        lease_duration=election.lease_duration.nanoseconds / 1e9,
        renew_deadline=election.renew_deadline.nanoseconds / 1e9,
        retry_period=election.retry_period.nanoseconds / 1e9,
    )


def check_elections(
    cluster: Cluster,
    found: Elections,
    settings: ElectionSettings = ElectionSettings(),  # noqa: B008 (frozen)
) -> Iterator[Finding]:
    """Yield the findings about the elections of a cluster.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    found : Elections
        The elections of the cluster.
    settings : ElectionSettings
        The settings of the candidates, as for ``elections``.
    """
    for election in found.elections:
        yield from _state(election, settings)
        if cluster.not_listed.isdisjoint(("Node", "Pod")):
            yield from _holder(election)
        if election.ref.kind != "Lease":
            yield from _old_lock(election, found)
    yield from _without_lease(cluster, found)


def check_config(config: LeaderElection, found: Elections) -> Iterator[Finding]:
    """Yield the findings about a scheduler configuration that does not match the election that it names.

    Errors that kube-scheduler reports when it reads a configuration are reported when the configuration is loaded.
    """
    name = f"{config.resource_namespace}/{config.resource_name}"
    election = found.find(config.resource_namespace, config.resource_name)
    if not config.leader_elect:
        problem = "is false: this scheduler schedules pods even if another one leads"
        if election is not None and election.led:
            yield _of_config("leaderElect", f"{problem}, and {_who(election)} leads {name}", Severity.ERROR)
        else:
            yield _of_config("leaderElect", problem)
        return
    # kube-scheduler accepts the file, and exits with this error when it starts the election.
    refused = next(settings_of(config).problems(), None)
    if refused is not None:
        yield _of_config("", f"kube-scheduler exits with: {refused.problem}", Severity.ERROR)
    if election is None:
        others = [one.name for one in found.elections if one.ref.name == config.resource_name]
        hint = f"other Leases of this name: {listed(others)}" if others else ""
        yield _of_config(
            "resourceName", f"the cluster has no Lease {name}: no scheduler runs with these names", hint=hint
        )
        return
    wanted = settings_of(config).lease_duration_seconds
    if election.holder and election.lease_duration_seconds != wanted:
        problem = f"is {wanted} s in whole seconds, but the leader of {name} has {election.lease_duration_seconds} s"
        yield _of_config("leaseDuration", f"{problem}: it runs with another configuration")


def _of_config(field: str, problem: str, severity: Severity = Severity.WARNING, hint: str = "") -> Finding:
    path = f"leaderElection.{field}" if field else "leaderElection"
    return Finding(problem, path, hint, "--config", rule="LeaderElection", severity=severity)


def _about(election: Election, problem: str, severity: Severity, hint: str = "", rule: str = "Lease") -> Finding:
    return Finding(problem, "", hint, object=election.ref, rule=rule, severity=severity)


def _state(election: Election, settings: ElectionSettings) -> Iterator[Finding]:
    age, holder = election.renewed_ago or 0.0, _who(election)
    match election.state:
        case ElectionState.RELEASED:
            # Outside the control plane this is normal: components that run occasionally release their lease on exit.
            severity = Severity.ERROR if election.ref.namespace == _CONTROL_PLANE else Severity.INFO
            yield _about(election, "no leader: the last holder released the lease", severity)
        case ElectionState.NEVER_HELD:
            yield _about(election, "no leader: nobody has acquired the lease yet", Severity.INFO)
        case ElectionState.EXPIRED | ElectionState.OVERDUE:
            ended = time_span(age - election.lease_duration_seconds)
            problem = f"no leader: the lease of {holder} ended {ended} before the snapshot"
            overdue = election.state is ElectionState.OVERDUE
            hint = "no candidate is running: one would have acquired the lease by now" if overdue else ""
            yield _about(election, problem, Severity.ERROR, hint)
        case ElectionState.LATE:
            period = retry_period(settings, election.lease_duration_seconds)
            problem = f"{holder} is late or dead: last renewed {time_span(age)} before the snapshot"
            hint = f"leaders renew about every {period:g} s: check that it runs and reaches the API server"
            yield _about(election, problem, Severity.WARNING, hint)
        case ElectionState.CLOCK_AHEAD:
            problem = f"renewed {time_span(-age)} after the snapshot was taken: a clock is wrong"
            hint = "candidates measure the lease by their own clocks; only the ages shown here are unknown"
            yield _about(election, problem, Severity.WARNING, hint)


def _who(election: Election) -> str:
    return shortened(election.holder, _MOST_HOLDER)


def _holder(election: Election) -> Iterator[Finding]:
    if election.holder and not election.pod and not election.node:
        problem = f"the holder {_who(election)} is not a pod or node of the snapshot"
        yield _about(election, problem, Severity.WARNING, "it was deleted, or runs elsewhere", rule="Holder")


def _old_lock(election: Election, found: Elections) -> Iterator[Finding]:
    kind = election.ref.kind
    problem = f"the record is an annotation of {kind}, which current candidates neither read nor write"
    lease = found.find(election.ref.namespace, election.ref.name)
    if lease is None or not lease.led or not election.led:
        yield _about(election, problem, Severity.WARNING, "its candidates should use a Lease", rule="OldLock")
    elif lease.holder != election.holder:
        problem = f"{problem}: {election.holder} leads here, and {lease.holder} leads by the Lease of the same name"
        yield _about(election, problem, Severity.ERROR, "stop the older candidates", rule="OldLock")


def _without_lease(cluster: Cluster, found: Elections) -> Iterator[Finding]:
    """Yield a finding per scheduler without a Lease of its name and without a pod that holds any Lease."""
    holders = {one.pod for one in found.elections} | {host_of(one.holder) for one in found.elections}
    groups: dict[tuple[str, str], list[Pod]] = {}
    for index, record in enumerate(cluster.pods.records):
        if _is_scheduler(record):
            pod = cluster.pods.pod(index)
            groups.setdefault((pod.namespace, _group(pod)), []).append(pod)
    for (namespace, name), pods in groups.items():
        if found.find(namespace, name) is not None or any({pod.key, pod.name} & holders for pod in pods):
            continue
        several = len(pods) > 1
        whose = f"{name} ({counted(len(pods), 'pod')}: {listed([pod.name for pod in pods])})"
        problem = f"no pod of {whose} holds a Lease" + (
            "; without an election all of them schedule pods" if several else ""
        )
        about = ObjectRef("Pod", pods[0].name, namespace)
        severity = Severity.WARNING if several else Severity.INFO
        yield Finding(problem, object=about, rule="NoElection", severity=severity)


def _is_scheduler(pod: PodRecord) -> bool:
    images = (
        container.image.partition("@")[0].rpartition("/")[2].partition(":")[0] for container in pod.spec.containers
    )
    return _SCHEDULER in pod.metadata.labels.get(_COMPONENT, "") or any(_SCHEDULER in image for image in images)


def _group(pod: Pod) -> str:
    """Return the name of a pod's group: its ``component`` label or the workload that created the pod."""
    owner = pod.metadata.controller
    if owner is None or owner.kind == "Node":
        return pod.metadata.labels.get(_COMPONENT, pod.name)
    return (
        owner.name.removesuffix(f"-{pod.metadata.labels.get(_HASH, '')}") if owner.kind == "ReplicaSet" else owner.name
    )
