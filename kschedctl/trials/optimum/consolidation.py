"""Consolidation: the nodes that can be emptied, verified by a simulated drain.

The solver finds a placement of the running pods on the fewest nodes. Whether the other nodes can be drained depends on
disruption budgets and on the scheduler's choice of nodes for the recreated pods. A simulation therefore cordons these
nodes and the nodes that must stay unused, and drains the nodes one after another. A node at which the drain gets stuck
is not emptied. A greedy drain, which starts with the node with the fewest pods, is simulated as well, and the better
result counts.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import PENDING
from kschedctl.common.wording import listed
from kschedctl.controllers.workloads.template import NODE_BOUND
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.optimum.comparison import simulate_pending
from kschedctl.trials.optimum.goals import Evictions, Goal, GoalResult, nodes_in_use
from kschedctl.trials.optimum.kinds import Placement
from kschedctl.trials.optimum.model import Model
from kschedctl.trials.optimum.program import Linear, total
from kschedctl.trials.optimum.question import PlacementQuestion, pose
from kschedctl.trials.optimum.search import Best, best
from kschedctl.trials.simulate.choice import Choose, first_by_name
from kschedctl.trials.simulate.drain import DrainedNode, DrainOptions, drain
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.world import is_recreated
from kschedctl.trials.whatif.nodes import with_cordon

#: The options of the drain: DaemonSet pods stay, and the contents of emptyDir volumes are lost.
OPTIONS: Final = DrainOptions(ignore_daemonsets=True, delete_emptydir_data=True)
_UNPLACED: Final = "kube-scheduler finds no node for a recreated pod"


@dataclass(frozen=True, slots=True)
class InUse(Goal):
    """The number of nodes that have pods other than DaemonSet pods and mirror pods."""

    #: The nodes in use at the start.
    used: frozenset[int]
    #: The nodes in use from which all pods can move.
    movable: frozenset[int]
    name: str = "nodes in use"
    maximize: bool = False

    def limit(self, question: PlacementQuestion, reached: Mapping[str, int]) -> int | None:
        return len(self.used - self.movable)

    def expression(self, model: Model) -> Linear:
        rows = sorted(self.movable | {site.row for site in model.sites} - self.used)
        stays = {row: model.program.variable() for row in rows}
        gone: dict[int, list[Linear]] = {}
        for occupants, variable in zip(model.question.occupants, model.leaving, strict=True):
            if variable is not None:
                emptied = 1 - stays[occupants.row] if occupants.row in self.movable else Linear()
                model.program.add(variable.equals(len(occupants.pods) * emptied))
                gone.setdefault(occupants.kind, []).append(variable)
        for row, variable in stays.items():
            for _, x in model.at_site(model.site_of_row[row]) if row in model.site_of_row else ():
                model.program.add(x <= 0, when=1 - variable)
        for k in range(len(model.question.kinds)):
            # Every evicted pod is placed again.
            model.program.add(total(model.of_kind(k)).equals(total(gone.get(k, ()))))
        return total((len(self.used - self.movable), *stays.values()))

    def value(self, question: PlacementQuestion, placement: Placement) -> int:
        return len((self.used - self.emptied(question, placement)) | placement.rows)

    def emptied(self, question: PlacementQuestion, placement: Placement) -> frozenset[int]:
        """Return the nodes that a placement leaves without pods."""
        left = {question.occupants[o].row for o, n in placement.leaving.items() if n}
        return frozenset(left & self.movable) - placement.rows


@dataclass(frozen=True, slots=True)
class Consolidation:
    """The nodes that can be emptied."""

    #: The number of nodes in use. DaemonSet pods and mirror pods do not count.
    n_used: int
    #: The number of nodes in use after the drain, including nodes that were unused before.
    n_used_after: int
    #: The nodes in use after the drain that were unused before.
    newly_used: tuple[str, ...]
    #: The drained nodes, in order.
    nodes: tuple[DrainedNode, ...]
    #: Unused nodes that are cordoned so that they stay unused.
    closed: tuple[str, ...]
    #: The node of each recreated pod, ``namespace/name``.
    placed: dict[str, str]
    #: Nodes that the solver's placement empties and the chosen drain does not.
    given_up: tuple[str, ...]
    #: The cause for which the drain of such a node got stuck, in words, by node.
    obstacles: dict[str, str]
    #: Nodes that cannot be emptied, because of pods that no controller recreates.
    fixed: tuple[str, ...]
    #: The number of nodes that the solver's placement leaves in use, with its bound.
    standing: GoalResult
    best: Best = field(repr=False)


def empty_nodes(
    scheduler: Scheduler, *, seconds: float, choose: Choose = first_by_name, proves: bool = False
) -> Consolidation:
    """Find the most nodes that can be drained one after another, once pending pods have been scheduled.

    Args:
        seconds: The time limit of the solver, and of the drains after it.
        choose: Breaks ties in the simulation.
        proves: True to search until the time limit or a proof.
    """
    settled = simulate_pending(scheduler, choose)
    cluster = settled.cluster
    question = pose(settled.scheduler, _may_move, waiting=False)
    in_use = nodes_in_use(cluster)
    fixed = {row for row, pods in in_use.items() if not all(_may_move(cluster, index) for index in pods)}
    goal = InUse(frozenset(in_use), frozenset(in_use.keys() - fixed))
    found = best(question, seconds=seconds, goals=[goal, Evictions()], for_preemptors=False, proves=proves)
    wanted = _lightest_first(cluster, goal.emptied(question, found.placement))
    unused = set(range(len(cluster.nodes))) - in_use.keys()
    drains = _Drains(scheduler, choose, time.monotonic() + seconds)
    lightest = _lightest_first(cluster, goal.movable)
    drained = max(
        drains.together(wanted, _names_at(cluster, unused - found.placement.rows)),
        drains.one_by_one(lightest, _names_at(cluster, unused)),
        drains.one_by_one(lightest, []),
        key=lambda each: (-len(nodes_in_use(each.simulation.cluster)), -len(each.nodes)),
    )
    simulation = drained.simulation
    used_after = nodes_in_use(simulation.cluster).keys()
    done = {node.node for node in drained.nodes}
    given_up = tuple(name for name in wanted if name not in done)
    came = {entry.pod for entry in simulation.timeline[len(settled.timeline) :] if entry.node}
    pods = simulation.cluster.pods
    index = {key: pods.index.get((namespace, name), -1) for key in came for namespace, _, name in [key.partition("/")]}
    return Consolidation(
        n_used=len(in_use),
        n_used_after=len(used_after),
        newly_used=tuple(_names_at(cluster, used_after - in_use.keys())),
        nodes=tuple(drained.nodes),
        closed=drained.closed,
        placed={key: node for key in sorted(came) if index[key] >= 0 and (node := pods.records[index[key]].node_name)},
        given_up=given_up,
        obstacles={name: drains.obstacles[name] for name in given_up if name in drains.obstacles},
        fixed=tuple(_names_at(cluster, fixed)),
        standing=found.standings[0],
        best=found,
    )


def _may_move(cluster: Cluster, index: int) -> bool:
    pod = cluster.pods.pod(index)
    owner = pod.metadata.controller
    return (
        pod.metadata.deletion_timestamp is None
        and is_recreated(pod)
        and owner is not None
        and owner.kind not in NODE_BOUND
    )


def _names_at(cluster: Cluster, rows: Iterable[int]) -> list[str]:
    return [cluster.nodes.names[row] for row in sorted(rows)]


def _lightest_first(cluster: Cluster, rows: Iterable[int]) -> list[str]:
    """Return the names of nodes, those with the fewest pods first."""
    return sorted(_names_at(cluster, rows), key=lambda name: (len(cluster.pods.on_node(cluster.nodes.row[name])), name))


@dataclass(frozen=True, slots=True)
class _Drained:
    """The result of a drain."""

    nodes: list[DrainedNode]
    simulation: Simulation
    #: The unused nodes that were cordoned beforehand.
    closed: tuple[str, ...] = ()
    #: The node at which the drain got stuck; empty if all nodes were drained.
    bad: str = ""


@dataclass(frozen=True, slots=True)
class _Drains:
    """Drains of a cluster, each in a separate simulation."""

    scheduler: Scheduler
    choose: Choose
    deadline: float
    #: The cause for which a drain first got stuck at a node, in words, by node.
    obstacles: dict[str, str] = field(default_factory=dict)

    def together(self, wanted: Sequence[str], closed: Sequence[str]) -> _Drained:
        """Drain nodes together; repeat without the node at which the drain got stuck."""
        left = list(wanted)
        while left and time.monotonic() < self.deadline:
            drained = self._drain(left, closed)
            if not drained.bad:
                return drained
            left.remove(drained.bad)
        return self._drain((), ())

    def one_by_one(self, nodes: Sequence[str], closed: Sequence[str]) -> _Drained:
        """Add one node after another to the drain, skipping those at which it gets stuck."""
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
        simulation = simulate_pending(self.scheduler, self.choose)
        n_pending = _n_pending(simulation)
        for name in closed:
            node = simulation.cluster.nodes.objects[simulation.cluster.nodes.row[name]]
            simulation.change_node(with_cordon(node))
        done: list[DrainedNode] = []
        for step in drain(simulation, nodes, OPTIONS):
            if isinstance(step, DrainedNode):
                if not step.drained or _n_pending(simulation) > n_pending:
                    self.obstacles.setdefault(step.node, _obstacle(step))
                    return _Drained(done, simulation, bad=step.node)
                done.append(step)
        bad = nodes[-1] if _n_pending(simulation) > n_pending else ""
        if bad:
            self.obstacles.setdefault(bad, _UNPLACED)
        return _Drained(done, simulation, tuple(closed) if nodes else (), bad)


def _obstacle(node: DrainedNode) -> str:
    """Return the cause for which a drain got stuck at a node, as a clause."""
    if node.blocking:
        blocks = "disruption budget" if len(node.blocking) == 1 else "disruption budgets"
        return f"{blocks} {listed(node.blocking)} {'blocks' if len(node.blocking) == 1 else 'block'} the drain"
    reasons = (*node.refusals, *dict.fromkeys(node.blocked.values()))
    return f"the drain is refused: {reasons[0]}" if reasons else _UNPLACED


def _n_pending(simulation: Simulation) -> int:
    return int((simulation.cluster.pods.node_row == PENDING).sum())
