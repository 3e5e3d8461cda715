"""Purchase of the cheapest nodes on which all pending pods can be placed without evictions.

The search runs over a cluster with as many nodes of every kind in the catalog as could be needed. The DaemonSet pods of
new nodes count as placed. The result is verified over the cluster with the bought nodes alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from dataclasses import replace as with_fields

import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.controllers.workloads.pods import pods_of
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import DaemonSet
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.optimum.catalog import Catalog, NodeKind
from kschedctl.trials.optimum.comparison import simulate_pending
from kschedctl.trials.optimum.goals import Goal, GoalResult, Opened, Running
from kschedctl.trials.optimum.placement import Placement
from kschedctl.trials.optimum.question import PlacementQuestion, no_evictions, pose
from kschedctl.trials.optimum.search import Best, best
from kschedctl.trials.optimum.trial import Proof, prove
from kschedctl.trials.simulate.choice import Choose, first_by_name
from kschedctl.trials.simulate.pods import on_node
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.world import running


@dataclass(frozen=True, slots=True)
class Purchase:
    """Nodes to buy.

    Attributes
    ----------
    nodes : tuple of (NodeKind, Node)
        The bought nodes, each with its kind.
    best : Best
        The placement over the cluster with all nodes that could be bought.
    question : PlacementQuestion
        The question over the cluster with the bought nodes alone.
    proof : Proof or None
        The verified placement over that cluster; ``None`` if the filters refuse it.
    simulation : Simulation
        The simulation of the scheduler over that cluster.
    """

    nodes: tuple[tuple[NodeKind, Node], ...]
    best: Best
    question: PlacementQuestion
    proof: Proof | None
    simulation: Simulation

    @property
    def cost(self) -> int:
        """The total cost, in millionths."""
        return sum(kind.cost for kind, _ in self.nodes)

    @property
    def price(self) -> GoalResult:
        """The result for the goal of the lowest price."""
        return next(s for s in self.best.standings if isinstance(s.goal, Opened) and s.goal.prices)


def buy(scheduler: Scheduler, catalog: Catalog, *, seconds: float, choose: Choose = first_by_name) -> Purchase:
    """Find the cheapest nodes that place every pending pod, or else the most pods by priority.

    Parameters
    ----------
    seconds : float
        The time limit of the solver.
    choose : callable
        Breaks ties in the simulation.
    """
    n_waiting = pose(scheduler, no_evictions).n_waiting
    offers = [
        (kind, kind.node(number + 1))
        for kind in catalog.kinds
        for number in range(n_waiting if kind.most is None else min(kind.most, n_waiting))
    ]
    everything = with_nodes(scheduler.cluster, [node for _, node in offers])
    question = pose(scheduler.moved(everything), no_evictions)
    row = question.cluster.nodes.row
    prices = {row[node.name]: kind.cost for kind, node in offers}
    goals: list[Goal] = [Running(each) for each in sorted({kind.priority for kind in question.kinds}, reverse=True)]
    goals += [Opened(prices, "price"), Opened(dict.fromkeys(prices, 1), "nodes")]
    found = best(question, seconds=seconds, goals=goals)
    bought = tuple((kind, node) for kind, node in offers if row[node.name] in found.placement.rows)
    there = scheduler.moved(with_nodes(scheduler.cluster, [node for _, node in bought]))
    own = pose(there, no_evictions)
    proof = prove(own, _transferred(question, own, found.placement))
    if _has_new_domains(question, prices):
        standings = tuple(
            with_fields(s, bound=s.bound if isinstance(s.goal, Running) and s.proven else None) for s in found.standings
        )
        found = with_fields(found, standings=standings)
    return Purchase(bought, found, own, proof if isinstance(proof, Proof) else None, simulate_pending(there, choose))


def with_nodes(cluster: Cluster, nodes: Sequence[Node]) -> Cluster:
    """Return the cluster with additional nodes and their DaemonSet pods."""
    if not nodes:
        return cluster
    larger = cluster.with_nodes((*cluster.nodes.objects, *nodes))
    return larger.with_pods(added=_daemons(larger, {node.name for node in nodes}))


def _daemons(cluster: Cluster, nodes: set[str]) -> Iterable[Pod]:
    for daemon_set in cluster.list(DaemonSet):
        for made in pods_of(daemon_set, cluster):
            if made.node in nodes:
                name = f"{daemon_set.name}-{made.node}"
                pod = replace(made.pod, metadata=replace(made.pod.metadata, name=name, uid=""))
                yield running(on_node(pod, made.node))


def _transferred(question: PlacementQuestion, own: PlacementQuestion, placement: Placement) -> Placement:
    """Return a placement in terms of another question, in which kinds and nodes have other numbers."""
    names, row = question.cluster.nodes.names, own.cluster.nodes.row
    kinds = {pod.key: k for k, kind in enumerate(own.kinds) for pod in kind.pods}
    of = [kinds[kind.pods[0].key] for kind in question.kinds]
    return Placement({(of[k], row[names[at]]): n for (k, at), n in placement.placed.items() if n})


def _has_new_domains(question: PlacementQuestion, prices: dict[int, int]) -> bool:
    """Report whether nodes of the catalog add domains to a spread constraint, so that bounds do not hold."""
    offered = np.zeros(len(question.cluster.nodes), dtype=np.bool_)
    offered[list(prices)] = True
    columns = [domains.column.codes for kind in question.kinds for domains in kind.filters.spread]
    return any(set(codes[offered].tolist()) - set(codes[~offered].tolist()) - {-1} for codes in columns)
