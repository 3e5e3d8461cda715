"""The run of a drain: the request, and its simulation."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import InputError
from kschedctl.objects.selectors import matches, parse_label_query
from kschedctl.questions.handle import INTERRUPTIONS, AnalysisHandle
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.simulate.attempts import Attempt
from kschedctl.trials.simulate.choice import TieBreak
from kschedctl.trials.simulate.drain import DrainedNode, DrainOptions, surge_nodes
from kschedctl.trials.simulate.drain import drain as drain_nodes
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.whatif.targets import find_nodes, find_zone


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainRequest:
    """A question about draining nodes: all nodes that are named, match the selector or are in the zone."""

    #: Names and patterns.
    nodes: tuple[str, ...] = ()
    #: A label selector and a zone; empty for none.
    selector: str = ""
    #: A label selector and a zone; empty for none.
    zone: str = ""
    #: The flags of kubectl drain.
    options: DrainOptions = field(default_factory=DrainOptions)
    #: The number of nodes to add before the drain, copies of the first node that is drained.
    surge: int = 0
    #: The seed of the random choice between equally good nodes; ``None`` for the first by name.
    seed: int | None = None
    #: True if the scheduler places the pending pods before the drain, with their preemptions; otherwise they stay
    #: pending, and the drain is about the pods that are on the nodes.
    place_pending_first: bool = False

    def names(self, cluster: Cluster) -> list[str]:
        """Return the names of the nodes to drain, without duplicates, in the order in which they are given.

        Raises InputError if a name, a pattern, the selector or the zone matches no node, or none of them is given.
        """
        if not (self.nodes or self.selector or self.zone):
            raise InputError("no node is given")
        rows = [row for name in self.nodes for row in find_nodes(cluster, name)]
        if self.selector:
            selector = parse_label_query(self.selector)
            found = [i for i, node in enumerate(cluster.nodes.objects) if matches(selector, node.metadata.labels)]
            if not found:
                raise InputError(f'no node matches the selector "{self.selector}"', path="--selector")
            rows += found
        if self.zone:
            rows += find_zone(cluster, self.zone)
        return [cluster.nodes.names[row] for row in dict.fromkeys(rows)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainRun:
    """A drain and its result."""

    #: The simulation in its last state.
    simulation: Simulation
    #: The cluster before the drain. If pending pods are placed first, that is the cluster after it: the drain did
    #: not cause their outcome.
    before: Cluster
    #: The time when the drain began, by the virtual clock.
    began: datetime
    #: The number of entries that the timeline had when the drain began.
    since: int
    #: The nodes to drain.
    nodes: list[str]
    #: The result of each node that the drain reached.
    drained: list[DrainedNode]
    #: The scheduling cycles of the drain.
    attempts: list[Attempt]
    #: False if the run was cancelled.
    finished: bool


def run_drain(
    cluster: LoadedCluster, request: DrainRequest, handle: AnalysisHandle, first: Collection[str] = ()
) -> DrainRun:
    """Drain the nodes of a request.

    Pods that are pending because of a what-if are placed before the drain, as after the change in a real cluster.

    Args:
        first: The pending pods that the scheduler places before the drain even if the request does not ask for it,
            as ``namespace/name``: those that an earlier part of the drain left pending.
    """
    cluster.require_nodes()
    names = request.names(cluster.cluster)
    pending = None if request.place_pending_first else cluster.snapshot.made_pending.union(first)
    simulation = Simulation(cluster.with_edited_pending(), choose=TieBreak(request.seed).choose())
    if pending is None or pending:
        simulation.enqueue_pending(pending)
        for _ in handle.count(simulation, "pods"):
            pass
    before, began, since = simulation.cluster, simulation.now(), len(simulation.timeline)
    model = before.nodes.objects[before.nodes.row[names[0]]]
    drained: list[DrainedNode] = []
    attempts: list[Attempt] = []
    finished = True
    try:
        steps = drain_nodes(simulation, names, request.options, surge_nodes(model, request.surge))
        for step in handle.count(steps, "steps"):
            if isinstance(step, DrainedNode):
                drained.append(step)
            else:
                attempts.append(step)
    except INTERRUPTIONS:
        finished = False
    return DrainRun(
        simulation=simulation,
        before=before,
        began=began,
        since=since,
        nodes=names,
        drained=drained,
        attempts=attempts,
        finished=finished,
    )
