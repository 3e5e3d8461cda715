"""The cheapest nodes that, bought, let all pods that wait find a place; nobody is evicted for them.

Every kind of the catalog stands beside the cluster as often as it could be needed. Pods of DaemonSets that a new node
would get are on it. What is bought is added to the cluster alone then, and the placement put through the filters again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from kschedctl.api.core import Node
from kschedctl.api.pod import Pod
from kschedctl.api.workload import DaemonSet
from kschedctl.cluster.cluster import Cluster
from kschedctl.optimum.best import Best, Standing, best
from kschedctl.optimum.catalog import Catalog, NodeKind
from kschedctl.optimum.goals import Goal, Opened, Placement, Running
from kschedctl.optimum.multi_step import run_to_end
from kschedctl.optimum.question import Question, nobody, pose
from kschedctl.optimum.trial import Proof, prove
from kschedctl.scheduler.scheduler import Scheduler
from kschedctl.simulate.choice import Choose, first_by_name
from kschedctl.simulate.pods import on_node
from kschedctl.simulate.simulation import Simulation
from kschedctl.simulate.world import running
from kschedctl.workloads.pods import pods_of


@dataclass(frozen=True, slots=True)
class Purchase:
    """What to buy.

    Attributes
    ----------
    nodes : tuple of (NodeKind, Node)
        The nodes that are bought, with their kind.
    best : Best
        The placement, over the cluster with all that could be bought.
    question : Question
        Over the cluster with what is bought alone.
    proof : Proof or None
        The order in which the filters let every pod pass there; ``None`` where they do not.
    simulation : Simulation
        What the scheduler makes of the pods there, one after another.
    """

    nodes: tuple[tuple[NodeKind, Node], ...]
    best: Best
    question: Question
    proof: Proof | None
    simulation: Simulation

    @property
    def cost(self) -> int:
        """What they cost together, in millionths."""
        return sum(kind.cost for kind, _ in self.nodes)

    @property
    def price(self) -> Standing:
        """How far that is from the cheapest."""
        return next(s for s in self.best.standings if isinstance(s.goal, Opened) and s.goal.prices)


def buy(scheduler: Scheduler, catalog: Catalog, *, seconds: float, choose: Choose = first_by_name) -> Purchase:
    """Find the cheapest nodes that place every pod that waits; where not all can be placed, the most by priority.

    Parameters
    ----------
    seconds : float
        How long the solver may take.
    choose : callable
        Settles chance in what the scheduler makes of it.
    """
    n_waiting = pose(scheduler, nobody).n_waiting
    offers = [
        (kind, kind.node(number + 1))
        for kind in catalog.kinds
        for number in range(n_waiting if kind.most is None else min(kind.most, n_waiting))
    ]
    everything = with_nodes(scheduler.cluster, [node for _, node in offers])
    question = pose(scheduler.moved(everything), nobody)
    row = question.cluster.nodes.row
    prices = {row[node.name]: kind.cost for kind, node in offers}
    priorities = sorted({kind.priority for kind in question.kinds}, reverse=True)
    goals: list[Goal] = [Running(priority) for priority in priorities]
    goals.append(Opened(prices, "price"))
    goals.append(Opened(dict.fromkeys(prices, 1), "nodes"))
    found = best(question, seconds=seconds, goals=goals)
    used = {row for (_, row), n in found.placement.placed.items() if n}
    bought = tuple((kind, node) for kind, node in offers if row[node.name] in used)
    there = scheduler.moved(with_nodes(scheduler.cluster, [node for _, node in bought]))
    own = pose(there, nobody)
    said = prove(own, _moved(question, own, found.placement))
    simulation = Simulation(there, choose=choose)
    simulation.enqueue_pending()
    run_to_end(simulation)
    return Purchase(
        bought, _as_far_as_known(question, prices, found), own, said if isinstance(said, Proof) else None, simulation
    )


def with_nodes(cluster: Cluster, nodes: Sequence[Node]) -> Cluster:
    """The cluster with more nodes, and on them the pods of its DaemonSets."""
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


def _moved(question: Question, own: Question, placement: Placement) -> Placement:
    """A placement over the nodes of another question: kinds are told by a pod, nodes by their names."""
    names = question.cluster.nodes.names
    kinds = {pod.key: k for k, kind in enumerate(own.kinds) for pod in kind.pods}
    return Placement(
        {
            (kinds[question.kinds[k].pods[0].key], own.cluster.nodes.row[names[row]]): n
            for (k, row), n in placement.placed.items()
            if n
        }
    )


def _as_far_as_known(question: Question, prices: dict[int, int], found: Best) -> Best:
    """Without bounds where nodes that are not bought would count for spread constraints as domains of their own."""
    offered = np.zeros(len(question.cluster.nodes), dtype=np.bool_)
    offered[list(prices)] = True
    for kind in question.kinds:
        for domains in kind.sifted.spread:
            codes = domains.column.codes
            if set(codes[offered].tolist()) - set(codes[~offered].tolist()) - {-1}:
                standings = tuple(
                    Standing(s.goal, s.value, s.bound if isinstance(s.goal, Running) and s.proven else None)
                    for s in found.standings
                )
                return Best(found.placement, found.proof, standings, found.n_refused, found.exact)
    return found
