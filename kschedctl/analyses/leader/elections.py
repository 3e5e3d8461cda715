"""The analysis behind ``leader``: the elections of a cluster, and the problems of each."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, floor
from typing import Final

from kschedctl.analyses.provenance import Provenance, envelope, provenance
from kschedctl.answers.leader import Election, LeaderOverview, ProblemData
from kschedctl.answers.preempt_words import duration
from kschedctl.api.coordination import Lease
from kschedctl.api.wording import counted
from kschedctl.cluster.cluster import Cluster
from kschedctl.completeness.missing import Missing, require_listed
from kschedctl.findings.finding import Finding, ObjectRef, Severity
from kschedctl.framework.config.types import LeaderElection
from kschedctl.leaderelection.checks import check_config, check_elections, settings_of
from kschedctl.leaderelection.overview import Elections, elections
from kschedctl.loaded_cluster import LoadedCluster

_LEASE: Final = "Lease"


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
    found = elections(cluster.cluster, settings_of(config))
    findings = [*check_elections(cluster.cluster, found)]
    if check_configuration:
        findings += check_config(config, found)
    missing: tuple[Missing, ...] = ()
    if next(iter(cluster.cluster.list(Lease)), None) is None:
        lack = "the snapshot has no Leases"
        about, effect = ObjectRef(_LEASE), "the leader is unknown (kubectl get leases -A -o yaml prints the Leases)"
        missing = (Missing(lack, object=about, rule="Missing", severity=Severity.WARNING, effect=effect),)
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
    if not own.holder:
        return f"{own.ref.name}: no leader, the last holder released the lease; a waiting replica acquires it at once."
    who = own.node or own.pod or own.holder
    if own.renewed_ago is None:
        return f"{own.ref.name}: {who} holds the lease; the time of its renewal is unknown."
    renewed = f"renewed {duration(max(round(own.renewed_ago), 0))} before the snapshot"
    if own.expired:
        return f"{own.ref.name}: no leader, {who} last {renewed}."
    assert own.earliest is not None
    assert own.latest is not None
    within = f"another leads within {ceil(own.latest)} s (at the earliest after {floor(own.earliest)} s)"
    return f"{own.ref.name}: {who} leads, {renewed}. If it dies now, {within}."


def _problem(finding: Finding) -> ProblemData:
    return ProblemData(
        severity=finding.severity.value,
        rule=finding.rule,
        object=str(finding.object or finding.place),
        field=finding.field,
        problem=finding.problem,
        hint=finding.hint,
    )
