"""The charts of an explanation: which there are, and scores of any sign."""

import json

import pytest
from msgspec.structs import replace

from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.output.data_forms import as_json
from kschedctl.questions.charts import Bars, NodeMap
from kschedctl.questions.explain.answer import (
    ConstraintData,
    Explanation,
    FilterCheckData,
    NodeData,
    NodeScoreData,
    NodeStoryData,
    PluginScoreData,
    PreferenceData,
    ReasonData,
    ScoresData,
    WithstandingData,
    ZoneLossData,
)
from kschedctl.questions.explain.document import ExplainView, document, withstanding_section
from kschedctl.questions.explain.document_of_nodes import (
    arithmetic_section,
    claims_section,
    compared,
    domain_bars,
    domains_section,
    preference_section,
    room_section,
    score_bars,
)
from kschedctl.questions.explain.story import story_data
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.status import Reason
from kschedctl.scheduler.plugins.inter_pod_affinity.filtering import ExistingAntiAffinity, OwnAntiAffinity
from kschedctl.scheduler.plugins.pod_topology_spread.filtering import SkewTooHigh
from kschedctl.scheduler.plugins.topology import NoTopologyLabel
from tests.answer_schema import validate
from tests.builders import GPU, make_cluster, make_container, make_loaded, make_node, make_pod
from tests.questions.drawn import cells, parts, view_of
from tests.questions.explain.test_explanation import explain
from tests.questions.printing import lines
from tests.scheduler.devices.builders import claiming_pod, make_claim, make_class, make_device, make_slice, request

CLUSTER = make_loaded(
    make_cluster(
        [make_node("a", cpu="4"), make_node("b", cpu="8"), make_node("c", cpu="2", unschedulable=True)],
        [make_pod("fits", requests={"cpu": "1"}), make_pod("huge", requests={"cpu": "9"})],
    )
)


def titles(pod: str, **options: object) -> list[str]:
    base = view_of(CLUSTER)
    view = ExplainView(wide=True, drawn=True, overview=base.overview, describe=base.describe, **options)  # type: ignore[arg-type]
    return [
        each.title
        for each in document(SchedulingCluster(CLUSTER).explain(pod), view)
        if isinstance(each, NodeMap | Bars)
    ]


@pytest.mark.parametrize(
    ("pod", "options", "expected"),
    [
        pytest.param(
            "default/fits", {}, ["Map of the nodes", "Resources of b", "Scores by plugin"], id="one-of-the-best-nodes"
        ),
        pytest.param("default/huge", {}, ["Map of the nodes", "Resources of b"], id="the-closest-node"),
        pytest.param(
            "default/huge",
            {"nodes": ("b", "c")},
            ["Map of the nodes", "Resources of b", "Resources of c"],
            id="named-nodes",
        ),
        pytest.param("default/huge", {"applied": True}, ["Map of the nodes"], id="not-as-the-cluster-is"),
    ],
)
def test_charts(pod: str, options: dict[str, object], expected: list[str]) -> None:
    assert titles(pod, **options) == expected


def scores(*totals: dict[str, int]) -> ScoresData:
    nodes = tuple(
        NodeScoreData(f"n{i}", sum(each.values()), {name: PluginScoreData(n, n, n) for name, n in each.items()})
        for i, each in enumerate(totals)
    )
    return ScoresData(dict.fromkeys(totals[0], 1), nodes)


@pytest.mark.parametrize(
    ("totals", "expected"),
    [
        ([{"A": 5, "B": 2}, {"A": 1, "B": 0}], {"n0": ["A: 5", "B: 2"], "n1": ["A: 1"]}),
        ([{"A": 0, "B": 0}, {"A": 0, "B": 0}], {"n0": [], "n1": []}),
    ],
)
def test_scores_by_plugin(totals: list[dict[str, int]], expected: dict[str, list[str]]) -> None:
    assert parts(score_bars(scores(*totals))) == expected


SKEW = SkewTooHigh("zone", "a", matching=2, minimum=0, skew=3, max_skew=1)


def printed(operands: Operands) -> list[str]:
    blocks = domains_section([ReasonData.of("PodTopologySpread", Reason("", operands))])
    return [" ".join(line.split()) for line in lines(blocks, 100)]


@pytest.mark.parametrize(
    ("domains", "words", "rows"),
    [
        pytest.param({"b": 0, "a": 2}, "allowed", ["a 2 this node's", "b 0 fewest"], id="two-domains"),
        pytest.param({"a": 2}, "allowed (the minimum counts as 0)", ["a 2 this node's, fewest"], id="too-few-domains"),
    ],
)
def test_domains_are_listed_with_their_counts(domains: dict[str, int], words: str, rows: list[str]) -> None:
    table = printed(replace(SKEW, domains=domains))
    assert table[1] == f"Matching pods by zone: with this pod the skew is 3, maxSkew 1 is {words}"
    assert table[2:] == ["zone pods", *rows]


def test_reasons_without_domains_have_no_table() -> None:
    assert printed(SKEW) == []
    assert printed(NoTopologyLabel("zone")) == []


def node(name: str, *operands: Operands) -> NodeData:
    reasons = tuple(ReasonData.of("Plugin", Reason("", each)) for each in operands)
    return NodeData(name, "", False, "Unschedulable", "Plugin", reasons)


ACCEPTED = "matching pods, where the pod is accepted"
TOO_HIGH = "matching pods, where the skew would be too high"
SPREAD = ConstraintData("PodTopologySpread", "zone", {"a": 2, "b": 0}, 2, True, 0, 1)
NEAR = ConstraintData("InterPodAffinity", "rack", {"r1": 3, "r2": 0}, 2, False)


def test_domains_of_a_spread_constraint_have_bars_up_to_the_limit() -> None:
    (chart,) = domain_bars([SPREAD], ())
    assert chart.title == "Matching pods by zone, maxSkew 1"
    assert cells(chart) == [("a", "2 pods", "3"), ("b", "0 pods", "1")]
    assert parts(chart) == {"a": [f"{TOO_HIGH}: 2 pods", "this pod: 1 pod"], "b": ["this pod: 1 pod"]}
    assert {row.mark for row in chart.rows} == {1}
    assert chart.note == "the line marks the fewest (0) plus maxSkew (1)"


def test_a_pod_that_does_not_match_itself_is_not_drawn() -> None:
    (chart,) = domain_bars([replace(SPREAD, own=False, pods={"a": 2, "b": 1})], ())
    assert parts(chart) == {"a": [f"{TOO_HIGH}: 2 pods"], "b": [f"{ACCEPTED}: 1 pod"]}


def test_domains_that_are_left_out_are_counted() -> None:
    (chart,) = domain_bars([replace(SPREAD, domains=70)], ())
    assert chart.note.endswith("; and 10 more domains")


def test_domains_of_affinity_have_the_pods_that_match() -> None:
    (chart,) = domain_bars([NEAR], ())
    assert cells(chart) == [("r1", "3 pods"), ("r2", "0 pods")]
    assert parts(chart) == {"r1": ["pods that match all terms: 3 pods"], "r2": []}
    assert chart.note == ""


def test_the_first_pod_of_a_series_needs_no_other() -> None:
    (chart,) = domain_bars([replace(NEAR, pods={"r1": 0}, own=True)], ())
    assert chart.note == "no pod matches: the first pod that matches itself is accepted in any domain"


def test_constraints_have_a_chart_each() -> None:
    assert [chart.headings[0] for chart in domain_bars([SPREAD, NEAR], ())] == ["zone", "rack"]


def test_pods_in_the_way_by_domain() -> None:
    own, existing = OwnAntiAffinity("zone", "a", "ns/x", 2), ExistingAntiAffinity("zone", "b", "ns/y", 1)
    (chart,) = domain_bars((), [node("n1", own), node("n2", own), node("n3", existing)])
    assert cells(chart) == [("a", "2 pods", "ns/x"), ("b", "1 pod", "ns/y")]
    assert parts(chart) == {
        "a": ["pods that the pod's anti-affinity selects: 2 pods"],
        "b": ["pods whose anti-affinity selects the pod: 1 pod"],
    }


def test_other_reasons_have_no_chart() -> None:
    assert list(domain_bars((), [node("n1", NoTopologyLabel("zone"))])) == []


FITS = PreferenceData("b", True, False, "a", 90, 100, (), ())


def story() -> NodeStoryData:
    running = [make_pod(f"p{i}", node="a", requests={"cpu": f"{100 * i}m"}) for i in range(1, 8)]
    scheduler = Scheduler(make_cluster([make_node("a"), make_node("b")], running))
    return story_data(scheduler.decide(make_pod(requests={"cpu": "1", "memory": "1Gi"})), 0)


def test_what_the_node_offers_and_what_is_left() -> None:
    rooms = {one.resource: (one.allocatable, one.requested, one.wanted, one.left) for one in story().room}
    assert rooms == {
        "cpu": ("4", "2800m", "1", "200m"),
        "memory": ("8Gi", "0", "1Gi", "7Gi"),
        "pods": ("110", "7", "1", "102"),
    }


def test_the_largest_users_are_told_and_the_others_counted() -> None:
    told = story()
    assert [pod.pod for pod in told.pods] == [f"default/p{i}" for i in (7, 6, 5, 4, 3)]
    assert told.pods[0].requests == {"cpu": "700m", "memory": "0"}
    assert told.more_pods == 2
    assert lines(room_section(told), 80)[-1] == "  and 2 more pods"


def test_the_steps_lead_to_the_total() -> None:
    told = story()
    printed = [line.strip() for line in lines(arithmetic_section(told.scores), 200)]
    total = sum(one.weighted for one in told.scores)
    assert f"total = {' + '.join(str(one.weighted) for one in told.scores)} = {total}" in printed
    assert "cpu = 100 * (4000 - 3800) // 4000 = 5 (with this pod 3.8 of 4 are requested)" in printed


def test_what_a_reason_tells_is_not_told_again() -> None:
    checks = [
        FilterCheckData("P", "2 cpu", "free 1 of 4", False),
        FilterCheckData("P", "1Gi memory", "free 2Gi of 8Gi", True),
        FilterCheckData("P", "1 gpu", "free 0 of 1", False),
    ]
    reason = ReasonData.of("P", Reason("Insufficient cpu"))
    assert compared([reason], checks) == [
        "Insufficient cpu",
        "1Gi memory: free 2Gi of 8Gi",
        "also fails: 1 gpu: free 0 of 1",
    ]
    assert compared([], checks[1:2]) == ["1Gi memory: free 2Gi of 8Gi"]
    assert compared([], []) == [""]


def test_nothing_that_was_tried_does_it() -> None:
    printed = lines(preference_section(FITS, ""), 80)
    assert printed[1] == "b is 10 points behind a."
    assert printed[-1] == "No single change that was tried would move the pod to b."


def test_a_node_that_does_not_fit_says_why() -> None:
    unfit = PreferenceData("b", False, False, "", 0, 0, (), ())
    assert lines(preference_section(unfit, "taint x is not tolerated"), 80)[1:] == [
        "No preference moves the pod to b: it does not fit there.",
        "  taint x is not tolerated",
    ]


def test_what_is_not_known_of_losses_is_said() -> None:
    unknown = WithstandingData(("a", "b"), 1, (), False, ("PodTopologySpread",), 9, (ZoneLossData("z", 2, 2, 0),))
    printed = [line.strip() for line in lines(withstanding_section(unknown), 200)]
    assert (
        "Nodes: the pod fits on 2 nodes; it withstands the loss of any 1; "
        "the search for a loss that leaves the pod without a node was not finished." in printed
    )
    assert "Zones: the loss of z leaves the pod without a node." in printed
    assert "z              2         2            none" in printed


SHARED = make_device("x", "8Gi", allowMultipleAllocations=True, bindingConditions=["attached"])

NONE = "request r wants 1 gpu, 0 usable (0 here, 0 of the class, 0 match, 0 free)"
ONE = "request r wants 1 gpu, 1 usable (1 here, 1 of the class, 1 match, 1 free)"


def answer(pod: Pod, *objects: ApiObject) -> Explanation:
    return explain(make_cluster([make_node(name) for name in "abc"], [], make_class(), *objects), pod)


@pytest.mark.parametrize(
    ("pod", "objects", "expected"),
    [
        pytest.param(make_pod(), [], [], id="a pod without claims"),
        pytest.param(
            claiming_pod("held", "new"),
            [
                make_slice("s", make_device("x"), make_device("y"), node="b"),
                make_claim("held", holds=["b/x"], node="b"),
                make_claim("new"),
            ],
            [
                "    1  b      claim default/held, allocated for node b:",
                "                r: gpu.example.com/b/x",
                "              claim default/new for node b:",
                "                r: gpu.example.com/b/y",
                f"    2  a and c  claim default/new, {NONE}",
            ],
            id="one that has its devices, and one that gets some",
        ),
        pytest.param(
            claiming_pod("c"),
            [
                make_slice("s", SHARED, allNodes=True, pool="p"),
                make_claim("c", request("r", 1, capacity={"memory": "1Gi"})),
            ],
            [
                "    3  a, b and c  claim default/c for all nodes:",
                "                     r: gpu.example.com/p/x, a share of memory 1Gi, binding waits for attached",
            ],
            id="a share, once it is attached",
        ),
        pytest.param(
            claiming_pod("c", "d"),
            [make_slice("s", node="b"), make_claim("c"), make_claim("d")],
            [
                f"    2  a and c  claim default/c, {NONE}",
                f"                claim default/d, {NONE}",
                f"    1  b        each alone, but not together: claim default/c, {ONE}; claim default/d, {ONE}",
            ],
            id="not both",
        ),
        pytest.param(
            make_pod(containers=[make_container(resources={"requests": {GPU: "1"}, "limits": {GPU: "1"}})]),
            [make_slice("s", node="b"), make_class("nvidia", "device.driver != ''", resource=GPU)],
            [
                "    1  b      claim default/<extended-resources> for node b:",
                "                container-0-request-0: gpu.example.com/b/gpu-0",
                "    2  a and c  claim default/<extended-resources>, request container-0-request-0 wants 1 nvidia,"
                " 0 usable (0 here, 0 of the class, 0 match, 0 free)",
            ],
            id="an extended resource that a class stands for",
        ),
    ],
)
def test_claims(pod: Pod, objects: list[ApiObject], expected: list[str]) -> None:
    found = answer(pod, *objects)
    text = lines(claims_section(found.claims, every_node=False), 300)
    rows = [line.removeprefix("  ") for line in text if line and line != "ResourceClaims"]
    assert [row for row in rows if not row.startswith("nodes")] == expected
    validate(json.loads(as_json(found)))


def test_allocations_are_told_by_node() -> None:
    slices = [make_slice("s", node="b"), make_slice("t", node="c")]
    found = answer(claiming_pod("c"), *slices, make_claim("c"))
    assert {node: own[0].devices[0].name for node, own in found.claims.allocations.items()} == {
        "b": "gpu.example.com/b/gpu-0",
        "c": "gpu.example.com/c/gpu-0",
    }
    assert [place.nodes for place in found.claims.places] == [("b", "c"), ("a",)]


def test_what_pods_do_not_request_is_used_by_nobody() -> None:
    """Scarce devices are not a pod resource: the answer names no pod that requests most of them."""
    held = make_claim("held", holds=["a/gpu-0"], node="a")
    found = answer(claiming_pod("c"), make_slice("s", node="a"), held, make_claim("c"))
    assert (found.schedulable, found.usage) == (False, None)
