"""From elections to the answer of ``leader``."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, floor

from kschedctl.api.wording import counted
from kschedctl.cluster.cluster import Cluster
from kschedctl.findings.finding import Finding
from kschedctl.framework.config.types import LeaderElection
from kschedctl.leaderelection.overview import Candidate, Election, Elections
from kschedctl.report.envelope import Provenance, envelope
from kschedctl.report.leader.data import CandidateData, ElectionData, LeaderOverview, ProblemData
from kschedctl.report.preempt.words import duration


def overview_answer(
    cluster: Cluster,
    found: Elections,
    findings: Iterable[Finding],
    config: LeaderElection,
    provenance: Provenance,
) -> LeaderOverview:
    """Put elections into data.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    found : Elections
        Its elections.
    findings : iterable of Finding
        What is wrong with them.
    config : LeaderElection
        How the scheduler takes part.
    provenance : Provenance
        What the answer rests on.
    """
    own = found.find(config.resource_namespace, config.resource_name)
    return LeaderOverview(
        **envelope(cluster, provenance),
        summary=_summary(own, f"{config.resource_namespace}/{config.resource_name}", found),
        elections=tuple(map(_election, found.elections)),
        problems=tuple(map(_problem, findings)),
        heartbeats=found.n_heartbeats,
        retry_period=config.retry_period.nanoseconds / 1e9,
    )


def _summary(own: Election | None, name: str, found: Elections) -> str:
    if own is None:
        others = f"; there are {counted(len(found.elections), 'other election')}" if found.elections else ""
        return f"Who leads the schedulers is not known: there is no Lease {name}{others}."
    if not own.holder:
        return f"{own.ref.name}: nobody leads, the last holder gave the lease up; whoever waits leads at once."
    who = own.node or own.pod or own.holder
    if own.renewed_ago is None:
        return f"{own.ref.name}: {who} holds the lease; when it was renewed is not known."
    renewed = f"renewed {duration(max(round(own.renewed_ago), 0))} before the snapshot"
    if own.expired:
        return f"{own.ref.name}: nobody leads, {who} last {renewed}."
    assert own.earliest is not None
    assert own.latest is not None
    within = f"another leads within {ceil(own.latest)} s (at the earliest after {floor(own.earliest)} s)"
    return f"{own.ref.name}: {who} leads, {renewed}. If it dies now, {within}."


def _election(election: Election) -> ElectionData:
    return ElectionData(
        name=election.name,
        kind=election.ref.kind,
        holder=election.holder,
        pod=election.pod,
        node=election.node,
        lease_duration_seconds=election.lease_duration,
        acquired_ago=election.acquired_ago,
        renewed_ago=election.renewed_ago,
        transitions=election.transitions,
        expired=election.expired,
        earliest=_rounded(election.earliest),
        latest=_rounded(election.latest),
        strategy=election.strategy,
        preferred_holder=election.preferred_holder,
        candidates=tuple(map(_candidate, election.candidates)),
    )


def _rounded(seconds: float | None) -> float | None:
    """Without what computing in floating point adds."""
    return None if seconds is None else round(seconds, 6)


def _candidate(candidate: Candidate) -> CandidateData:
    return CandidateData(
        candidate.name,
        candidate.binary_version,
        candidate.emulation_version,
        candidate.strategy,
        candidate.renewed_ago,
        candidate.preferred,
    )


def _problem(finding: Finding) -> ProblemData:
    return ProblemData(
        severity=finding.severity.value,
        rule=finding.rule,
        object=str(finding.object or finding.place),
        field=finding.field,
        problem=finding.problem,
        hint=finding.hint,
    )
