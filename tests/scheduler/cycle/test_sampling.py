"""The search for feasible nodes, and the nodes that its starts lead to."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.cluster.nodes import Nodes
from kschedctl.common.arrays import Int64Array
from kschedctl.objects.core import Node, Service
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import LATEST
from kschedctl.objects.well_known import HOSTNAME
from kschedctl.scheduler.cycle.cycle import schedule_pod
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.outcome import SearchScope
from kschedctl.scheduler.cycle.sampling import (
    num_feasible_nodes_to_find,
    sampled_choice,
    samples,
    search_order,
    search_scope,
)
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.config.load import load_configuration
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.interface import Plugin, PluginError, PreScorePlugin, ScorePlugin
from kschedctl.scheduler.framework.status import SKIP, Status
from kschedctl.scheduler.plugins.registry import in_tree_registry
from tests.builders import ZONE, decide, make_cluster, make_node, make_object, make_pod, make_profile
from tests.reference import sampling as reference
from tests.scheduler.extenders.scheduling import make_scheduler
from tests.scheduler.extenders.server import ExtenderServer, leaving
from tests.scheduler.framework.plugins import filtering, make_framework, make_plugin
from tests.strategies import nodes, pods

REGION = "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
WEB = make_pod("web")


@pytest.mark.parametrize(
    ("percentage", "n_nodes", "n_to_find"),
    [
        pytest.param(0, 10, 10, id="fewer than 100 nodes: all"),
        pytest.param(40, 10, 10, id="fewer than 100 nodes: all, whatever the percentage"),
        pytest.param(0, 99, 99, id="the last size at which all nodes are looked at"),
        pytest.param(0, 100, 100, id="50 % of 100 is less than the minimum of 100"),
        pytest.param(0, 101, 100, id="the first size with a sample"),
        pytest.param(0, 250, 120, id="50 - 250 // 125 = 48 % of 250"),
        pytest.param(0, 1000, 420, id="50 - 8 = 42 %"),
        pytest.param(40, 1000, 400, id="a percentage"),
        pytest.param(5, 1000, 100, id="5 % of 1000 is less than the minimum"),
        pytest.param(0, 5000, 500, id="50 - 40 = 10 %"),
        pytest.param(0, 5624, 337, id="50 - 44 = 6 %, truncated"),
        pytest.param(0, 6000, 300, id="50 - 48 = 2 %, but at least 5 %"),
        pytest.param(40, 6000, 2400, id="a percentage of a large cluster"),
        pytest.param(100, 6000, 6000, id="100 %"),
    ],
)
def test_the_number_of_feasible_nodes_to_find(percentage: int, n_nodes: int, n_to_find: int) -> None:
    assert num_feasible_nodes_to_find(percentage, n_nodes) == n_to_find


#: The nodes of upstream's test of the node tree: region and zone by name.
TREE: dict[str, Mapping[str, str]] = {
    "node-0": {},
    "node-1": {REGION: "region-1"},
    "node-2": {ZONE: "zone-2"},
    "node-3": {REGION: "region-1", ZONE: "zone-2"},
    "node-4": {REGION: "region-1", ZONE: "zone-2"},
    "node-5": {REGION: "region-1", ZONE: "zone-3"},
    "node-6": {REGION: "region-2", ZONE: "zone-2"},
    "node-7": {REGION: "region-2", ZONE: "zone-2"},
    "node-8": {REGION: "region-2", ZONE: "zone-2"},
    "node-9": {REGION: "other", ZONE: "other", BETA_REGION: "region-2", BETA_ZONE: "zone-2"},
}


@pytest.mark.parametrize(
    ("names", "order"),
    [
        pytest.param("0", "0", id="one node"),
        pytest.param("0 1 2 3", "0 1 2 3", id="a zone each"),
        pytest.param("0 1 2 3 4 5 6 7 8", "0 1 2 3 5 6 4 7 8", id="zones take turns"),
        pytest.param("8 7 6 5 4 3 2 1 0", "0 1 2 3 5 6 4 7 8", id="by name, whatever the order of the snapshot"),
        pytest.param("3 4 5 6 9", "3 5 6 4 9", id="the deprecated labels count first"),
    ],
)
def test_the_order_of_the_search(names: str, order: str) -> None:
    tree = Nodes([make_node(f"node-{n}", labels=TREE[f"node-{n}"]) for n in names.split()])
    assert [tree.names[row] for row in search_order(tree)] == [f"node-{n}" for n in order.split()]


ASPECTS = ("requests", "tolerations", "nodeAffinity", "podAffinity", "spread")


@st.composite
def searches(draw: st.DrawFn) -> tuple[list[Node], list[Pod], Pod, list[Service]]:
    """Draw nodes, running pods, the pod in question, and maybe a service that gives it the default constraints."""
    made = draw(nodes("taints", "labels", "offers", most=9).filter(lambda made: len(made) > 2))
    names = st.sampled_from([node.name for node in made])
    running = [draw(pods("podAffinity", name=f"p{i}", node=draw(names))) for i in range(draw(st.integers(0, 6)))]
    aspects = draw(st.sets(st.sampled_from(ASPECTS), max_size=4))
    services = [make_object(Service, "s", namespace="default", spec={"selector": {"app": "a"}})]
    return made, running, draw(pods(*aspects)), services if draw(st.booleans()) else []


@given(searches(), st.integers(0, 7))
def test_samples_equal_a_cycle_per_start(drawn: tuple[list[Node], list[Pod], Pod, list[Service]], number: int) -> None:
    made, running, pod, services = drawn
    cluster = make_cluster(made, running, *services)
    decision = Scheduler(cluster).decide(pod)
    feasible = {node.name for node in made if decision.schedulable and decision.node(node.name).feasible}
    if len(feasible) < 2:
        return
    n_to_find = 1 + number % (len(feasible) - 1)
    order, names = reference.search_order(made), cluster.nodes.names
    framework = Scheduler(cluster).framework("default-scheduler")
    found = list(samples(decision, n_to_find))
    assert sum(sample.n_starts for sample in found) == len(made)
    for sample in found:
        for start in range(sample.first_start, sample.first_start + sample.n_starts):
            of_start, following = reference.search(order, feasible, start % len(made), n_to_find)
            assert [names[row] for row in sample.rows] == of_start
            assert sample.next_start == following
            among = np.array(sorted(sample.rows), dtype=np.int64)
            assert cluster.nodes.sorted_names(sample.best) == schedule_pod(framework, pod, among=among).best


def outcomes(decision: Decision, n_to_find: int) -> list[tuple[str, str]]:
    """Return the nodes of each sample, and the best of them."""
    names = decision.cluster.nodes.names
    return [
        ("".join(names[row] for row in sample.rows), "".join(names[row] for row in sample.best))
        for sample in samples(decision, n_to_find)
    ]


def pre_score_of_three(self: Plugin, state: CycleState, pod: Pod, rows: Int64Array) -> Status:
    names = {self.handle.cluster.nodes.names[row] for row in rows}
    if names == {"c", "d"}:
        raise PluginError("out of order")
    return SKIP if "a" in names else Status()


def score_by_place(self: Plugin, state: CycleState, pod: Pod, rows: Int64Array) -> Int64Array:
    return np.arange(len(rows), dtype=np.int64)


def test_a_plugin_without_declared_dependencies_runs_for_each_sample() -> None:
    plugin = make_plugin("Own", PreScorePlugin, ScorePlugin, pre_score=pre_score_of_three, score=score_by_place)
    framework = make_framework(make_cluster(map(make_node, "abcde")), filtering("All", {}), plugin)
    decision = schedule_pod(framework, WEB)
    # With a in the sample, PreScore returns Skip. An error ends the cycle. The sample ea begins at the last node.
    assert outcomes(decision, 2) == [("ab", "ab"), ("bc", "c"), ("cd", ""), ("de", "e"), ("ea", "ea")]


def test_extenders_reject_nodes_of_a_sample() -> None:
    with ExtenderServer({"filter": leaving("a", "e")}) as server:
        own = {"urlPrefix": server.url, "filterVerb": "filter", "nodeCacheCapable": True}
        decision = make_scheduler(map(make_node, "abcde"), own).decide(WEB)
        assert outcomes(decision, 2) == [("a", "a"), ("", ""), ("", ""), ("e", "e"), ("ea", "ea")]
        assert len(server.asked) == 1


def many(number: int, **fields: Any) -> list[Node]:
    return [make_node(f"n{i:03d}", labels={ZONE: f"z{i % 3}", HOSTNAME: f"n{i:03d}"}, **fields) for i in range(number)]


def naming(nodes: list[Node]) -> dict[str, Any]:
    """Return an affinity that names nodes, which PreFilter leaves."""
    expression = {"key": "metadata.name", "operator": "In"}
    terms = [{"matchFields": [{**expression, "values": [node.name]}]} for node in nodes]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


@pytest.mark.parametrize(
    ("pod", "cluster", "percentage", "scope"),
    [
        (WEB, many(99), 10, SearchScope.ALL_NODES),
        (WEB, many(150), 100, SearchScope.ALL_NODES),
        (WEB, many(150), 0, SearchScope.SAMPLE),
        (WEB, [*many(90), *many(150, unschedulable=True)[90:]], 0, SearchScope.ALL_FEASIBLE),
        (make_pod(WEB.name, status={"nominatedNodeName": "n007"}), many(150), 0, SearchScope.NOMINATED),
        (make_pod("web", affinity=naming(many(50))), many(150), 0, SearchScope.ALL_NODES),
        (make_pod("web", affinity=naming(many(140))), many(150), 0, SearchScope.PRE_FILTER),
    ],
    ids=["few nodes", "100 %", "sample", "few feasible nodes", "nominated", "named nodes", "many named nodes"],
)
def test_the_scope_of_a_search(pod: Pod, cluster: list[Node], percentage: int, scope: SearchScope) -> None:
    decision = decide(pod, make_cluster(cluster))
    assert search_scope(decision, percentage) is scope
    choice = sampled_choice(decision, percentage)
    if scope is not SearchScope.SAMPLE:
        assert decision.cluster.nodes.sorted_names(choice.rows) == decision.best
        assert set(choice.starts.tolist()) == {len(decision.searched)}
    assert choice.chance.sum() == pytest.approx(1)


def test_a_profile_without_scores_takes_the_first_feasible_node() -> None:
    config = make_profile(plugins={"score": {"disabled": [{"name": "*"}]}, "preScore": {"disabled": [{"name": "*"}]}})
    cluster = many(40)
    cluster[3] = make_node("n003", unschedulable=True, labels=dict(cluster[3].metadata.labels))
    choice = sampled_choice(decide(WEB, make_cluster(cluster), config=config), 0)
    # The starts n003 and n006 have the same first feasible node, as the zones of three nodes take turns.
    assert sorted(choice.starts.tolist()) == [1] * 38 + [2]


def test_the_most_likely_node_comes_first() -> None:
    cluster = [*many(150), make_node("best", cpu="64", memory="256Gi", labels={ZONE: "z0", HOSTNAME: "best"})]
    decision = decide(make_pod("web", requests={"cpu": "1", "memory": "1Gi"}), make_cluster(cluster))
    choice = sampled_choice(decision, 0)
    assert decision.best == ("best",)
    names = [decision.cluster.nodes.names[row] for row in choice.rows]
    # The sample of 100 of 151 nodes has the best node for 100 starts.
    assert (names[0], choice.starts[0], choice.chance[0]) == ("best", 100, pytest.approx(100 / 151))
    assert names[1:] == sorted(names[1:], key=lambda name: (-choice.chance[names.index(name)], name))
    assert len(names) == 151
    assert choice.unscheduled == 0


@pytest.mark.parametrize(
    ("config", "percentage"),
    [
        ({}, 0),
        ({"percentageOfNodesToScore": 30}, 30),
        ({"percentageOfNodesToScore": 30, "profiles": [{"percentageOfNodesToScore": 0}]}, 0),
        ({"percentageOfNodesToScore": 30, "profiles": [{"percentageOfNodesToScore": 70}]}, 70),
    ],
    ids=["by default adaptive", "that of all profiles", "the profile's own may be 0", "the profile's own"],
)
def test_the_percentage_of_a_profile(config: dict[str, Any], percentage: int) -> None:
    registry = in_tree_registry()
    written = {**make_profile(), "profiles": [{}], **config}
    loaded = load_configuration(written, release=LATEST, implements=registry.extension_points(LATEST))
    scheduler = Scheduler(make_cluster(many(1)), LATEST, loaded, registry)
    assert scheduler.percentage_of_nodes_to_score("default-scheduler") == percentage
