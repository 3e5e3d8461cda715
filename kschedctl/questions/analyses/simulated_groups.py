"""The outcome of a simulation by pod group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kschedctl.cluster.pod_groups import group_members, groups_with_members
from kschedctl.cluster.records import PENDING
from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.pod_group import PodGroup
from kschedctl.questions.analyses.pending_causes import PendingCauses
from kschedctl.questions.analyses.pod_groups.causes import count_words
from kschedctl.questions.answers.simulate import GroupResult, SimulatedGroupAttemptData, SimulatedGroupData
from kschedctl.scheduler.cycle.outcome import GroupOutcome, Outcome
from kschedctl.scheduler.framework.status import Code
from kschedctl.trials.simulate.attempts import Attempt, GroupAttempt
from kschedctl.trials.simulate.simulation import Simulation


def simulated_groups(
    simulation: Simulation, attempts: Sequence[Attempt], causes: PendingCauses
) -> tuple[SimulatedGroupData, ...]:
    """Return the outcome for the groups that were tried or have pending pods; empty if groups are not scheduled."""
    if simulation.scheduler.release.pod_groups is None:
        return ()
    tried: dict[str, dict[int, GroupAttempt]] = {}
    for attempt in attempts:
        if attempt.group is not None:
            tried.setdefault(attempt.group.key, {})[id(attempt.group)] = attempt.group
    found = (
        _outcome(simulation, namespace, name, list(tried.get(f"{namespace}/{name}", {}).values()), causes)
        for namespace, name in sorted(groups_with_members(simulation.cluster))
    )
    return tuple(each for each in found if each.attempts or each.waiting)


def _outcome(
    simulation: Simulation, namespace: str, name: str, tried: Sequence[GroupAttempt], causes: PendingCauses
) -> SimulatedGroupData:
    cluster = simulation.cluster
    pods = cluster.pods
    members = group_members(cluster, namespace, name)
    pending = [pods.pod(index) for index in members[pods.node_row[members] == PENDING].tolist()]
    waiting = [pod for pod in pending if simulation.scheduler.knows(pod)]
    group = cluster.get(PodGroup, name, namespace)
    message = cause = count = ""
    gated = False
    decision = tried[-1].decision if tried else None
    if waiting and decision is not None:
        told = decision.of_member(decision.members[0].pod)
        failed = next((causes.decision(pod.key) for pod in waiting if pod.key in causes.last), told)
        message = decision.status.message if decision.status.code is not Code.SUCCESS else (failed or told).message
        if decision.outcome is GroupOutcome.ERROR:
            cause = message
        else:
            count, cause = count_words(decision), causes.of_any(pod.key for pod in waiting)
    elif waiting:
        alone = simulation.scheduler.decide_as_scheduled(waiting[0])
        gated = alone.outcome is Outcome.GATED
        message = alone.pre_enqueue.message if gated else ""
        cause = next((each.cause for each in diagnose(alone)), "") if gated else ""
    n_placed = len(members) - len(pending)
    least = group.spec.min_count if group is not None else None
    return SimulatedGroupData(
        namespace=namespace,
        name=name,
        min_count=least,
        pods=len(members),
        placed=n_placed,
        result=_result(n_placed, len(waiting), least or 1, gated=gated),
        attempts=len(tried),
        message=message,
        cause=cause,
        count=count,
        waiting=tuple(pod.key for pod in waiting),
    )


def _result(n_placed: int, n_waiting: int, least: int, *, gated: bool) -> GroupResult:
    if not n_waiting:
        return GroupResult.PLACED
    if n_placed >= least:
        return GroupResult.PART
    return GroupResult.GATED if gated else GroupResult.WAITING


def group_attempts(attempts: Iterable[Attempt]) -> Iterator[SimulatedGroupAttemptData]:
    """Yield the attempts at groups, each once."""
    last: GroupAttempt | None = None
    for attempt in attempts:
        group = attempt.group
        if group is None or group is last or group.decision is None:
            continue
        last, decision = group, group.decision
        fits = decision.status.code is Code.SUCCESS
        yield SimulatedGroupAttemptData(
            time=attempt.time,
            group=group.key,
            outcome=group.outcome,
            members=tuple(member.pod.key for member in decision.members),
            fitting=decision.n_fitting,
            placement=decision.chosen.name if fits and decision.chosen is not None else "",
            message="" if fits else decision.status.message,
            victims=group.victims,
        )


def gangs_in_words(groups: Iterable[SimulatedGroupData]) -> str:
    """Return the number of gangs by result, such as ``gangs: 3 placed whole, 1 waits``; empty without any.

    A group that does not exist counts as a gang that waits.
    """
    gangs = [group for group in groups if group.min_count is not None or group.result is GroupResult.GATED]
    whole = sum(group.result is GroupResult.PLACED for group in gangs)
    part = sum(group.result is GroupResult.PART for group in gangs)
    wait = len(gangs) - whole - part
    parts = [f"{whole} placed whole"] if whole else []
    parts += [f"{part} placed in part"] if part else []
    parts += [f"{wait} {'waits' if wait == 1 else 'wait'}"] if wait else []
    return f"gangs: {', '.join(parts)}" if parts else ""
