"""The table of the topology domains of a node, and bars of the domains of all nodes."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kschedctl.questions.answers.explain import ConstraintData, NodeData, ReasonData
from kschedctl.questions.presentation.explain.domains import domain_bars, domains_section
from kschedctl.scheduler.framework.remedy import Operands
from kschedctl.scheduler.framework.status import Reason
from kschedctl.scheduler.plugins.inter_pod_affinity.filtering import ExistingAntiAffinity, OwnAntiAffinity
from kschedctl.scheduler.plugins.pod_topology_spread.filtering import SkewTooHigh
from kschedctl.scheduler.plugins.topology import NoTopologyLabel
from tests.questions.presentation.drawn import cells, parts
from tests.questions.presentation.printing import lines

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
