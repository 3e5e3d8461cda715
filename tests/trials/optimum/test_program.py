"""Integer programs, the question they answer, and patterns: bounds are bounds, and solutions are the best."""

import random
import signal
import subprocess
import sys
import threading
import time
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedctl.cluster.cluster import Cluster
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.optimum.final_goal import FinalGoal
from kschedctl.trials.optimum.goals import Goal, Opened, goals_of
from kschedctl.trials.optimum.patterns import Patterns
from kschedctl.trials.optimum.program import Linear, Patience, Program, total
from kschedctl.trials.optimum.question import PlacementQuestion, no_evictions, pose
from kschedctl.trials.optimum.search import best
from kschedctl.trials.optimum.sites import PodCapacities, grouped_sites, single_node_sites
from tests.builders import HOSTNAME, ZONE, make_cluster, make_node, make_pod
from tests.trials.optimum.test_exhaustive import clusters

_COEFFICIENTS = st.lists(st.integers(-4, 4), min_size=3, max_size=3)


def value(coefficients: list[int], values: tuple[int, ...]) -> int:
    return sum(c * x for c, x in zip(coefficients, values, strict=True))


def expression(coefficients: list[int], variables: list[Linear]) -> Linear:
    return total(c * x for c, x in zip(coefficients, variables, strict=True))


@settings(deadline=None)
@given(
    objective=_COEFFICIENTS,
    rules=st.lists(
        st.tuples(_COEFFICIENTS, st.integers(-6, 9), st.sampled_from(["always", "when", "exactly"])), max_size=3
    ),
    maximize=st.booleans(),
    start=st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 1)),
    presolve=st.booleans(),
)
def test_the_best_of_all_values_is_found(
    objective: list[int],
    rules: list[tuple[list[int], int, str]],
    maximize: bool,
    start: tuple[int, int, int],
    presolve: bool,
) -> None:
    program = Program()
    variables = [program.variable(2), program.variable(2), program.variable()]
    for coefficients, limit, kind in rules:
        left = expression(coefficients, variables)
        program.add(
            left.equals(limit) if kind == "exactly" else left <= limit, variables[2] if kind == "when" else None
        )

    def allowed(values: tuple[int, ...]) -> bool:
        return all(
            value(coefficients, values) == limit
            if kind == "exactly"
            else value(coefficients, values) <= limit or (kind == "when" and not values[2])
            for coefficients, limit, kind in rules
        )

    possible = [value(objective, each) for each in product(range(3), range(3), range(2)) if allowed(each)]
    solution = program.optimize(
        expression(objective, variables),
        maximize=maximize,
        seconds=600,
        start={x.terms[0][0]: n for x, n in zip(variables, start, strict=True)},
        presolve=presolve,
    )
    if not possible:
        assert solution is None
        return
    best = max(possible) if maximize else min(possible)
    assert solution is not None
    assert solution.of(expression(objective, variables)) == best
    assert abs(solution.bound - best) < 1


def test_a_start_that_becomes_better_in_the_smaller_program() -> None:
    """HiGHS 1.16 returns the start, which is worth 2, and says that it is worth 3."""
    program = Program()
    a, b, c, d = program.variable(), program.variable(2), program.variable(), program.variable()
    e, f, g, h = (program.variable() for _ in range(4))
    for rule in (
        a + b <= 2,
        c + d <= 1,
        a + c <= 2,
        3 * a + 4 * c <= 4,
        b + d <= 2,
        3 * b + 4 * d <= 6,
        c <= e,
        e <= a + f,
        d <= g,
        g <= b + h,
        f + h <= 1,
        a + b + c + d <= 3,
    ):
        program.add(rule)
    start = {x.terms[0][0]: n for x, n in zip((a, b, c, d), (1, 1, 0, 0), strict=True)}
    solution = program.optimize(a + b + c + d, maximize=True, seconds=600, start=start)
    assert solution is not None
    assert (solution.of(a + b + c + d), solution.bound) == (3, 3)


def test_amounts_in_bytes_are_exact() -> None:
    program = Program()
    x = program.variable(10)
    program.add(x * (128 * 2**20) <= 3 * 128 * 2**20 - 1)
    solution = program.optimize(x, maximize=True, seconds=600)
    assert solution is not None
    assert solution.of(x) == 2


def test_the_price_of_a_row_is_what_one_more_is_worth() -> None:
    program = Program()
    x = program.variable(100)
    row = program.add(2 * x <= Linear(constant=10))
    limit = program.add(Linear() <= 3)
    first = program.relax(7 * x)
    assert first is not None
    y = program.variable(100)
    program.extend(limit, y.terms[0][0], 1)
    second = program.relax(7 * x + 2 * y, first)
    assert second is not None
    # The rule is divided by 2.
    assert (first.value, second.value, second.duals[row], second.duals[limit]) == (35, 41, 7, 2)


def test_the_solver_prints_nothing() -> None:
    lines = (
        "from kschedctl.trials.optimum.program import Program, total",
        "program = Program()",
        "x = program.variable(3)",
        "program.add(x <= 2)",
        "print(program.optimize(x, maximize=True, seconds=600).of(x), program.relax(x).value)",
    )
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("2 2.0\n", "")


def test_an_interrupt_stops_the_solver() -> None:
    # A market split problem: it has no solution, and the proof takes hours.
    draw = random.Random(1)
    program = Program()
    variables = [program.variable() for _ in range(50)]
    for _ in range(6):
        weights = [draw.randrange(100) for _ in variables]
        program.add(total(w * x for w, x in zip(weights, variables, strict=True)).equals(sum(weights) // 2))
    before = threading.active_count()
    main = threading.get_ident()
    stopped = threading.Event()

    def interrupt() -> None:
        # Python drops an interrupt that comes while a destructor runs; on a busy machine, that can be the first one.
        for delay in (0.5, 20, 20, 20):
            if stopped.wait(delay):
                return
            signal.pthread_kill(main, signal.SIGINT)

    user = threading.Thread(target=interrupt)

    def optimize() -> None:
        user.start()
        program.optimize(variables[0], maximize=True, seconds=600)

    # A command that was interrupted in this process leaves the signal ignored.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            optimize()
    finally:
        stopped.set()
        user.join()
        signal.signal(signal.SIGINT, handler)
    assert threading.active_count() == before


@pytest.mark.parametrize("amount", [10**9, 10**12 + 1, 10**15 + 1, 2**62])
def test_large_amounts_are_solved(amount: int) -> None:
    program = Program()
    x, y = program.variable(5), program.variable(5)
    program.add(amount * x + 3 * y <= 2 * amount)
    found = program.optimize(x, maximize=True, seconds=600)
    assert found is not None
    assert found.of(x) == 2


@settings(deadline=None)
@given(clusters("ports", "anti-affinity", "spread", waiting=4))
def test_no_placement_is_beyond_the_bound(cluster: Cluster) -> None:
    question = pose(Scheduler(cluster), no_evictions)
    goals = goals_of(question, FinalGoal.SCORES)
    found = best(question, seconds=600)
    assert found.proven
    capacity = PodCapacities(question)
    reached: list[tuple[Goal, int]] = []
    for standing in found.standings:
        patterns = Patterns(capacity, single_node_sites(capacity))
        patterns.take(found.placement)
        bound = patterns.bound(standing.goal, reached, time.monotonic() + 600)
        assert bound is not None
        assert bound >= standing.value - 1e-6
        reached.append((standing.goal, standing.value))
    assert [goal.name for goal, _ in reached] == [goal.name for goal in goals]


def market_split(n_rows: int) -> tuple[Program, Linear]:
    """Return a program whose distance from even halves is hard to prove, and that distance, negative."""
    draw = random.Random(1)
    program = Program()
    chosen = [program.variable() for _ in range(10 * (n_rows - 1))]
    distances = []
    for _ in range(n_rows):
        weights = [draw.randrange(100) for _ in chosen]
        off = total(w * x for w, x in zip(weights, chosen, strict=True)) - sum(weights) // 2
        distances.append(program.variable(sum(weights)))
        program.add(off <= distances[-1])
        program.add(-off <= distances[-1])
    return program, -total(distances)


def test_a_search_ends_if_no_better_solution_comes() -> None:
    program, objective = market_split(5)
    patience = Patience(0.2)
    found = program.optimize(objective, maximize=True, seconds=600, patience=patience)
    assert patience.ran_out
    assert found is not None
    assert found.of(objective) < found.bound


def test_a_search_with_patience_proves_what_is_proven_at_once() -> None:
    program, objective = market_split(2)
    patience = Patience(60)
    found = program.optimize(objective, maximize=True, seconds=600, patience=patience)
    assert not patience.ran_out
    assert found is not None
    assert found.of(objective) == round(found.bound)


def test_nodes_are_filled_without_parts_of_pods() -> None:
    # Three pods of 3 CPU would be 2.25 nodes of 4 in parts; each takes a node of its own.
    cluster = make_cluster(
        [make_node(f"n{i}") for i in range(4)], [make_pod(f"w{i}", requests={"cpu": "3"}) for i in range(3)]
    )
    question = pose(Scheduler(cluster), no_evictions)
    capacity = PodCapacities(question)
    (site,) = grouped_sites(capacity)
    assert site.n_nodes == 4
    patterns = Patterns(capacity, [site])
    placed, opened = goals_of(question, FinalGoal.NODES)
    assert isinstance(opened, Opened)
    bound = patterns.bound(placed, [], time.monotonic() + 600)
    assert bound is not None
    assert round(bound, 3) == 3
    fewest = patterns.bound(opened, [(placed, 3)], time.monotonic() + 600)
    assert fewest is not None
    assert round(fewest, 3) == 3
    found = patterns.best(opened, [(placed, 3)], 10)
    assert found is not None
    assert sorted(found.placed.values()) == [1, 1, 1]


def test_an_overcommitted_node_is_filled_with_pods_that_request_none_of_the_resource() -> None:
    cluster = make_cluster(
        [make_node("n0", cpu="4", memory="1Gi")],
        [
            make_pod("large", node="n0", requests={"memory": "2Gi"}),
            *(make_pod(f"w{i}", requests={"cpu": "1"}) for i in range(2)),
            make_pod("m", requests={"memory": "1Gi"}),
        ],
    )
    question = pose(Scheduler(cluster), no_evictions)
    capacity = PodCapacities(question)
    placed, *_ = goals_of(question, FinalGoal.NODES)
    bound = Patterns(capacity, single_node_sites(capacity)).bound(placed, [], time.monotonic() + 600)
    assert bound is not None
    assert round(bound, 3) == 2


RS = ("apps/v1", "ReplicaSet", "web")


def ask(*pods: Any, nodes: Any = None, evicting: bool = True) -> PlacementQuestion:
    cluster = make_cluster(nodes or [make_node("a"), make_node("b")], pods)
    return pose(Scheduler(cluster), None if evicting else no_evictions)


def names(question: PlacementQuestion) -> list[list[str]]:
    return [[pod.name for pod in kind.pods] for kind in question.kinds]


def test_replicas_are_one_kind_whatever_labels_nobody_reads() -> None:
    replicas = [make_pod(f"web-{i}", labels={"app": "web", "pod-name": f"web-{i}"}, owner=RS) for i in range(3)]
    assert names(ask(*replicas)) == [["web-0", "web-1", "web-2"]]


def test_a_label_that_a_term_reads_tells_kinds_apart() -> None:
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "web"}}}
    far = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    other = make_pod("other", affinity=far, node="a")
    question = ask(make_pod("p", labels={"app": "web"}), make_pod("q", labels={"app": "db"}), other)
    assert names(question) == [["p"], ["q"]]


def test_requests_tell_kinds_apart() -> None:
    assert names(ask(make_pod("p", requests={"cpu": "1"}), make_pod("q", requests={"cpu": "2"}))) == [["p"], ["q"]]


def test_pods_at_a_gate_and_of_other_schedulers_take_no_part() -> None:
    gated = make_pod("gated", schedulingGates=[{"name": "wait"}])
    question = ask(make_pod("p"), gated, make_pod("theirs", schedulerName="other"))
    assert (names(question), question.gated) == ([["p"]], ("default/gated",))


def test_who_may_be_evicted_is_of_lower_priority_than_some_pod_that_evicts() -> None:
    running = [make_pod(f"r{i}", node="a", priority=priority) for i, priority in enumerate((0, 5, 10))]
    assert len(ask(make_pod("p", priority=10), *running).occupants) == 2
    assert ask(make_pod("p", priority=10, preemptionPolicy="Never"), *running).occupants == ()
    assert ask(make_pod("p", priority=10), *running, evicting=False).occupants == ()


def test_who_is_made_again_is_of_a_kind_that_waits_for_nothing_yet() -> None:
    question = ask(make_pod("p", priority=10), make_pod("r", node="a", owner=RS), make_pod("bare", node="a"))
    assert names(question) == [["p"], []]
    assert sorted(occupants.kind for occupants in question.occupants) == [-1, 1]


def test_nodes_that_nothing_tells_apart_are_one_site() -> None:
    nodes = [make_node(f"n{i}", zone=f"z{i % 2}") for i in range(6)]
    plain = ask(make_pod("p", requests={"cpu": "1"}), nodes=nodes)
    assert [site.n_nodes for site in grouped_sites(PodCapacities(plain))] == [6]
    term = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
    }
    spread = ask(make_pod("p", labels={"app": "a"}, topologySpreadConstraints=[term]), nodes=nodes)
    assert [site.n_nodes for site in grouped_sites(PodCapacities(spread))] == [3, 3]
    used = ask(make_pod("p", requests={"cpu": "1"}), make_pod("r", node="n1", requests={"cpu": "1"}), nodes=nodes)
    assert [site.rows for site in grouped_sites(PodCapacities(used))] == [(0, 2, 3, 4, 5), (1,)]
