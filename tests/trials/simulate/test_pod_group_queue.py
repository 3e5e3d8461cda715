"""The queue of 1.37, whose entries are groups, and invariants of simulations with groups that lose nodes and pods."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kschedctl.cluster.cluster import Cluster
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
from kschedctl.scheduler.preemption.victim_units import pod_priority
from kschedctl.sources.snapshot.capture import ClusterReader
from kschedctl.sources.snapshot.summary import ReadSummary
from kschedctl.trials.simulate.attempts import Attempt
from kschedctl.trials.simulate.pod_group_queue import PodGroupQueue
from kschedctl.trials.simulate.queued_pods import QueuedPodGroupInfo
from kschedctl.trials.simulate.simulation import Simulation
from tests.builders import make_cluster, make_members, make_node, make_pod, make_pod_group, make_profile, with_groups
from tests.example_counts import scaled
from tests.scheduler.framework.plugins import make_plugin

START = datetime(2026, 1, 1, tzinfo=UTC)
GANG = make_pod_group(min_count=2)


class Bench:
    """A queue with a clock that is set by hand, over a cluster with all pods that are added."""

    def __init__(self, *groups: PodGroup) -> None:
        self.time = START
        self.cluster = make_cluster([make_node("a")], [], *groups)
        self.queue = PodGroupQueue(Scheduler(self.cluster, with_groups("1.37")), lambda: self.time)

    def add(self, *pods: Pod) -> None:
        self.see(self.cluster.with_pods(added=pods))
        for pod in pods:
            self.time += timedelta(milliseconds=1)
            self.queue.add(pod)

    def see(self, cluster: Cluster) -> None:
        """Change the cluster that the plugins of the queue read."""
        self.cluster = cluster
        self.queue.scheduler = self.queue.scheduler.moved(cluster)

    def pop(self) -> str:
        """Return the members of the next entry; a pod by itself in brackets."""
        self.entry = self.queue.pop()
        if isinstance(self.entry, QueuedPodGroupInfo):
            return " ".join(info.pod.name for info in self.entry.members)
        return f"[{self.entry.pod.name}]" if self.entry is not None else ""

    def fail(self, code: Code = Code.UNSCHEDULABLE, *bound: str) -> None:
        """Let all members come back from the attempt, without those that were bound."""
        entry = self.entry
        assert isinstance(entry, QueuedPodGroupInfo)
        for info in list(entry.members):
            if info.pod.name not in bound:
                self.queue.add_unschedulable(info)
        self.queue.add_attempted_group(entry, code)

    def waits(self) -> int:
        """Return after how many seconds the next entry is active again."""
        for seconds in range(60):
            self.time += timedelta(seconds=1)
            self.queue.flush_backoff()
            if self.queue.n_active:
                return seconds + 1
        return -1


def test_members_are_one_entry() -> None:
    bench = Bench(GANG)
    bench.add(*make_members("b a"), make_pod("alone"))
    assert [bench.pop(), bench.pop(), bench.pop()] == ["b a", "[alone]", ""]


def test_members_are_in_the_order_of_priority_attempts_time_and_name() -> None:
    bench = Bench(make_pod_group(min_count=1))
    bench.add(*make_members("early"), *make_members("urgent", priority=5), *make_members("late"))
    assert bench.pop() == "urgent early late"
    bench.fail()
    bench.add(*make_members("new"))
    assert bench.waits() > 0
    # Members that were tried come before one that was not.
    assert bench.pop() == "urgent early late new"


def test_the_priority_of_the_group_decides_among_entries() -> None:
    bench = Bench(make_pod_group("low"), make_pod_group("high", priority=9))
    bench.add(*make_members("l", group="low", priority=99), make_pod("p", priority=5), *make_members("h", group="high"))
    assert [bench.pop() for _ in range(3)] == ["h", "[p]", "l"]


def test_members_without_their_group_are_in_no_queue_until_it_exists() -> None:
    bench = Bench()
    bench.add(*make_members("a b"))
    assert bench.pop() == ""
    bench.see(bench.cluster.with_added([GANG]))
    bench.queue.add_group(GANG)
    assert bench.pop() == "a b"


def test_members_leave_the_queue_with_their_group() -> None:
    bench = Bench(GANG)
    bench.add(*make_members("a b"))
    bench.see(bench.cluster.without([GANG]))
    bench.queue.delete_group(GANG)
    assert bench.pop() == ""
    bench.see(bench.cluster.with_added([GANG]))
    bench.queue.add_group(GANG)
    assert bench.pop() == "a b"


@pytest.mark.parametrize(
    ("pods", "popped"),
    [
        pytest.param(make_members("a"), "", id="1 of 2 exist"),
        pytest.param(make_members("a b"), "a b", id="2 of 2 exist"),
        pytest.param(
            [*make_members("a b"), *make_members("c", schedulingGates=[{"name": "wait"}])],
            "",
            id="one gated member holds back all",
        ),
    ],
)
def test_the_group_is_held_back_as_a_whole(pods: list[Pod], popped: str) -> None:
    bench = Bench(GANG)
    bench.add(*pods)
    assert bench.pop() == popped


def test_a_gate_that_goes_lets_the_group_go_on() -> None:
    bench = Bench(GANG)
    (gated,) = make_members("c", schedulingGates=[{"name": "wait"}])
    bench.add(*make_members("a b"), gated)
    (free,) = make_members("c")
    bench.see(bench.cluster.with_pods(added=[free]))
    bench.queue.update(gated, free)
    assert bench.pop() == "a b c"


def test_back_off_doubles_with_the_failures_up_to_ten_seconds_by_the_square_root_of_the_members() -> None:
    """1s, 2s, 4s, 8s, and then 10s x sqrt(4) = 20s: 16s, 20s; over with the second after its end."""
    bench = Bench(make_pod_group(min_count=4))
    bench.add(*make_members("a b c d"))
    found = []
    for _ in range(7):
        assert bench.pop() == "a b c d"
        bench.fail()
        found.append(bench.waits())
    assert found == [2, 3, 5, 9, 17, 21, 21]


def test_errors_count_in_a_row() -> None:
    bench = Bench(GANG)
    bench.add(*make_members("a b"))
    found = []
    for code in (Code.ERROR, Code.ERROR, Code.UNSCHEDULABLE, Code.ERROR):
        bench.pop()
        bench.fail(code)
        found.append(bench.waits())
    # The first rejection after two errors is the first rejection, and the error after it the first in a row.
    assert found == [2, 3, 2, 2]


def test_a_group_in_back_off_is_not_taken_early() -> None:
    """A group that failed is in the queue of errors; a pod that was rejected is taken when nothing else is active."""
    bench = Bench(GANG)
    bench.add(*make_members("a b"))
    bench.pop()
    bench.fail()
    assert (bench.queue.n_backoff, bench.pop()) == (1, "")


def test_the_rest_of_a_group_that_succeeded_is_active_at_once() -> None:
    bench = Bench(GANG)
    bench.add(*make_members("a b c"))
    bench.pop()
    bench.fail(Code.UNSCHEDULABLE)
    assert bench.waits() == 2
    bench.pop()
    bench.fail(Code.SUCCESS, "a", "b")
    assert bench.pop() == "c"
    # Its back-off is forgotten: the next failure counts as the first.
    bench.fail()
    assert bench.waits() == 2


def test_a_newcomer_joins_the_entry_where_it_is() -> None:
    bench = Bench(GANG)
    bench.add(*make_members("a b"))
    bench.pop()
    bench.add(*make_members("during"))
    bench.fail()
    bench.add(*make_members("after"))
    assert bench.pop() == ""
    assert bench.waits() == 2
    assert bench.pop() == "a b during after"


def test_members_that_are_deleted_leave_the_entry() -> None:
    bench = Bench(make_pod_group())
    one, other = make_members("a b")
    bench.add(one, other)
    bench.queue.delete(one)
    assert bench.pop() == "b"
    bench.fail()
    bench.queue.delete(other)
    assert bench.waits() == -1


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
            simulation.scheduler.framework("default-scheduler").moved(before), decision.group.unscheduled
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
    placements = [(p.placement.name, p.status, decision.n_fitting_in(p)) for p in decision.placements]
    return decision.status, members, victims, placements, decision.waits_for_victims


def decided_anew(simulation: Simulation, decision: PodGroupDecision) -> PodGroupDecision:
    """Return the decision over a cluster built from the objects of the decision's cluster."""
    objects = [obj for obj, _ in ClusterReader(decision.cluster, ReadSummary())]
    framework = Scheduler(make_cluster([], [], *objects), simulation.scheduler.release).framework("default-scheduler")
    return schedule_pod_group(framework, decision.group.unscheduled)


def placed(scheduler: Scheduler) -> dict[str, str]:
    """Return the node of every pod."""
    pods = scheduler.cluster.pods
    return {pods.key(index): pods.records[index].node_name for index in range(len(pods))}
