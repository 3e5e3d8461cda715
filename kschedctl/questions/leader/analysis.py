"""The analysis behind ``leader``: the elections of a cluster, and the problems of each."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil, floor, inf, isfinite
from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import InputError
from kschedctl.common.findings import Finding, ObjectRef, Severity, shortened
from kschedctl.common.wording import counted, duration, listed, time_span
from kschedctl.diagnosis.evidence.containers import state_words, stopped_containers
from kschedctl.diagnosis.node_health import health_problem, is_unhealthy
from kschedctl.leaderelection.bounds import Bounds, Conditions, bounds, settings_for, with_exclusive_deadline
from kschedctl.leaderelection.election import Election, ElectionState
from kschedctl.leaderelection.network import Fault, LeaderTerm, Scenario, Timeline
from kschedctl.leaderelection.overview import Elections, check_config, check_elections, elections, host_of, settings_of
from kschedctl.leaderelection.settings import ElectionSettings
from kschedctl.leaderelection.simulation import simulate
from kschedctl.objects.coordination import Lease
from kschedctl.questions.answer_parts import CureData
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
    troubled = _troubled(found, own)
    summary = _leader_summary(own, f"{config.resource_namespace}/{config.resource_name}", found, cluster)
    if troubled is not None and troubled is not own:
        summary = f"{_state_words(troubled, cluster, troubled.name)} {summary}"
    return LeaderOverview(
        **envelope(cluster, rests_on),
        summary=summary,
        elections=found.elections,
        problems=tuple(map(_problem, findings)),
        heartbeats=found.n_heartbeats,
        retry_period=config.retry_period.nanoseconds / 1e9,
        suggestions=tuple(_suggestions(troubled, cluster)) if troubled is not None else (),
    )


#: The states of elections whose leader does not renew, the worst first.
_NOT_RENEWED: Final = (ElectionState.OVERDUE, ElectionState.EXPIRED, ElectionState.LATE)


def _troubled(found: Elections, own: Election | None) -> Election | None:
    """Return the election that has no leader, or a late one, although a candidate runs; that of the scheduler first.

    A Lease that a removed component left behind has no candidate and is in nobody's way.
    """
    every = [own, *found.elections] if own is not None else found.elections
    troubled = (
        one
        for one in every
        if (one.gone or one.state in _NOT_RENEWED or (one.state is ElectionState.RELEASED and one.earliest is None))
        and (one.waiting or one.unready or one.pod or one is own)
    )
    return min(troubled, key=lambda one: (one is not own, one.state is ElectionState.LATE), default=None)


def _leader_summary(own: Election | None, name: str, found: Elections, cluster: Cluster) -> str:
    if own is None:
        others = f"; there are {counted(len(found.elections), 'other election')}" if found.elections else ""
        return f"The leader of the schedulers is unknown: there is no Lease {name}{others}."
    return _state_words(own, cluster, own.ref.name)


def _holder_words(one: Election) -> str:
    """Return the holder of a lease in its shortest form; of one that is gone the name in its identity.

    Static pods are named after their node, which is enough.
    """
    if one.gone:
        return shortened(host_of(one.holder), _MOST_HOLDER)
    if one.pod and not one.pod.endswith(f"-{one.node}"):
        return one.pod.rpartition("/")[2]
    return one.node or shortened(one.holder, _MOST_HOLDER)


def _expiry(one: Election, taken: datetime | None) -> str:
    """Return the time at which another candidate can acquire a lease at the earliest; empty if it can at once."""
    if taken is None or not one.earliest:
        return ""
    return f"{taken + timedelta(seconds=ceil(one.earliest)):%H:%M:%S} UTC"


def _others(one: Election) -> str:
    """Return the other candidates in words; a pod that was created again has the name of the holder."""
    if one.pod in one.waiting:
        return f"the new {one.pod.rpartition('/')[2]}"
    return listed([pod.rpartition("/")[2] for pod in one.waiting], "or", most=3) or "a waiting candidate"


def _pod_state(cluster: Cluster, key: str) -> str:
    """Return the state of a pod that cannot lead as a predicate, such as ``is pending``."""
    namespace, _, name = key.partition("/")
    record = cluster.pods.records[cluster.pods.index[namespace, name]]
    if not record.node_name:
        return "is pending"
    node = cluster.nodes.objects[row] if (row := cluster.nodes.row.get(record.node_name)) is not None else None
    if node is not None and is_unhealthy(node):
        return f"is on {node.name}, which is {health_problem(node)}"
    state = next(map(state_words, stopped_containers(record.status)), "")
    return f"is not ready{f' ({state})' if state else ''}"


def _candidates_words(one: Election, cluster: Cluster) -> str:
    """Return the state of the pods that could lead as a clause."""
    if one.waiting:
        verb = "runs and has" if len(one.waiting) == 1 or one.pod in one.waiting else "run and have"
        names = _others(one).replace(" or ", " and ")
        return f"{names} {verb} not acquired it since"
    if one.unready:
        who = "the pod" if one.unready[0] == one.pod and not one.gone else one.unready[0].rpartition("/")[2]
        return f"{who} {_pod_state(cluster, one.unready[0])}"
    return "no replica has acquired the lease since"


def _gone_words(one: Election, cluster: Cluster, name: str) -> str:
    """Return the state of an election whose holder does not run any more."""
    taken = cluster.taken_at
    lease, renewed = time_span(one.lease_duration_seconds), time_span(one.renewed_ago or 0)
    former = "the former " if one.pod in one.waiting else ""
    start = f"{name}: no leader, {former}{_holder_words(one)} is gone and did not release the lease"
    start += f" (of {lease}, last renewed {renewed} before the snapshot)"
    if one.state is ElectionState.OVERDUE or not one.waiting:
        return f"{start}; {_candidates_words(one, cluster)}."
    at = _expiry(one, taken)
    when = f"at {at}, {duration(ceil(one.earliest or 0))} after the snapshot," if at else "now,"
    return f"{start}; {_others(one)} can take over {when} at its next retry."


def _suggestions(one: Election, cluster: Cluster) -> Iterator[CureData]:
    """Yield the steps for an election without a leader that renews; never to delete the lease by hand."""
    late = one.gone or one.state in (ElectionState.OVERDUE, ElectionState.RELEASED)
    at, who = _expiry(one, cluster.taken_at), one.waiting[0] if late and one.waiting else one.pod
    namespace, _, pod = who.rpartition("/")
    if one.unready and not one.waiting:
        where, _, unready = one.unready[0].rpartition("/")
        state = _pod_state(cluster, one.unready[0])
        if state == "is pending":
            yield CureData(
                f"get {unready} scheduled",
                "",
                (f"kschedctl explain {one.unready[0]}",),
                f"kschedctl explain {one.unready[0]} says what keeps it pending",
            )
        else:
            yield CureData(
                f"get {unready} to run: it {state}",
                "",
                (f"kubectl logs {unready} -n {where} --previous", f"kubectl describe pod {unready} -n {where}"),
                "it leads again when its program runs",
            )
        return
    if one.earliest is not None and one.state is not ElectionState.RELEASED:
        unless = "" if one.gone else f"unless {_holder_words(one)} renews until then, "
        then = f"{unless}{_others(one)} takes over at the next retry after that; nothing has to be changed"
        yield CureData(f"wait until {at}" if at else "wait for the next retry", then, ())
    if one.earliest is None or not one.gone:
        yield CureData(
            f"look whether {pod or _holder_words(one)} reaches the API server and takes part in the election",
            "",
            (f"kubectl logs {pod} -n {namespace}",) if namespace else (),
            "only its log shows why it does not renew the lease",
        )
    if one.gone and one.ref.namespace != "kube-system":
        yield CureData(
            "set LeaderElectionReleaseOnCancel in the program, so that a pod that stops releases the lease",
            "",
            (f"# in the program of {pod}; a lease shorter than {time_span(one.lease_duration_seconds)} helps as well",),
            "it takes effect when the program is built and started again",
        )


def _state_words(own: Election, cluster: Cluster, name: str) -> str:
    """Return the state of an election as a sentence."""
    if own.gone:
        return _gone_words(own, cluster, name)
    who = _holder_words(own)
    renewed = f"last renewed {time_span(own.renewed_ago or 0)} before the snapshot"
    within = ""
    if own.earliest is not None and own.latest is not None:
        first, last = time_span(floor(own.earliest)), time_span(ceil(own.latest))
        leads, none = (
            ("another leads", "") if own.waiting else ("a waiting candidate leads", "; the snapshot shows none")
        )
        within = f"{leads} within {last} (at the earliest after {first}){none}"
    match own.state:
        case ElectionState.RELEASED:
            ending = "a waiting replica acquires it at once" if within else "no replica waits for it"
            if not within and (own.waiting or own.unready):
                ending = _candidates_words(own, cluster)
            return f"{name}: no leader, the last holder released the lease; {ending}."
        case ElectionState.NEVER_HELD:
            return f"{name}: no leader, nobody has acquired the lease yet."
        case ElectionState.EXPIRED:
            return f"{name}: no leader, {who} {renewed}. If a replica waits, {within}."
        case ElectionState.OVERDUE:
            return f"{name}: no leader, {who} {renewed}, and {_candidates_words(own, cluster)}."
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
