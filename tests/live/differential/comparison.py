"""Comparison of one step of the real scheduler with kschedctl's decisions about the pods it placed or rejected."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from msgspec.structs import replace

from kschedctl.cluster.placed_pods import without_nomination
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.trials.loaded_cluster import LoadedCluster
from tests.live.differential.scenery import Object
from tests.live.differential.stage import condition, is_gated


@dataclass(frozen=True, slots=True)
class Outcome:
    """The scheduler's outcome for a pod.

    Attributes
    ----------
    key : str
        ``namespace/name``.
    version : int
        The resource version. It grows with every change of any object, so it gives the order of bindings.
    node, nominated, message : str
        The pod's node, its nominated node, and the reason why it is pending; empty if not applicable.
    is_terminating : bool
        True if the pod is being deleted.
    """

    key: str
    version: int
    node: str
    nominated: str
    message: str
    is_terminating: bool

    @property
    def said(self) -> tuple[str, str]:
        """The message and nominated node that a failed attempt leaves."""
        return self.message, self.nominated

    @classmethod
    def of(cls, pod: Object) -> "Outcome":
        """Return the outcome in a pod's spec and status."""
        meta, node = pod["metadata"], pod["spec"].get("nodeName", "")
        return cls(
            f"{meta['namespace']}/{meta['name']}",
            int(meta["resourceVersion"]),
            node,
            "" if node else pod["status"].get("nominatedNodeName", ""),
            "" if node else condition(pod).get("message", ""),
            "deletionTimestamp" in meta,
        )


#: The maximum number of pods per step whose nominations may have been cleared; all subsets of them are tried.
_MOST_NOMINATIONS: Final = 3
NEW: Final = Outcome("", 0, "", "", "", False)


def differences(
    before: Iterable[Object],
    after: Iterable[Object],
    cluster: LoadedCluster,
    first: str = "",
    *,
    all_were_tried: bool = False,
) -> list[str]:
    """Return the scheduler's outcomes in a step that differ from kschedctl's decisions, in words.

    Parameters
    ----------
    before, after : iterable of object
        All pods before the step and after it.
    cluster : LoadedCluster
        The cluster state at the start of the step.
    first : str
        The uid of the pod whose turn it was: it was tried first, and its outcome moved the others to activeQ.
    all_were_tried : bool
        True if every pending pod was tried again, also pods whose outcome is unchanged.
    """
    was = {pod["metadata"]["uid"]: Outcome.of(pod) for pod in before}
    now = {pod["metadata"]["uid"]: Outcome.of(pod) for pod in after if not is_gated(pod)}
    # A pod that was terminating before the step is not a victim of this step.
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
    # A pod that was tried without success may have lost its nomination in between, even if it has one at the end.
    lost = [now[uid].key for uid in tried if was.get(uid, NEW).nominated][:_MOST_NOMINATIONS]

    def judge(uid: str, among: Iterable[LoadedCluster]) -> list[str]:
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


def _without_nominations(cluster: LoadedCluster, pods: list[str]) -> Iterator[LoadedCluster]:
    """Yield the cluster without the nominations of each subset of these pods, smallest subsets first."""
    for number in range(len(pods) + 1):
        for gone in combinations(pods, number):
            found = [without_nomination(cluster.pods.pod(cluster.pods.index[_names(key)])) for key in gone]
            changed = cluster.cluster.with_pods(added=found) if found else cluster.cluster
            yield LoadedCluster(replace(cluster.snapshot, cluster=changed), cluster.release_choice)


def _names(key: str) -> tuple[str, str]:
    namespace, _, name = key.partition("/")
    return namespace, name


def _unlike(decision: Decision, had: Outcome, has: Outcome, victims: set[str], going: set[str]) -> list[str]:
    """Return the difference between the outcome of an attempt and kschedctl's decision, or nothing."""
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
