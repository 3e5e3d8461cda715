"""The loop of a rollout: the workload's controller and the scheduler take turns, until neither has anything to do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.meta import ApiObject, OwnerReference
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.cycle_state import NotModelled
from kschedctl.scheduler.framework.status import Code
from kschedctl.scheduler.volumes.attach_once import AttachedElsewhere
from kschedctl.trials.simulate.attempt import Attempt
from kschedctl.trials.simulate.group_losses import GroupLoss
from kschedctl.trials.simulate.revisions import Revisions
from kschedctl.trials.simulate.rollout_steps import RolloutStep, RolloutWaiting, Side
from kschedctl.trials.simulate.simulation import Simulation


class RollingController(Protocol):
    """The controller of a workload that gets a new revision."""

    @property
    def finished(self) -> bool:
        """True if nothing is left to do."""

    def act(self) -> bool:
        """Take the controller's next action; return false if there is nothing to do."""


@dataclass(slots=True, kw_only=True)
class Rollout:
    """The outcome of a rollout.

    Attributes
    ----------
    workload : ApiObject
        The workload with its new template.
    strategy : str
        The update strategy in words.
    replicas : int
        The wanted number of pods.
    promised : int
        The number of pods that the strategy keeps available, provided that all are available at first.
    finished : bool
        True if all pods are replaced that are to be replaced.
    held : str
        The reason why the rollout does not progress by itself; empty if it does.
    stopped : bool
        True if the rollout does not begin because it is paused, or because of the strategy OnDelete.
    old : int
        The number of pods of another revision at first.
    left : int
        The number of these pods that remain, terminating pods not counted.
    kept : int
        The number of pods that keep the old revision: those below the partition of a StatefulSet.
    new : dict of str to str
        The pods of the new revision, ``namespace/name``, and their nodes; an empty node for pending pods.
    waiting : list of RolloutWaiting
        The pods that are pending at the end.
    steps : list of RolloutStep
        The actions of the controller, in order.
    before, lowest, available : int
        The number of available pods at first, the smallest number at any time, and the number at the end.
    seconds : float
        The virtual time until the rollout finished or nothing more could happen.
    not_modelled : list of NotModelled
        The features that affect the rollout and are not modelled.
    attempts : list of Attempt
        The scheduling cycles.
    attaching : dict of str to AttachedElsewhere
        The new pods, ``namespace/name``, that wait for a volume that is attached to another node.
    unready : list of Pod
        The pods that have a node and are not available at the end.
    refused : str
        The message of a quota that refuses a new pod; empty if none does.
    after : Cluster or None
        The cluster at the end.
    losses : tuple of GroupLoss
        The pod groups that lose members.
    """

    workload: ApiObject
    strategy: str
    replicas: int
    promised: int
    finished: bool = False
    held: str = ""
    stopped: bool = False
    old: int = 0
    left: int = 0
    kept: int = 0
    new: dict[str, str] = field(default_factory=dict)
    waiting: list[RolloutWaiting] = field(default_factory=list)
    steps: list[RolloutStep] = field(default_factory=list)
    before: int = 0
    lowest: int = 0
    available: int = 0
    seconds: float = 0.0
    not_modelled: list[NotModelled] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    attaching: dict[str, AttachedElsewhere] = field(default_factory=dict)
    unready: list[Pod] = field(default_factory=list)
    refused: str = ""
    after: Cluster | None = None
    losses: tuple[GroupLoss, ...] = ()


def play(simulation: Simulation, revisions: Revisions, controller: RollingController) -> list[Attempt]:
    """Let controller and scheduler act until the rollout is finished or nothing more can happen.

    The scheduler tries all pods that it can before the controller acts. Time passes when neither has anything to do.

    Returns
    -------
    list of Attempt
        All scheduling cycles.
    """
    attempts: list[Attempt] = []
    while True:
        while simulation.can_try:
            attempts += simulation.step()
            revisions.observe()
        if controller.finished:
            return attempts
        if controller.act():
            continue
        if not simulation.pass_time():
            return attempts
        revisions.observe()


def waiting_pods(simulation: Simulation, revisions: Revisions, attempts: Sequence[Attempt]) -> list[RolloutWaiting]:
    """Return the workload's pending pods, grouped by the scheduler's last message; the largest group comes first."""
    said = {attempt.pod: attempt.message for attempt in attempts}
    groups: dict[str, dict[Side, list[str]]] = defaultdict(lambda: {Side.NEW: [], Side.OLD: []})
    for pod in revisions.active():
        if not pod.spec.node_name:
            message = said.get(pod.key) or _unasked(simulation, pod)
            groups[message][revisions.side(pod.name)].append(pod.key)
    found = [RolloutWaiting(text, tuple(own[Side.NEW]), tuple(own[Side.OLD])) for text, own in groups.items()]
    return sorted(found, key=lambda group: (-len(group.new) - len(group.old), group.message))


def _unasked(simulation: Simulation, pod: Pod) -> str:
    """Return the reason why the scheduler has not tried a pod; empty if there is none."""
    if not simulation.scheduler.knows(pod):
        return f"assigned to another scheduler: {pod.spec.scheduler_name}"
    gate = simulation.scheduler.framework(pod.spec.scheduler_name).run_pre_enqueue(pod)
    return gate.message if gate.code is not Code.SUCCESS else ""


def owned_by(owners: Iterable[tuple[str, str, str]]) -> Callable[[Pod], bool]:
    """Return a predicate that matches the pods of the given controllers.

    Parameters
    ----------
    owners : iterable of (str, str, str)
        The kind, namespace and name of each controller.
    """
    own = set(owners)

    def is_kept(pod: Pod) -> bool:
        owner: OwnerReference | None = pod.metadata.controller
        return owner is not None and (owner.kind, pod.namespace, owner.name) in own

    return is_kept


def settle(rollout: Rollout, simulation: Simulation, revisions: Revisions, attempts: Sequence[Attempt]) -> None:
    """Fill in the outcome of a rollout."""
    rollout.left = len(revisions.active(Side.OLD))
    rollout.new = {pod.key: pod.spec.node_name for pod in revisions.active(Side.NEW)}
    rollout.waiting = waiting_pods(simulation, revisions, attempts)
    rollout.steps = revisions.steps
    rollout.lowest = revisions.lowest
    rollout.available = len(revisions.available())
    rollout.attempts = list(attempts)
    rollout.attaching = {f"{revisions.namespace}/{name}": each for name, each in revisions.attaching.items()}
    rollout.unready = [pod for pod in revisions.active() if pod.spec.node_name and not revisions.is_available(pod)]
    rollout.refused = revisions.refused
    rollout.after = simulation.cluster
    own: Mapping[str, None] = dict.fromkeys(pod.key for pod in revisions.pods())
    rollout.not_modelled = list(dict.fromkeys(note for a in attempts if a.pod in own for note in a.search.not_modelled))
