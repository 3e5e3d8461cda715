"""Invariants of simulations with pod groups, on random clusters in which nodes and pods are lost and plugins fail."""

from dataclasses import dataclass
from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from kschedctl.cluster.pod_groups import scheduled_members
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroup
from kschedctl.objects.releases.release import Release
from kschedctl.scheduler.cycle.pod_group_cycle import schedule_pod_group
from kschedctl.scheduler.cycle.pod_group_decision import PodGroupDecision
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.config.load import load_configuration
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.interface import PermitPlugin, Plugin, PreBindPlugin, ReservePlugin
from kschedctl.scheduler.framework.registry import Registry
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.plugins.registry import in_tree_registry
from kschedctl.scheduler.preemption.dry_run_preemption import pod_priority
from kschedctl.sources.snapshot.capture import ClusterReader
from kschedctl.sources.snapshot.summary import ReadSummary
from kschedctl.trials.simulate.attempts import Attempt
from kschedctl.trials.simulate.simulation import Simulation
from tests.builders import make_cluster, make_members, make_node, make_pod, make_pod_group, make_profile, with_groups
from tests.example_counts import scaled
from tests.scheduler.framework.plugins import make_plugin

RACK = "example.com/rack"
RELEASES = [
    with_groups("1.36", WorkloadAwarePreemption=False),
    with_groups("1.36"),
    with_groups("1.36", topology=True),
    with_groups("1.37"),
    with_groups("1.37", topology=True),
]
STEPS = 25


@dataclass(frozen=True)
class Gang:
    """A group of ``bound`` members on nodes and ``pending`` others."""

    min_count: int | None
    pending: int
    bound: int
    cpu: int
    priority: int
    disrupts_all: bool
    in_rack: bool

    def objects(self, number: int, n_nodes: int, release: Release) -> tuple[PodGroup, list[Pod]]:
        rules = release.pod_groups
        assert rules is not None
        name, modes = f"gang{number}", ("PodGroup", "Pod") if rules.permit_decides else ({"all": {}}, {"single": {}})
        group = make_pod_group(
            name,
            min_count=self.min_count,
            priority=self.priority,
            topology_key=RACK if self.in_rack else "",
            disruptionMode=modes[not self.disrupts_all],
        )
        pods = []
        for i in range(self.bound + self.pending):
            node = f"n{(i + number) % n_nodes}" if i < self.bound else ""
            pods += make_members(
                f"g{number}-{i}", group=name, requests={"cpu": str(self.cpu)}, priority=self.priority, node=node
            )
        return group, pods


GANGS = st.builds(
    Gang,
    min_count=st.sampled_from([None, 1, 2, 3]),
    pending=st.integers(1, 4),
    bound=st.integers(0, 2),
    cpu=st.integers(1, 3),
    priority=st.sampled_from([0, 0, 5, 9]),
    disrupts_all=st.booleans(),
    in_rack=st.booleans(),
)
#: Faults by the number of the step before which they happen: a node or a pod is lost.
FAULTS = st.lists(st.tuples(st.integers(0, STEPS), st.sampled_from(["node", "pod"]), st.integers(0, 9)), max_size=4)
#: The extension point at which a plugin fails, for the pods whose number in their group is the second value.
FAILURES = st.tuples(st.sampled_from(["", "reserve", "permit", "preBind"]), st.integers(0, 3))


def failing(point: str, number: int, code: Code) -> type[Plugin]:
    """Return a plugin that fails at one extension point for members with a number."""

    def verdict(at: str, pod: Pod) -> Status:
        return Status(code, ("out of order",)) if at == point and pod.name.endswith(f"-{number}") else Status()

    def reserve(self: Plugin, state: CycleState, pod: Pod, node_name: str) -> Status:
        return verdict("reserve", pod)

    def unreserve(self: Plugin, state: CycleState, pod: Pod, node_name: str) -> None:
        return None

    def permit(self: Plugin, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        return verdict("permit", pod), 0

    def pre_bind(self: Plugin, state: CycleState, pod: Pod, node_name: str) -> Status:
        return verdict("preBind", pod)

    methods = {"reserve": reserve, "unreserve": unreserve, "permit": permit, "pre_bind": pre_bind}
    return make_plugin("Fault", ReservePlugin, PermitPlugin, PreBindPlugin, **methods)


def make_simulation(
    release: Release, cpus: list[int], gangs: list[Gang], singles: list[int], plugin: type[Plugin] | None = None
) -> Simulation:
    nodes = [make_node(f"n{i}", cpu=str(cpu), labels={RACK: f"r{i % 2}"}) for i, cpu in enumerate(cpus)]
    made = [gang.objects(number, len(nodes), release) for number, gang in enumerate(gangs)]
    pods = [pod for _, members in made for pod in members]
    pods += [
        make_pod(f"single-{i}", requests={"cpu": "1"}, priority=priority, node=f"n{i % len(nodes)}" if i % 2 else "")
        for i, priority in enumerate(singles)
    ]
    registry = in_tree_registry()
    registry.merge({"Fault": plugin} if plugin else {})
    config = make_profile(plugins={"multiPoint": {"enabled": [{"name": "Fault"}] if plugin else []}})
    points, types = registry.extension_points(release), registry.args_types
    loaded = load_configuration(config, release=release, implements=points, args_types=types)
    cluster = make_cluster(nodes, pods, *(group for group, _ in made))
    simulation = Simulation(Scheduler(cluster, release, loaded, Registry(registry)))
    simulation.enqueue_pending()
    return simulation


def steps(simulation: Simulation) -> tuple[Attempt, ...]:
    """Try the next pod or group; let time pass if there is none."""
    attempts = simulation.step()
    if not attempts:
        simulation.pass_second()
    return attempts


def lose(simulation: Simulation, kind: str, number: int) -> None:
    """Delete a node or a pod."""
    cluster = simulation.cluster
    if kind == "node" and len(cluster.nodes) > 1:
        simulation.delete_node(cluster.nodes.names[number % len(cluster.nodes)])
    elif kind == "pod" and len(cluster.pods):
        simulation.delete(cluster.pods.pod(number % len(cluster.pods)))


#: A group on both nodes that is disrupted as a whole, and a pod of higher priority that needs one of them.
WHOLE_AND_URGENT = [
    Gang(None, pending=1, bound=2, cpu=3, priority=0, disrupts_all=True, in_rack=False),
    Gang(1, pending=1, bound=0, cpu=3, priority=9, disrupts_all=False, in_rack=False),
]
#: A group without a minimum beside a gang whose first member waits at Permit until the second one fits.
FIRST_WAITS = [
    Gang(None, pending=1, bound=0, cpu=1, priority=0, disrupts_all=False, in_rack=False),
    Gang(2, pending=2, bound=0, cpu=1, priority=0, disrupts_all=False, in_rack=False),
]
#: A gang of two of which one fits.
ONE_FITS = [Gang(2, pending=2, bound=0, cpu=3, priority=0, disrupts_all=False, in_rack=False)]
WORLDS = {
    "release": st.sampled_from(RELEASES),
    "cpus": st.lists(st.integers(1, 6), min_size=1, max_size=4),
    "gangs": st.lists(GANGS, min_size=1, max_size=3),
    "singles": st.lists(st.sampled_from([0, 5]), max_size=4),
}


@example(release=RELEASES[1], cpus=[3], gangs=ONE_FITS, singles=[], faults=[], failure=("", 0), code=Code.ERROR)
@example(release=RELEASES[3], cpus=[3], gangs=ONE_FITS, singles=[], faults=[], failure=("", 0), code=Code.ERROR)
@example(
    release=RELEASES[1],
    cpus=[1, 1],
    gangs=FIRST_WAITS,
    singles=[],
    faults=[],
    failure=("preBind", 0),
    code=Code.UNSCHEDULABLE,
)
@given(**WORLDS, faults=FAULTS, failure=FAILURES, code=st.sampled_from([Code.UNSCHEDULABLE, Code.ERROR]))
@settings(max_examples=scaled(60))
def test_a_gang_never_ends_with_fewer_members_than_it_needs(
    release: Release,
    cpus: list[int],
    gangs: list[Gang],
    singles: list[int],
    faults: list[tuple[int, str, int]],
    failure: tuple[str, int],
    code: Code,
) -> None:
    """Whenever members of a gang are bound, at least ``minCount`` are on nodes; only PreBind fails after that."""
    point, number = failure
    simulation = make_simulation(release, cpus, gangs, singles, failing(point, number, code))
    for step in range(STEPS):
        for at, kind, which in faults:
            if at == step:
                lose(simulation, kind, which)
        attempts = steps(simulation)
        group = attempts[0].group if attempts else None
        decision = group.decision if group is not None else None
        if decision is None:
            continue
        if decision.status.code is Code.SUCCESS:
            before = len(scheduled_members(decision.cluster, decision.group.namespace, decision.group.name))
            assert before + sum(member.fits for member in decision.members) >= decision.group.min_count
        # A member that waits at Permit has a node, but is not bound.
        if not any(attempt.node and not attempt.waits for attempt in attempts):
            continue
        cluster, info = simulation.cluster, decision.group
        on_nodes = len(scheduled_members(cluster, info.namespace, info.name))
        # A member that waited at Permit fails at PreBind after its attempt, which then has no message.
        at_fault = [a for a in attempts if point == "preBind" and a.pod.endswith(f"-{number}")]
        failed = sum(bool(a.message) or a.waits for a in at_fault)
        assert decision.status.code is Code.SUCCESS
        assert on_nodes + failed >= info.min_count
        if release.places_groups and info.topology_key:
            rows = cluster.pods.node_row[scheduled_members(cluster, info.namespace, info.name)]
            racks = [cluster.nodes.objects[row].metadata.labels[RACK] for row in rows.tolist() if row >= 0]
            assert all(one == other for one, other in pairwise(racks))


@given(**WORLDS)
@settings(max_examples=scaled(60))
def test_a_group_that_fails_leaves_no_trace(
    release: Release, cpus: list[int], gangs: list[Gang], singles: list[int]
) -> None:
    """The attempt changes neither the cluster nor any cache: a fresh scheduler decides the same."""
    simulation = make_simulation(release, cpus, gangs, singles)
    for _ in range(STEPS):
        attempts = steps(simulation)
        group = attempts[0].group if attempts else None
        decision = group.decision if group is not None else None
        if decision is None:
            continue
        assert outcome(decided_anew(simulation, decision)) == outcome(decision)
        if decision.status.code is Code.SUCCESS or group is None or group.victims:
            continue
        before, after = decision.cluster, simulation.cluster
        assert placed(Scheduler(before)) == placed(Scheduler(after))
        members = {attempt.pod for attempt in attempts}
        assert not [w for w in simulation.scheduler.waiting_pods if w.pod.key in members]
        again = schedule_pod_group(
            simulation.scheduler.framework("default-scheduler").moved(before),
            decision.group.namespace,
            decision.group.name,
            decision.group.unscheduled,
        )
        assert outcome(again) == outcome(decision)


@example(release=RELEASES[1], cpus=[3, 3], gangs=WHOLE_AND_URGENT, singles=[])
@example(release=RELEASES[3], cpus=[3, 3], gangs=WHOLE_AND_URGENT, singles=[])
@given(**WORLDS)
@settings(max_examples=scaled(60))
def test_victims(release: Release, cpus: list[int], gangs: list[Gang], singles: list[int]) -> None:
    """Victims have a lower priority, and of a group that is disrupted as a whole all members are victims or none."""
    rules = release.pod_groups
    assert rules is not None
    simulation = make_simulation(release, cpus, gangs, singles)
    for _ in range(STEPS):
        for attempt in steps(simulation):
            decision = attempt.group.decision if attempt.group is not None else None
            cluster = attempt.decision.cluster if decision is None else decision.cluster
            pods = cluster.pods
            own = attempt.decision.pod.spec.priority or 0
            by_group = decision is not None and bool(decision.victims)
            keys = {pods.key(index): index for index in range(len(pods))}
            chosen = set(decision.victims) if decision is not None and by_group else {keys[v] for v in attempt.victims}
            assert all(pod_priority(cluster, index, rules) < own for index in chosen)
            if not (by_group or rules.victims_have_group_priority):
                continue
            for index in chosen:
                spec = pods.pod(index).spec
                group = cluster.get(PodGroup, spec.pod_group_name, "default") if spec.pod_group_name else None
                if group is not None and group.spec.disrupts_all:
                    assert chosen.issuperset(scheduled_members(cluster, "default", group.name).tolist())


def outcome(decision: PodGroupDecision) -> object:
    """Return all that an attempt decides."""
    members = [(m.pod.key, m.node, m.message, m.nominated, m.is_error, m.fits, m.preempts_on) for m in decision.members]
    victims = [decision.cluster.pods.key(index) for index in decision.victims]
    placements = [(p.placement.name, p.status, p.n_fitting) for p in decision.placements]
    return decision.status, members, victims, placements, decision.waits_for_victims


def decided_anew(simulation: Simulation, decision: PodGroupDecision) -> PodGroupDecision:
    """Return the decision over a cluster built from the objects of the decision's cluster."""
    objects = [obj for obj, _ in ClusterReader(decision.cluster, ReadSummary())]
    framework = Scheduler(make_cluster([], [], *objects), simulation.scheduler.release).framework("default-scheduler")
    return schedule_pod_group(framework, decision.group.namespace, decision.group.name, decision.group.unscheduled)


def placed(scheduler: Scheduler) -> dict[str, str]:
    """Return the node of every pod."""
    pods = scheduler.cluster.pods
    return {pods.key(index): pods.records[index].node_name for index in range(len(pods))}
