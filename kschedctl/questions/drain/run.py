"""The run of a drain."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from kschedctl.cluster.cluster import Cluster
from kschedctl.questions.drain.request import DrainRequest
from kschedctl.questions.handle import INTERRUPTIONS, AnalysisHandle
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.simulate.attempts import Attempt
from kschedctl.trials.simulate.choice import TieBreak
from kschedctl.trials.simulate.drain import DrainedNode, surge_nodes
from kschedctl.trials.simulate.drain import drain as drain_nodes
from kschedctl.trials.simulate.simulation import Simulation


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
        steps = drain_nodes(simulation, names, request.flags, surge_nodes(model, request.surge))
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
