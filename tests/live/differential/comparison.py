"""One step of the real scheduler, against what we say of every pod that it placed or turned away in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

from kschedctl.face import SchedulingCluster
from kschedctl.scheduler.decision import Decision
from kschedctl.simulate.pods import without_nomination
from tests.live.differential.scenery import Object
from tests.live.differential.stage import condition, is_gated


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the scheduler came to for a pod.

    Attributes
    ----------
    key : str
        ``namespace/name``.
    version : int
        Grows with every change of any object, so that it tells which of two pods was bound first.
    node, nominated, message : str
        Where it is, where it shall be, why it is nowhere; empty where that does not apply.
    is_terminating : bool
        Whether it was asked to go.
    """

    key: str
    version: int
    node: str
    nominated: str
    message: str
    is_terminating: bool

    @property
    def said(self) -> tuple[str, str]:
        """What an attempt in vain leaves behind."""
        return self.message, self.nominated

    @classmethod
    def of(cls, pod: Object) -> Outcome:
        """Read it off a pod."""
        meta, node = pod["metadata"], pod["spec"].get("nodeName", "")
        return cls(
            f"{meta['namespace']}/{meta['name']}",
            int(meta["resourceVersion"]),
            node,
            "" if node else pod["status"].get("nominatedNodeName", ""),
            "" if node else condition(pod).get("message", ""),
            "deletionTimestamp" in meta,
        )


#: Of so many pods of a step it is tried out what they would leave to others without their nomination.
_MOST_NOMINATIONS: Final = 3
NEW: Final = Outcome("", 0, "", "", "", False)


def differences(
    before: Iterable[Object],
    after: Iterable[Object],
    cluster: SchedulingCluster,
    first: str = "",
    *,
    all_were_tried: bool = False,
) -> list[str]:
    """What the scheduler did in a step that we would not.

    Parameters
    ----------
    before, after : iterable of object
        All pods before the step and after it.
    cluster : SchedulingCluster
        The cluster as the scheduler found it.
    first : str
        The uid of the pod whose turn it was: it was tried before all others. These were woken by what became of it.
    all_were_tried : bool
        Whether every pod that waits was tried again, also those of which the same is said as before.
    """
    was = {pod["metadata"]["uid"]: Outcome.of(pod) for pod in before}
    now = {pod["metadata"]["uid"]: Outcome.of(pod) for pod in after if not is_gated(pod)}
    # Whoever was going before is a victim that nothing more happens to.
    going = {each.key for each in was.values() if each.is_terminating}
    victims = {each.key for each in now.values() if each.is_terminating} - going
    placed = [uid for uid in now if now[uid].node and not was.get(uid, NEW).node]
    placed.sort(key=lambda uid: (uid != first, now[uid].version))
    states, found = [cluster], []
    named = now[first].key if first else "nobody"
    if first and first not in placed:
        found += _unlike(cluster.decide(now[first].key), was[first], now[first], victims, going)
    waiting = [uid for uid in now if uid != first and not now[uid].node and not now[uid].is_terminating]
    tried = [uid for uid in waiting if all_were_tried or now[uid].said != was.get(uid, NEW).said]
    # Whoever was tried in vain may have lost its nomination in between, also where it has one in the end.
    lost = [now[uid].key for uid in tried if was.get(uid, NEW).nominated][:_MOST_NOMINATIONS]

    def judge(uid: str, among: Iterable[SchedulingCluster]) -> list[str]:
        had, has = was.get(uid, NEW), now[uid]
        first_said: list[str] | None = None
        for state in among:
            said = _unlike(state.decide(has.key), had, has, victims, going)
            if not said:
                return []
            first_said = said if first_said is None else first_said
        return first_said or []

    for uid in placed:
        found += judge(uid, [cluster] if uid == first else _without_nominations(states[-1], lost))
        states.append(states[-1].with_bound(states[-1].decide(now[uid].key), now[uid].node))
    for uid in tried:
        found += judge(uid, (each for state in states for each in _without_nominations(state, lost)))
    return [f"({named}'s turn) {text}" for text in found]


def _without_nominations(cluster: SchedulingCluster, pods: list[str]) -> Iterator[SchedulingCluster]:
    """The cluster, and what it is once some of these pods are nominated to no node any more."""
    for number in range(len(pods) + 1):
        for gone in combinations(pods, number):
            found = [without_nomination(cluster.pods.pod(cluster.pods.index[_names(key)])) for key in gone]
            changed = cluster.cluster.with_pods(added=found) if found else cluster.cluster
            yield SchedulingCluster(replace(cluster.snapshot, cluster=changed), cluster.release_choice)


def _names(key: str) -> tuple[str, str]:
    namespace, _, name = key.partition("/")
    return namespace, name


def _unlike(decision: Decision, had: Outcome, has: Outcome, victims: set[str], going: set[str]) -> list[str]:
    """How the outcome of an attempt is not the one that we decide for."""
    if has.node:
        return [] if has.node in decision.best else [f"{has.key} is on {has.node}, ours: {decision!r}"]
    said = decision.message
    if has.message != said:
        return [f"{has.key}\n  says {has.message!r}\n  ours {said!r}"]
    nominated = decision.preemption.nominated if decision.preemption is not None else ()
    if nominated and (has.nominated not in nominated or set(decision.victims[has.nominated]) - going != victims):
        return [f"{has.key} is nominated to {has.nominated} for {victims}, ours: {dict(decision.victims)}"]
    if not nominated and has.nominated != had.nominated and has.nominated:
        return [f"{has.key} is nominated to {has.nominated}, ours: to no node"]
    return []
