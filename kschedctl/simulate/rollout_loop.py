"""The loop of a rollout: a workload's controller and the scheduler take turns, until neither has anything to do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from kschedctl.api.meta import ApiObject, OwnerReference
from kschedctl.api.pod import Pod
from kschedctl.framework.cycle_state import NotModelled
from kschedctl.framework.status import Code
from kschedctl.simulate.attempt import Attempt
from kschedctl.simulate.revisions import Revisions
from kschedctl.simulate.rollout_steps import RolloutStep, RolloutWaiting, Side
from kschedctl.simulate.simulation import Simulation


class RollingController(Protocol):
    """The controller of a workload that gets a new revision."""

    @property
    def finished(self) -> bool:
        """Whether nothing is left to be done."""

    def act(self) -> bool:
        """Look at the pods once, and do the next thing; false where there is nothing to do."""


@dataclass(slots=True, kw_only=True)
class Rollout:
    """What became of a rollout.

    Attributes
    ----------
    workload : ApiObject
        The workload with its new template.
    strategy : str
        How it brings in a new revision, in words.
    replicas : int
        How many pods it is to have.
    promised : int
        How many its strategy keeps available, where all are at first.
    finished : bool
        Whether all pods are replaced that are to be.
    held : str
        Why nothing happens by itself, where that is so.
    old : int
        How many pods of another revision there were.
    left : int
        How many of them are still there, those on their way out not counted.
    kept : int
        How many of these are to stay: those below a partition.
    new : dict of str to str
        The pods of the new revision, ``namespace/name``, and their nodes; empty for those that wait.
    waiting : list of RolloutWaiting
        The pods that wait in the end.
    steps : list of RolloutStep
        What the controller did, in order.
    before, lowest : int
        How many pods were available at first, and at the worst time.
    seconds : float
        How long it took by the virtual clock, or until nothing moved any more.
    not_modelled : list of NotModelled
        What bears on it and is not modelled.
    """

    workload: ApiObject
    strategy: str
    replicas: int
    promised: int
    finished: bool = False
    held: str = ""
    old: int = 0
    left: int = 0
    kept: int = 0
    new: dict[str, str] = field(default_factory=dict)
    waiting: list[RolloutWaiting] = field(default_factory=list)
    steps: list[RolloutStep] = field(default_factory=list)
    before: int = 0
    lowest: int = 0
    seconds: float = 0.0
    not_modelled: list[NotModelled] = field(default_factory=list)


def play(simulation: Simulation, revisions: Revisions, controller: RollingController) -> list[Attempt]:
    """Let controller and scheduler act until the rollout is finished or nothing more can come of it.

    The scheduler tries whatever it can before the controller looks again, and time passes when neither has anything
    to do.

    Returns
    -------
    list of Attempt
        All scheduling cycles.
    """
    attempts: list[Attempt] = []
    while True:
        while simulation.queue.can_pop:
            attempt = simulation.step()
            if attempt is not None:
                attempts.append(attempt)
            revisions.observe()
        if controller.finished:
            return attempts
        if controller.act():
            continue
        if not simulation.pass_time():
            return attempts
        revisions.observe()


def waiting_pods(simulation: Simulation, revisions: Revisions, attempts: Sequence[Attempt]) -> list[RolloutWaiting]:
    """The pods of the workload without a node, by what the scheduler said last; the largest group first."""
    said = {attempt.pod: attempt.message for attempt in attempts}
    groups: dict[str, dict[Side, list[str]]] = defaultdict(lambda: {Side.NEW: [], Side.OLD: []})
    for pod in revisions.active():
        if not pod.spec.node_name:
            message = said.get(pod.key) or _unasked(simulation, pod)
            groups[message][revisions.side(pod.name)].append(pod.key)
    found = [RolloutWaiting(text, tuple(own[Side.NEW]), tuple(own[Side.OLD])) for text, own in groups.items()]
    return sorted(found, key=lambda group: (-len(group.new) - len(group.old), group.message))


def _unasked(simulation: Simulation, pod: Pod) -> str:
    """Why the scheduler has said nothing of a pod."""
    if not simulation.scheduler.knows(pod):
        return f"another scheduler is responsible: {pod.spec.scheduler_name}"
    gate = simulation.scheduler.framework(pod.spec.scheduler_name).run_pre_enqueue(pod)
    return gate.message if gate.code is not Code.SUCCESS else ""


def kept_by(owners: Iterable[tuple[str, str, str]]) -> Callable[[Pod], bool]:
    """Whether a pod is kept by one of some controllers.

    Parameters
    ----------
    owners : iterable of (str, str, str)
        Kind, namespace and name of each.
    """
    own = set(owners)

    def is_kept(pod: Pod) -> bool:
        owner: OwnerReference | None = pod.metadata.controller
        return owner is not None and (owner.kind, pod.namespace, owner.name) in own

    return is_kept


def settle(rollout: Rollout, simulation: Simulation, revisions: Revisions, attempts: Sequence[Attempt]) -> None:
    """Write down what became of a rollout."""
    rollout.left = len(revisions.active(Side.OLD))
    rollout.new = {pod.key: pod.spec.node_name for pod in revisions.active(Side.NEW)}
    rollout.waiting = waiting_pods(simulation, revisions, attempts)
    rollout.steps = revisions.steps
    rollout.lowest = revisions.lowest
    own: Mapping[str, None] = dict.fromkeys(pod.key for pod in revisions.pods())
    rollout.not_modelled = list(
        dict.fromkeys(note for a in attempts if a.pod in own for note in a.decision.not_modelled)
    )
