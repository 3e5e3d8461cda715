"""Invariants of every simulation, whatever the pods."""

from itertools import islice

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kschedctl.objects.releases.release import LATEST
from kschedctl.objects.resources import RequestRules
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.sources.snapshot.capture import ClusterReader
from kschedctl.sources.snapshot.summary import ReadSummary
from kschedctl.trials.simulate.choice import TieBreak
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.world import SCHEDULER_ALONE, World
from tests import strategies
from tests.builders import make_cluster
from tests.example_counts import scaled
from tests.strategies import World as Objects

ASPECTS = ("requests", "tolerations", "spread", "podAffinity", "ports")
SURROUNDINGS = [SCHEDULER_ALONE, World(), World(grace=False)]
MOST = 60


@given(
    world=strategies.worlds(*ASPECTS, of_nodes=("labels", "taints"), pending=5),
    priorities=st.lists(st.sampled_from([0, 0, 5, 9]), min_size=13, max_size=13),
    surroundings=st.sampled_from(SURROUNDINGS),
    seed=st.integers(0, 9),
)
@settings(max_examples=scaled(40))
def test_simulations_keep_the_rules(world: Objects, priorities: list[int], surroundings: World, seed: int) -> None:
    """A pod is placed only where it fits and scores highest, no pod is skipped, and no node is overcommitted."""
    pods = [
        replace(pod, spec=replace(pod.spec, priority=priority))
        for pod, priority in zip(world.pods, priorities, strict=False)
    ]
    scheduler = Scheduler(make_cluster(world.nodes, pods, *world.namespaces))
    simulation = Simulation(scheduler, choose=TieBreak(seed).choose(), world=surroundings)
    simulation.enqueue_pending()
    bound: set[str] = set()
    full = overfull(scheduler)
    for attempt in islice(simulation, MOST):
        decision = attempt.decision
        anew = decided_anew(simulation, decision)
        assert (decision.best, decision.message, decision.error) == (anew.best, anew.message, anew.error)
        if attempt.node:
            assert attempt.node in anew.best
            assert attempt.pod not in bound
            bound.add(attempt.pod)
        if attempt.victims:
            assert not anew.best
            own = decision.pod.spec.priority or 0
            there = decision.cluster.pods
            index = {there.key(i): i for i in range(len(there))}
            assert all(there.priority[index[victim]] < own for victim in attempt.victims)
        # A node that held too much from the start may go on to.
        assert overfull(simulation.scheduler) <= full


def decided_anew(simulation: Simulation, decision: Decision) -> Decision:
    """Return the decision over a cluster built from the objects of the decision's cluster."""
    objects = [obj for obj, _ in ClusterReader(decision.cluster, ReadSummary())]
    return Scheduler(make_cluster([], [], *objects), simulation.scheduler.release).decide(decision.pod)


def overfull(scheduler: Scheduler) -> set[tuple[str, str]]:
    """Return the nodes whose pods request more than is allocatable, with the resource."""
    columns = scheduler.cluster.resources(RequestRules.of(LATEST))
    names = scheduler.cluster.nodes.names
    return {
        (names[row], resource)
        for resource, index in columns.index.items()
        for row in range(len(names))
        if columns.requested[index, row] > columns.allocatable[index, row]
    }
