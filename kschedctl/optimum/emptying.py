"""Which nodes could be emptied: the most that a placement of the running pods leaves without any, and a drain of them.

The solver says which nodes, and how many there can be at the most. Whether they can be drained is another matter: the
scheduler puts what is evicted where it likes, and budgets are asked every time. So nodes are drained in a simulation,
all of them cordoned before, nodes that shall stay empty as well, and one at which that ends is given up. The greedy
way, the node with the fewest pods first for as long as it goes, is tried as well: what is shown is never less.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec.structs import replace

from kschedctl.api.pod import Pod
from kschedctl.cluster.cluster import Cluster
from kschedctl.optimum.best import Best, Standing, best
from kschedctl.optimum.goals import Goal, Placement
from kschedctl.optimum.model import Model
from kschedctl.optimum.multi_step import run_to_end
from kschedctl.optimum.question import Question, pose
from kschedctl.scheduler.scheduler import Scheduler
from kschedctl.simulate.choice import Choose, first_by_name
from kschedctl.simulate.drain import DrainedNode, DrainOptions, drain
from kschedctl.simulate.simulation import Simulation
from kschedctl.simulate.world import is_made_again
from kschedctl.workloads.replacement import NODE_BOUND

if TYPE_CHECKING:
    from kschedctl.optimum.model import Linear

#: How the nodes are drained: pods of DaemonSets stay, and what emptyDirs hold is lost.
OPTIONS: Final = DrainOptions(ignore_daemon_sets=True, delete_empty_dir_data=True)


@dataclass(frozen=True, slots=True)
class InUse:
    """How many nodes have pods in the end that do not belong to the node."""

    #: The nodes that have any now, and those of which all could leave.
    used: frozenset[int]
    movable: frozenset[int]
    name: str = "nodes in use"
    maximize: bool = False

    def expression(self, model: Model) -> Linear:
        """For the solver: every node that may be emptied is, or takes part as it is."""
        total: Linear = len(self.used - self.movable)
        leaving: dict[int, list[int]] = {}
        for o, occupants in enumerate(model.question.occupants):
            leaving.setdefault(occupants.row, []).append(o)
        rows = sorted(self.movable | {site.row for site in model.sites} - self.used)
        for row in rows:
            stays = model.cp.new_bool_var("")
            total = total + stays
            for o in leaving.get(row, ()):
                variable, n = model.leaving[o], len(model.question.occupants[o].pods)
                assert variable is not None
                model.cp.add(variable == n * (1 - stays))
            s = model.site_of_row.get(row)
            for _, x in model.at_site(s) if s is not None else ():
                model.cp.add(x == 0).only_enforce_if(~stays)
        for row, numbers in leaving.items():
            if row not in self.movable:
                for o in numbers:
                    variable = model.leaving[o]
                    if variable is not None:
                        model.cp.add(variable == 0)
        for k in range(len(model.question.kinds)):
            gone = [
                variable
                for occupants, variable in zip(model.question.occupants, model.leaving, strict=True)
                if occupants.kind == k and variable is not None
            ]
            # Whoever leaves finds another place.
            model.cp.add(sum(model.of_kind(k)) == sum(gone))
        return total

    def value(self, question: Question, placement: Placement) -> int:
        """Of a placement."""
        return len((self.used - self.emptied(question, placement)) | self._taken(placement))

    def emptied(self, question: Question, placement: Placement) -> frozenset[int]:
        """The nodes that nobody is left on."""
        left = {question.occupants[o].row for o, n in placement.leaving.items() if n}
        return frozenset(left & self.movable) - self._taken(placement)

    def _taken(self, placement: Placement) -> frozenset[int]:
        return frozenset(row for (_, row), n in placement.placed.items() if n)


@dataclass(frozen=True, slots=True)
class MovedPods:
    """How many pods move."""

    name: str = "pods that move"
    maximize: bool = False

    def expression(self, model: Model) -> Linear:
        """For the solver."""
        return sum(variable for variable in model.leaving if variable is not None)

    def value(self, question: Question, placement: Placement) -> int:
        """Of a placement."""
        return sum(placement.leaving.values())


@dataclass(frozen=True, slots=True)
class Emptying:
    """Which nodes could be emptied.

    Attributes
    ----------
    n_used : int
        How many nodes have pods that do not belong to the node.
    n_used_after : int
        How many have any once the nodes are drained; nodes that nobody was on may be among them.
    nodes : tuple of DrainedNode
        Those that are drained, in order, as a simulation has shown.
    closed : tuple of str
        Nodes that nobody is on and that are cordoned before as well, so that they stay empty.
    placed : dict of str to str
        Where what was evicted is then, ``namespace/name`` of the new pods.
    given_up : tuple of str
        Nodes that the solver would empty, and no drain in the simulation did.
    fixed : tuple of str
        Nodes that cannot be emptied, as pods are on them that nobody makes again.
    standing : Standing
        How many nodes a placement leaves in use, and how few it must.
    """

    n_used: int
    n_used_after: int
    nodes: tuple[DrainedNode, ...]
    closed: tuple[str, ...]
    placed: dict[str, str]
    given_up: tuple[str, ...]
    fixed: tuple[str, ...]
    standing: Standing
    best: Best = field(repr=False)


def empty_nodes(scheduler: Scheduler, *, seconds: float, choose: Choose = first_by_name) -> Emptying:
    """Find the most nodes that can be drained, one after another.

    Parameters
    ----------
    scheduler : Scheduler
        Over the cluster; pods that wait are tried first, as they are in ``drain``.
    seconds : float
        How long the solver may take.
    choose : callable
        Settles chance in the simulation.
    """
    settled = _settled(scheduler, choose)
    cluster = settled.cluster
    question = pose(settled.scheduler, _may_move, waiting=False)
    used, fixed = _in_use(cluster)
    goal = InUse(frozenset(used), frozenset(used - fixed))
    goals: list[Goal] = [goal, MovedPods()]
    found = best(question, seconds=seconds, goals=goals, for_preemptors=False)
    names = cluster.nodes.names
    wanted = [names[row] for row in _lightest_first(cluster, goal.emptied(question, found.placement))]
    taken = {row for (_, row), n in found.placement.placed.items() if n}
    every = set(range(len(names)))
    drains = _Drains(scheduler, choose, time.monotonic() + seconds)
    lightest = [names[row] for row in _lightest_first(cluster, goal.movable)]
    tried = [
        drains.together(wanted, [names[row] for row in sorted(every - used - taken)]),
        drains.one_by_one(lightest, [names[row] for row in sorted(every - used)]),
        drains.one_by_one(lightest, []),
    ]
    drained = max(tried, key=lambda each: (-len(_in_use(each.simulation.cluster)[0]), -len(each.nodes)))
    nodes, simulation, before = drained.nodes, drained.simulation, len(used)
    done = {node.node for node in nodes}
    began = len(settled.timeline)
    came = {entry.pod for entry in simulation.timeline[began:] if entry.node}
    pods = simulation.cluster.pods
    placed = {}
    for key in sorted(came):
        namespace, _, name = key.partition("/")
        index = pods.index.get((namespace, name))
        if index is not None and pods.records[index].node_name:
            placed[key] = pods.records[index].node_name
    return Emptying(
        n_used=before,
        n_used_after=len(_in_use(simulation.cluster)[0]),
        nodes=tuple(nodes),
        closed=drained.closed,
        placed=placed,
        given_up=tuple(name for name in wanted if name not in done),
        fixed=tuple(names[row] for row in sorted(fixed)),
        standing=found.standings[0],
        best=found,
    )


def _settled(scheduler: Scheduler, choose: Choose) -> Simulation:
    simulation = Simulation(scheduler, choose=choose)
    simulation.enqueue_pending()
    run_to_end(simulation)
    return simulation


def _may_move(cluster: Cluster, index: int) -> bool:
    pod = cluster.pods.pod(index)
    owner = pod.metadata.controller
    return (
        pod.metadata.deletion_timestamp is None
        and is_made_again(pod)
        and owner is not None
        and owner.kind not in NODE_BOUND
    )


def _in_use(cluster: Cluster) -> tuple[set[int], set[int]]:
    """The nodes with pods that do not belong to the node, and those of them with a pod that cannot move."""
    used: set[int] = set()
    fixed: set[int] = set()
    rows = cluster.pods.node_row
    for index in np.flatnonzero(rows >= 0).tolist():
        owner = cluster.pods.owner(index)
        if owner is not None and owner.kind in NODE_BOUND:
            continue
        used.add(int(rows[index]))
        if not _may_move(cluster, index):
            fixed.add(int(rows[index]))
    return used, fixed


def _lightest_first(cluster: Cluster, rows: frozenset[int]) -> list[int]:
    """Nodes in the order in which they are drained: those with few pods first."""
    return sorted(rows, key=lambda row: (len(cluster.pods.on_node(row)), cluster.nodes.names[row]))


@dataclass(frozen=True, slots=True)
class _Drained:
    """Nodes that were drained.

    Attributes
    ----------
    bad : str
        The node at which it ended; empty where all were.
    closed : tuple of str
        Nodes that nobody was on and that were cordoned before.
    """

    nodes: list[DrainedNode]
    simulation: Simulation
    closed: tuple[str, ...] = ()
    bad: str = ""


@dataclass(frozen=True, slots=True)
class _Drains:
    """Drains of one cluster, each in a simulation of its own."""

    scheduler: Scheduler
    choose: Choose
    deadline: float

    def together(self, wanted: Sequence[str], closed: Sequence[str]) -> _Drained:
        """Drain nodes together; one at which it ends is given up, and the others are tried without it."""
        left = list(wanted)
        while left and time.monotonic() < self.deadline:
            drained = self._drain(left, closed)
            if not drained.bad:
                return drained
            left.remove(drained.bad)
        return self._drain((), ())

    def one_by_one(self, nodes: Sequence[str], closed: Sequence[str]) -> _Drained:
        """Drain a node after the other, for as long as all that is evicted finds a place."""
        kept: list[str] = []
        last = self._drain((), ())
        for name in nodes:
            if time.monotonic() > self.deadline:
                break
            drained = self._drain([*kept, name], closed)
            if not drained.bad:
                kept.append(name)
                last = drained
        return last

    def _drain(self, nodes: Sequence[str], closed: Sequence[str]) -> _Drained:
        simulation = _settled(self.scheduler, self.choose)
        n_waited = len(_waiting(simulation))
        for name in closed:
            node = simulation.cluster.nodes.objects[simulation.cluster.nodes.row[name]]
            simulation.change_node(replace(node, spec=replace(node.spec, unschedulable=True)))
        done: list[DrainedNode] = []
        for step in drain(simulation, nodes, OPTIONS):
            if isinstance(step, DrainedNode):
                if not step.drained or len(_waiting(simulation)) > n_waited:
                    return _Drained(done, simulation, bad=step.node)
                done.append(step)
        bad = nodes[-1] if len(_waiting(simulation)) > n_waited else ""
        return _Drained(done, simulation, tuple(closed) if nodes else (), bad)


def _waiting(simulation: Simulation) -> list[Pod]:
    pods = simulation.cluster.pods
    return [pods.pod(index) for index in np.flatnonzero(pods.node_row == -1).tolist()]
