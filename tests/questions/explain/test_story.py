"""The explanation of a node's score compared with the score itself, over the recorded cases of the real scheduler."""

from collections import Counter
from itertools import groupby
from operator import attrgetter

import pytest

from conformance.recordings import cases, our_decision, recorded_answers, themes
from kschedctl.common.errors import KschedctlError
from kschedctl.objects.releases.release import RELEASES
from kschedctl.questions.explain.story import filter_story, score_arithmetic, score_story
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import ScorePlugin
from kschedctl.testing.plugin_checks import check_arithmetic
from tests.builders import HOSTNAME, make_node, make_pod
from tests.scheduler.extenders.scheduling import make_scheduler
from tests.scheduler.extenders.server import ExtenderServer, leaving

#: Every so many cases of a theme are looked at for each release, which begin at different ones: together at all cases.
EVERY = len(RELEASES)
#: And in the quick tests.
FEW = 5 * EVERY


def told(decision: Decision) -> Counter[str]:
    """Check the explanations of all nodes of a decision, and count them by plugin and rule."""
    seen: Counter[str] = Counter()
    for row in decision.searched.tolist():
        verdict = decision.verdict(row)
        for plugin, checks in groupby(filter_story(decision, row), key=attrgetter("plugin")):
            passes = plugin not in dict(verdict.reasons)
            failing = [check.wanted for check in checks if not check.holds]
            assert passes == (not failing), f"{verdict.node}, {plugin}: passes {passes}, does not hold: {failing}"
            seen[f"filter {plugin}"] += 1
        total = 0
        for story in score_story(decision, row):
            assert decision.scores is not None
            position = decision.scores.rows.tolist().index(row)
            explained = score_arithmetic(decision, decision.scores, story.plugin, position)
            for arithmetic, result in zip(explained, (story.raw, story.normalized), strict=True):
                if arithmetic is not None:
                    check_arithmetic(arithmetic, result)
                    seen[f"{story.plugin}: {arithmetic.formula()}"] += 1
            if story.normalizing is None:
                assert story.normalized == story.raw
            total += story.weighted
        if decision.scores is not None and row in decision.scores.rows:
            assert total == decision.scores.total[decision.scores.rows == row][0]
    return seen


def stories(theme: str, version: str, stride: int) -> Counter[str]:
    seen: Counter[str] = Counter()
    known = recorded_answers(theme, version)
    first = ([*RELEASES].index(version) + themes().index(theme)) % stride
    for case in cases(theme)[first::stride]:
        if case.id not in known:
            continue
        try:
            decision = our_decision(case, RELEASES[version])
        except KschedctlError:
            continue
        # With nominated pods a node may be out although all holds without them.
        if decision.statuses is None or decision.statuses.nominated is not None:
            continue
        try:
            seen += told(decision)
        except AssertionError as error:
            raise AssertionError(f"{case.id} of {version}: {error}") from None
    return seen


@pytest.mark.sample
@pytest.mark.parametrize("theme", themes())
def test_what_is_told_leads_to_what_was_decided(theme: str) -> None:
    seen: Counter[str] = Counter()
    for version in RELEASES:
        seen += stories(theme, version, FEW)
    assert seen


@pytest.mark.slow
@pytest.mark.parametrize(("version", "theme"), [(version, theme) for version in RELEASES for theme in themes(version)])
def test_so_it_does_in_every_recorded_case_by_a_release(theme: str, version: str) -> None:
    assert stories(theme, version, EVERY)


def test_extenders_and_nodes_that_they_send_back_are_told_as_they_were_scored() -> None:
    """Pods on nodes that an extender returns do not count in Score, but they do in PreScore."""
    near = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "web"}}}
    liked = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    soft = "preferredDuringSchedulingIgnoredDuringExecution"
    affinity = {
        "podAffinity": {soft: [{"weight": 7, "podAffinityTerm": near}]},
        "nodeAffinity": {soft: [{"weight": 5, "preference": liked}]},
    }
    nodes = [make_node("a", labels={"disk": "ssd"}), make_node("b", taints=["busy:PreferNoSchedule"])]
    running = [make_pod("web-1", node="a", labels={"app": "web"}, requests={"cpu": "2"})]
    rating = [{"Host": "a", "Score": 3}, {"Host": "b", "Score": 9}]
    bare = {"Nodes": {"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]}}
    pod = make_pod(labels={"app": "web"}, affinity=affinity, requests={"cpu": "1"})
    for answer, cached in ((leaving("a", "b"), False), (leaving("a", "b"), True), (bare, False)):
        with ExtenderServer({"filter": answer, "rate": rating}) as server:
            verbs = {"filterVerb": "filter", "prioritizeVerb": "rate", "weight": 2}
            own = {"urlPrefix": server.url, "nodeCacheCapable": cached, **verbs}
            seen = told(make_scheduler(nodes, own, pods=running).decide(pod))
        assert seen[f"{server.url}: 10 * the extender's score"] == 2
        assert seen["NodeAffinity: the sum of the weights of the preferred terms that match"] == 2


def test_every_in_tree_plugin_that_scores_tells_how() -> None:
    """The plugins that scored in some case; the strategies of NodeResourcesFit are distinguished by their formulas."""
    seen: Counter[str] = Counter()
    for theme in ("config", "devices", "features", "interpod", "volumes"):
        seen += stories(theme, "1.37", 4)
    plugins = {text.partition(":")[0] for text in seen}
    framework = our_decision(cases("taints")[0], RELEASES["1.37"]).framework
    assert set(framework.plugin_names(ExtensionPoint.SCORE, ScorePlugin)) <= plugins
    assert {text for text in seen if text.startswith("NodeResourcesFit:")} == {
        "NodeResourcesFit: per resource 100 * (allocatable - requested) // allocatable; the weighted mean",
        "NodeResourcesFit: per resource 100 * requested // allocatable; the weighted mean",
        "NodeResourcesFit: per resource the shape's score at 100 * requested // allocatable; "
        "the weighted mean of those above 0, rounded",
    }
