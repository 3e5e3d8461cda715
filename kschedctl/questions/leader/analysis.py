"""The analysis behind ``leader``: the elections of a cluster, and the problems of each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, isfinite
from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import InputError
from kschedctl.common.findings import Finding, ObjectRef, Severity, shortened
from kschedctl.common.wording import counted, time_span
from kschedctl.leaderelection.bounds import Bounds, Conditions, bounds, settings_for, with_exclusive_deadline
from kschedctl.leaderelection.election import Election, ElectionState
from kschedctl.leaderelection.network import Fault, LeaderTerm, Scenario, Timeline
from kschedctl.leaderelection.overview import Elections, check_config, check_elections, elections, settings_of
from kschedctl.leaderelection.settings import ElectionSettings
from kschedctl.leaderelection.simulation import simulate
from kschedctl.objects.coordination import Lease
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.leader.answer import (
    BoundsData,
    EventData,
    LeaderOverview,
    LeaderSimulation,
    ProblemData,
    TermData,
    TimesData,
)
from kschedctl.questions.provenance import Provenance, envelope, provenance
from kschedctl.scheduler.framework.config.types import LeaderElection
from kschedctl.trials.completeness import Missing, Part, not_listed, require_listed
from kschedctl.trials.loaded_cluster import LoadedCluster

_LEASE: Final = "Lease"
#: Identities are shortened to 60 characters.
_MOST_HOLDER: Final = 60


def leader(cluster: LoadedCluster, *, check_configuration: bool = False) -> LeaderOverview:
    """Report the leader of every election of a cluster, and the time at which another would take over.

    Args:
        check_configuration: True to check the configuration of the scheduler's own election against the Leases.

    Raises ClusterError if the Leases could not be listed.
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

    Args:
        config: The configuration of the scheduler's own election.
    """
    own = found.find(config.resource_namespace, config.resource_name)
    return LeaderOverview(
        **envelope(cluster, rests_on),
        summary=_leader_summary(own, f"{config.resource_namespace}/{config.resource_name}", found),
        elections=found.elections,
        problems=tuple(map(_problem, findings)),
        heartbeats=found.n_heartbeats,
        retry_period=config.retry_period.nanoseconds / 1e9,
    )


def _leader_summary(own: Election | None, name: str, found: Elections) -> str:
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


# The analysis behind ``leader simulate``: an election with faults, and a search for two leaders at once.

#: The shortest simulation, in seconds.
_SHORTEST: Final = 120.0
#: The time that is simulated after the last fault, in lease durations.
_AFTER: Final = 3
#: The number of elections that are searched: 40 if the times exclude two leaders at once, else 400.
#: The maximum number of attempts to acquire or renew a lease in all simulated elections: about two minutes.
MAX_ATTEMPTS: Final = 5_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationRequest:
    """An election to simulate."""

    #: The candidates' times.
    settings: ElectionSettings
    #: The candidates, the faults and the clocks.
    scenario: Scenario
    #: The longest time without a leader after a crash, in seconds; times that guarantee it are suggested.
    fail_over: float | None = None


def long_enough(settings: ElectionSettings, faults: Sequence[Fault]) -> float:
    """Return the time in seconds after which all effects of faults are over.

    This is 3 lease durations after the last fault begins or ends, and at least 120 seconds.
    """
    ends = [end for fault in faults for end in (fault.at, getattr(fault, "until", inf)) if isfinite(end)]
    return max([_SHORTEST, *(end + _AFTER * settings.lease_duration for end in ends)])


def simulate_election(request: SimulationRequest, handle: AnalysisHandle | None = None) -> LeaderSimulation:
    """Simulate an election, and compute the guarantees of its times.

    Raises InputError if this takes more than 5,000,000 attempts of candidates to acquire or renew the lease.
    """
    handle = handle or AnalysisHandle()
    settings, played = request.settings, request.scenario
    settings.check()
    conditions = Conditions(drift=played.clock_drift, request=played.longest_request)
    promised = bounds(settings, conditions)
    n_attempts = played.candidates * played.duration / settings.retry_period
    if n_attempts > MAX_ATTEMPTS:
        raise InputError(
            f"{counted(played.candidates, 'candidate')} for {played.duration:,.0f} s make {n_attempts:,.0f} attempts; "
            f"at most {MAX_ATTEMPTS:,} are simulated",
            hint="use a shorter time until the last fault or --duration, fewer --candidates, or "
            "a longer --retry-period",
        )
    with handle.busy("simulating the election"):
        timeline = simulate(settings, played)
    if request.fail_over is not None:
        suggested: ElectionSettings | None = settings_for(request.fail_over, conditions, settings)
    else:
        suggested = None if promised.exclusive else with_exclusive_deadline(settings, conditions)
    return simulation_answer(request, timeline, promised, suggested)


def simulation_answer(
    request: SimulationRequest, timeline: Timeline, promised: Bounds, suggested: ElectionSettings | None
) -> LeaderSimulation:
    """Return the answer.

    Args:
        suggested: Times with which two never lead at once.
    """
    settings, scenario = request.settings, request.scenario
    overlaps = tuple((_term(first), _term(second)) for first, second in timeline.overlaps())
    numbers = (
        f"a leader that cannot renew leads for up to {promised.leads_on:.1f} s after its last renewal, "
        f"and no other replica does for {promised.holds:.1f} s"
    )
    summary = (
        f"Never two leaders at once: {numbers}."
        if promised.exclusive
        else f"Two leaders at once are possible, for up to {promised.overlap:.1f} s: {numbers}."
    )
    return LeaderSimulation(
        summary=summary,
        times=_times(settings),
        bounds=BoundsData(
            earliest=_rounded(promised.earliest),
            latest=_rounded(promised.latest),
            released=_rounded(promised.released),
            leads_on=_rounded(promised.leads_on),
            holds=_rounded(promised.holds),
            exclusive=promised.exclusive,
        ),
        candidates=scenario.candidates,
        duration=scenario.duration,
        clock_skew=scenario.clock_skew,
        clock_drift=scenario.clock_drift,
        seed=scenario.seed,
        events=tuple(EventData(_rounded(one.at), one.who, one.what.value, one.detail) for one in timeline.events),
        terms=tuple(map(_term, timeline.terms())),
        gaps=tuple((_rounded(start), _rounded(end)) for start, end in timeline.gaps()),
        overlaps=overlaps,
        suggested=None if suggested is None else _times(suggested),
        suggested_for="" if suggested is None else "exclusive" if request.fail_over is None else "failOver",
    )


def _times(settings: ElectionSettings) -> TimesData:
    return TimesData(
        settings.lease_duration, settings.renew_deadline, settings.retry_period, settings.release_on_cancel
    )


def _term(term: LeaderTerm) -> TermData:
    return TermData(term.who, _rounded(term.start), _rounded(term.end))


def _rounded(seconds: float) -> float:
    """Return seconds rounded to 6 decimals, which removes floating-point noise."""
    return round(seconds, 6)
