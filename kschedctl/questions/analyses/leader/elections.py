"""The analysis behind ``leader``: the elections of a cluster, and the problems of each."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, floor
from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.findings import Finding, ObjectRef, Severity, shortened
from kschedctl.common.wording import counted
from kschedctl.leaderelection.overview import Elections, check_config, check_elections, elections, settings_of
from kschedctl.objects.coordination import Lease
from kschedctl.questions.analyses.provenance import Provenance, envelope, provenance
from kschedctl.questions.answers.leader import Election, ElectionState, LeaderOverview, ProblemData
from kschedctl.questions.answers.preempt_words import time_span
from kschedctl.scheduler.framework.config.types import LeaderElection
from kschedctl.trials.completeness import Missing, Part, not_listed, require_listed
from kschedctl.trials.loaded_cluster import LoadedCluster

_LEASE: Final = "Lease"
#: Identities are shortened to 60 characters.
_MOST_HOLDER: Final = 60


def leader(cluster: LoadedCluster, *, check_configuration: bool = False) -> LeaderOverview:
    """Report the leader of every election of a cluster, and the time at which another would take over.

    Parameters
    ----------
    check_configuration : bool
        True to check the configuration of the scheduler's own election against the Leases.

    Raises
    ------
    ClusterError
        If the Leases could not be listed.
    """
    require_listed(cluster.cluster, _LEASE)
    config = cluster.configuration.settings.leader_election
    settings = settings_of(config)
    found = elections(cluster.cluster, settings)
    findings = [*check_elections(cluster.cluster, found, settings)]
    if check_configuration:
        findings += check_config(config, found)
    missing = [*not_listed(cluster.cluster, Part.ELECTION, Part.CANDIDATES)]
    if _LEASE not in cluster.cluster.listed and next(iter(cluster.cluster.list(Lease)), None) is None:
        lack = "the snapshot has no Leases"
        about, effect = ObjectRef(_LEASE), "the leader is unknown (kubectl get leases -A -o yaml prints the Leases)"
        missing.append(Missing(lack, object=about, rule="Missing", severity=Severity.WARNING, effect=effect))
    return overview_answer(cluster.cluster, found, findings, config, provenance(cluster, missing))


def overview_answer(
    cluster: Cluster, found: Elections, findings: Iterable[Finding], config: LeaderElection, rests_on: Provenance
) -> LeaderOverview:
    """Return the answer.

    Parameters
    ----------
    findings : iterable of Finding
        The problems of the elections.
    config : LeaderElection
        The configuration of the scheduler's own election.
    """
    own = found.find(config.resource_namespace, config.resource_name)
    return LeaderOverview(
        **envelope(cluster, rests_on),
        summary=_summary(own, f"{config.resource_namespace}/{config.resource_name}", found),
        elections=found.elections,
        problems=tuple(map(_problem, findings)),
        heartbeats=found.n_heartbeats,
        retry_period=config.retry_period.nanoseconds / 1e9,
    )


def _summary(own: Election | None, name: str, found: Elections) -> str:
    if own is None:
        others = f"; there are {counted(len(found.elections), 'other election')}" if found.elections else ""
        return f"The leader of the schedulers is unknown: there is no Lease {name}{others}."
    name, who = own.ref.name, own.node or own.pod or shortened(own.holder, _MOST_HOLDER)
    renewed = f"last renewed {time_span(own.renewed_ago or 0)} before the snapshot"
    within = ""
    if own.earliest is not None and own.latest is not None:
        first, last = time_span(floor(own.earliest)), time_span(ceil(own.latest))
        within = f"another leads within {last} (at the earliest after {first})"
    match own.state:
        case ElectionState.RELEASED:
            ending = "a waiting replica acquires it at once" if within else "no replica waits for it"
            return f"{name}: no leader, the last holder released the lease; {ending}."
        case ElectionState.NEVER_HELD:
            return f"{name}: no leader, nobody has acquired the lease yet."
        case ElectionState.EXPIRED:
            return f"{name}: no leader, {who} {renewed}. If a replica waits, {within}."
        case ElectionState.OVERDUE:
            return f"{name}: no leader, {who} {renewed}, and no replica has acquired the lease since."
        case ElectionState.LATE:
            return f"{name}: {who} holds the lease but is late or dead, {renewed}. If it is dead, {within}."
        case ElectionState.CLOCK_AHEAD:
            ahead = time_span(-(own.renewed_ago or 0))
            return f"{name}: {who} holds the lease; its renewal is dated {ahead} after the snapshot, a clock is wrong."
        case ElectionState.UNKNOWN:
            return f"{name}: {who} holds the lease; the time of its renewal is unknown."
    return f"{name}: {who} leads, {renewed.removeprefix('last ')}. If it dies now, {within}."


def _problem(finding: Finding) -> ProblemData:
    return ProblemData(
        severity=finding.severity.value,
        rule=finding.rule,
        object=str(finding.object or finding.place),
        field=finding.field,
        problem=finding.problem,
        hint=finding.hint,
    )
