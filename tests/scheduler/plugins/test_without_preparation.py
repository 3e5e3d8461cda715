"""Plugins whose PreFilter or PreScore a profile switches off while what builds on it stays on."""

from typing import Any

import pytest

from tests.builders import HOSTNAME, ZONE, decide, make_cluster, make_node, make_pod, make_profile

NODES = [make_node("a", zone="a"), make_node("b", zone="b")]
TERM = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "web"}}}


def without(plugin: str, point: str) -> dict[str, Any]:
    return make_profile(plugins={point: {"disabled": [{"name": plugin}]}})


@pytest.mark.parametrize(
    ("plugin", "error"),
    [
        ("NodePorts", 'reading "PreFilterNodePorts" from cycleState: not found'),
        ("NodeResourcesFit", 'error reading "PreFilterNodeResourcesFit" from cycleState: not found'),
        ("PodTopologySpread", 'reading "PreFilterPodTopologySpread" from cycleState: not found'),
        ("InterPodAffinity", 'error reading "PreFilterInterPodAffinity" from cycleState: not found'),
        ("NodeDeclaredFeatures", 'error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found'),
    ],
)
def test_filters_that_miss_their_state_end_the_cycle(plugin: str, error: str) -> None:
    decision = decide(make_pod(), make_cluster(NODES), config=without(plugin, "preFilter"))
    assert decision.error == f'running "{plugin}" filter plugin: {error}'


def test_node_affinity_filters_without_its_pre_filter() -> None:
    pod = make_pod(nodeSelector={HOSTNAME: "b"})
    assert decide(pod, make_cluster(NODES), config=without("NodeAffinity", "preFilter")).best == ("b",)


@pytest.mark.parametrize(
    ("plugin", "error"),
    [
        ("TaintToleration", 'reading "PreScoreTaintToleration" from cycleState: not found'),
        ("PodTopologySpread", 'error reading "PreScorePodTopologySpread" from cycleState: not found'),
        ("InterPodAffinity", 'failed to read "PreScoreInterPodAffinity" from cycleState: not found'),
    ],
)
def test_scores_that_miss_their_state_end_the_cycle(plugin: str, error: str) -> None:
    decision = decide(make_pod(), make_cluster(NODES), config=without(plugin, "preScore"))
    assert decision.error == f'running Score plugins: plugin "{plugin}" failed with: {error}'


@pytest.mark.parametrize("plugin", ["NodeAffinity", "NodeResourcesFit", "NodeResourcesBalancedAllocation"])
def test_others_work_their_state_out_when_scoring(plugin: str) -> None:
    preferred = [{"weight": 1, "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    pod = make_pod(affinity=affinity, requests={"cpu": "1", "memory": "1Gi"})
    cluster = make_cluster([*NODES, make_node("c", labels={"disk": "ssd"})])
    with_it, without_it = decide(pod, cluster), decide(pod, cluster, config=without(plugin, "preScore"))
    assert with_it.scores is not None
    assert without_it.scores is not None
    assert without_it.scores.total.tolist() == with_it.scores.total.tolist()


def test_a_broken_preferred_term_is_an_error_of_scoring() -> None:
    broken = {**TERM, "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Near"}]}}
    preferred = [{"weight": 1, "podAffinityTerm": broken}]
    pod = make_pod(affinity={"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}})
    decision = decide(pod, make_cluster(NODES), config=without("InterPodAffinity", "preFilter"))
    assert decision.error
    assert decision.best == ()
