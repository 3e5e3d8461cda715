"""One step of the real scheduler, against what we say of every pod that it placed or turned away in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kschedctl.face import SchedulingCluster
from kschedctl.scheduler.decision import Decision
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
        found += _unlike(cluster.explain(now[first].key), was[first], now[first], victims, going)
    for uid in placed:
        decision = states[-1].explain(now[uid].key)
        found += _unlike(decision, was.get(uid, NEW), now[uid], victims, going)
        states.append(states[-1].with_bound(decision, now[uid].node))
    for uid in now.keys() - {*placed, first}:
        had, has = was.get(uid, NEW), now[uid]
        if has.node or has.is_terminating:
            continue
        if all_were_tried or (had.message, had.nominated) != (has.message, has.nominated):
            tries = [_unlike(state.explain(has.key), had, has, victims, going) for state in states]
            found += [] if [] in tries else tries[0]
    return [f"({named}'s turn) {text}" for text in found]


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
