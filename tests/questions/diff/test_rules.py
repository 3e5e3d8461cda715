"""The rules behind the changes for pods between two releases."""

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.differences import RuleDifference
from kschedctl.objects.releases.release import RELEASES, Release
from kschedctl.output.data_forms import as_json
from kschedctl.questions.diff.analysis import DiffRequest, diff
from kschedctl.questions.diff.answer import Diff
from kschedctl.questions.diff.document import document
from kschedctl.questions.diff.rules import Rules, RuleSearch
from kschedctl.questions.frame import View
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.loading import loaded_cluster
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.sources.snapshot.load import Snapshot
from tests.answer_schema import validate
from tests.builders import load_engine, make_cluster, make_loaded, make_node, make_pod
from tests.questions.printing import lines

RULES = tuple(RuleDifference(name, (False, True)) for name in "abcd")

#: The sets of rules whose old values bring the old answer back, and the rules behind the change.
SEARCHES = {
    "one rule": (["a"], "a", False),
    "one of two rules that have the same effect is enough to bring the old answer back": (["a", "c"], "ac", False),
    "two rules of which each alone makes the change": (["bd"], "bd", True),
    "a smallest set, the last of several": (["ab", "cd"], "cd", True),
    "three rules": (["abd"], "abd", True),
    "none of the rules": ([], "", False),
}


@pytest.mark.parametrize("case", SEARCHES)
def test_search(case: str) -> None:
    enough, behind, together = SEARCHES[case]
    found = RuleSearch(RULES).behind(bringing_back(enough), use_known=False)
    assert ("".join(rule.path for rule in found.rules), found.together) == (behind, together)


def bringing_back(enough: Iterable[str]):  # type: ignore[no-untyped-def]
    def brings_back(rules: Rules) -> bool:
        paths = {rule.path for rule in rules}
        return any(paths >= {*each} for each in enough)

    return brings_back


@pytest.mark.parametrize(
    ("enough", "tries"),
    [pytest.param(["a"], 1, id="one rule"), pytest.param(["bd"], 1, id="rules that are needed together")],
)
def test_rules_of_other_pods_are_tried_first(enough: list[str], tries: int) -> None:
    search, tried = RuleSearch(RULES), []
    first = search.behind(bringing_back(enough), use_known=True)

    def counted(rules: Rules) -> bool:
        tried.append(rules)
        return bool(bringing_back(enough)(rules))

    assert search.behind(counted, use_known=True) == first
    assert len(tried) == tries


BASE = RELEASES["1.37"]
OLD = replace(BASE, names_untolerated_taint=True)
#: The rules of 1.37 with another one that has no effect on the pod, or that changes the same message.
WITHOUT_EFFECT = replace(BASE, gated_pods_keep_nomination=False)
WITH_EFFECT = replace(BASE, fit_gives_up=False)
SMALL = make_node("small", cpu="1")
TAINTED = make_node("tainted", cpu="4", taints=["gpu=yes:NoSchedule"])
BIG = make_pod("big", requests={"cpu": "2"}, priority=10)


def compared(old: Release, new: Release, nodes: Iterable[Node], *pods: Pod) -> Diff:
    first = make_loaded(make_cluster(nodes, pods), "1.37")
    sides = [first.with_release(release) for release in (old, new)]
    return diff(sides[0], DiffRequest.of(sides[0], sides[1]), AnalysisHandle())


@pytest.mark.parametrize(
    ("new", "rules", "said"),
    [
        pytest.param(WITHOUT_EFFECT, ["taint-in-message"], "The rule behind it: taint-in-message.", id="one"),
        pytest.param(
            WITH_EFFECT,
            ["taint-in-message", "no-preemption-on-small-nodes"],
            "The rules behind it: taint-in-message and no-preemption-on-small-nodes.",
            id="two, which both change the message",
        ),
    ],
)
def test_the_rules_behind_a_change_are_named(new: Release, rules: list[str], said: str) -> None:
    found = compared(OLD, new, [SMALL, TAINTED], BIG)
    (pod,) = found.changed
    assert (pod.rules, pod.rules_together) == (tuple(rules), len(rules) > 1)
    assert [(rule.name, rule.pods) for rule in found.rules] == [(rule, 1) for rule in rules]
    assert found.summary.endswith(f" {said}")
    validate(json.loads(as_json(found)))


def test_the_rule_and_what_to_do_are_printed() -> None:
    found = compared(RELEASES["1.36"], RELEASES["1.37"], [make_node("full", cpu="2")], *full())
    printed = [line.strip() for line in lines(document(found, View(now=datetime.now(UTC))), 100)]
    assert "rule: preemption-names-node" in " ".join(printed)
    assert "Rules behind the changes" in printed
    assert any(line.startswith("since 1.37") for line in printed)
    assert any("to do: nothing, unless a program matches the text" in line for line in printed)


def full() -> tuple[Pod, ...]:
    return BIG, make_pod("small", requests={"cpu": "1"}, node="full")


def test_no_rule_is_behind_a_change_of_the_cluster() -> None:
    old = make_loaded(make_cluster([make_node("a")], [BIG]), "1.37")
    new = make_loaded(make_cluster([SMALL], [BIG]), "1.38")
    found = diff(old, DiffRequest.of(old, new), AnalysisHandle())
    assert [pod.rules for pod in found.changed] == [()]
    assert found.rules == ()


def test_the_rule_counts_that_changes_the_node_and_not_one_that_changes_a_score() -> None:
    """NodeResourcesFit weighs more than the affinity, and a message names a taint: only the first changes the node."""
    plugins = tuple((name, 90 if name == "NodeResourcesFit" else weight) for name, weight in BASE.ungated_plugins)
    prefers = make_pod(
        requests={"cpu": "1"},
        affinity={
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": 1,
                        "preference": {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]},
                    }
                ]
            }
        },
    )
    nodes = [make_node("a", cpu="4"), make_node("b", cpu="2", labels={"disk": "ssd"}), TAINTED]
    new = replace(BASE, ungated_plugins=plugins, names_untolerated_taint=True)
    found = compared(BASE, new, nodes, prefers)
    assert [(pod.before.nodes, pod.after.nodes, pod.rules) for pod in found.changed] == [
        (("b",), ("a",), ("default-plugins",))
    ]


def test_feature_gates_that_differ_between_the_sides_are_rules() -> None:
    """Both sides have the rules of 1.37; the second one has the gate off."""
    cluster = make_cluster([make_node("a", cpu="1")], [make_pod("waits", resources={"requests": {"cpu": "2"}})])
    snapshot = Snapshot(cluster=cluster, paths=(), scheduler_config=None, left_out={})
    on, off = (
        loaded_cluster(snapshot, kubernetes_version="1.37", feature_gates=gates)
        for gates in ({}, {"PodLevelResources": False})
    )
    found = diff(on, DiffRequest.of(on, off), AnalysisHandle())
    assert [(pod.name, pod.rules) for pod in found.changed] == [("waits", ("pod-level-resources",))]
    assert [(rule.field, rule.since) for rule in found.rules] == [("features.PodLevelResources", "")]


@pytest.mark.parametrize("version", ["1.36", "1.37"])
def test_a_configuration_is_read_again_by_the_rules_of_the_other_release(version: str) -> None:
    config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    snapshot = Snapshot(cluster=make_cluster([SMALL]), paths=(), scheduler_config=None, left_out={})
    loaded = loaded_cluster(snapshot, kubernetes_version="1.37", config=config)
    order = [name for name, _ in RELEASES[version].default_plugins[2:4]]
    for cluster in (loaded, loaded.over(loaded.cluster), loaded_cluster(snapshot, kubernetes_version="1.37")):
        profile = cluster.with_release(RELEASES[version]).configuration.profiles["default-scheduler"]
        assert [name for name in profile.plugins[ExtensionPoint.FILTER] if name in order] == order


@pytest.mark.slow
@pytest.mark.parametrize("fixture", ["devices", "gangs"])
@pytest.mark.parametrize(
    "versions", [each for pair in pairwise(RELEASES) for each in (pair, pair[::-1])], ids="..".join
)
def test_every_change_between_releases_has_a_rule(fixture: str, versions: tuple[str, str]) -> None:
    """A release with the rules of two is never inconsistent, in either direction."""
    old, new = (load_engine(f"fixtures/{fixture}/cluster", kubernetes_version=version) for version in versions)
    keys = [f"{record.metadata.namespace}/{record.metadata.name}" for record in old.pods.records]
    found = diff(old, DiffRequest.of(old, new, keys), AnalysisHandle())
    assert [pod.key for pod in found.changed if not pod.rules] == []


def test_what_1_38_changes_in_the_cluster_of_the_page_about_upgrades() -> None:
    old, new = (load_engine("fixtures/upgrade/cluster", kubernetes_version=version) for version in ("1.37", "1.38"))
    keys = [f"{record.metadata.namespace}/{record.metadata.name}" for record in old.pods.records]
    found = diff(old, DiffRequest.of(old, new, keys), AnalysisHandle())
    assert {pod.key: (pod.before.nodes or pod.before.victims, pod.rules) for pod in found.changed} == {
        "shop/web-1": (("web-a",), ("empty-spread-selector",)),
        "shop/web-2": (("web-a",), ("empty-spread-selector",)),
        "ml/train-1": (("ml-small",), ("scores-of-pod-level-resources",)),
        "shop/import-1": ({"jobs-1": ("reports/nightly-1",)}, ("empty-budget-selector",)),
    }
    assert [pod.key for pod in found.changed if pod.worse] == ["shop/web-2"]
