"""Extenders in a scheduling cycle, called over HTTP."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.outcome import Outcome
from kschedctl.scheduler.framework.status import Code
from tests.builders import GPU, HOSTNAME, ZONE, make_node, make_pod
from tests.scheduler.extenders.scheduling import make_scheduler
from tests.scheduler.extenders.server import Answer, ExtenderServer, leaving, names_in

WEB = make_pod("web")
FILTER = {"filterVerb": "filter"}
CACHED = {**FILTER, "nodeCacheCapable": True}


def decide(
    answer: Answer, *, names: str = "abc", pod: Pod = WEB, pods: Sequence[Pod] = (), **config: Any
) -> tuple[Decision, ExtenderServer]:
    """Return the decision about a pod that fits on all nodes, with an extender, and the extender's server."""
    with ExtenderServer({"filter": answer}) as server:
        own = {"urlPrefix": server.url, **CACHED, **config}
        return make_scheduler(map(make_node, names), own, pods=pods).decide(pod), server


def told(decision: Decision) -> dict[str, str]:
    """Return the statuses of the rejected nodes as texts."""
    cluster = decision.cluster
    assert decision.statuses is not None
    return {
        node: f"{status.code}: {status.message}"
        for row, node in enumerate(cluster.nodes.names)
        for status in (decision.statuses.status(row),)
        if status.code is not Code.SUCCESS
    }


NO_HELP = "preemption: 0/{} nodes are available: {} Preemption is not helpful for scheduling."
NO_VICTIMS = "preemption: 0/{} nodes are available: {} No preemption victims found for incoming pod."


@pytest.mark.parametrize("cached", [True, False])
def test_the_pod_goes_where_the_extender_leaves_it(cached: bool) -> None:
    failed = {"a": "busy"}
    decision, server = decide(leaving("b", failed=failed, never={"c": "broken"}), nodeCacheCapable=cached)
    assert decision.best == ("b",)
    assert told(decision) == {"a": "Unschedulable: busy", "c": "UnschedulableAndUnresolvable: broken"}
    assert names_in(server.asked[0].about) == ["a", "b", "c"]
    ((plugin, (reason,)),) = decision.node("a").reasons
    assert (plugin, reason.text, reason.detail) == ("Extender", "busy", f"reported by the extender {server.url}")
    assert reason.data == {"url": server.url, "message": "busy"}
    assert not decision.not_modelled


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(
            leaving(failed={"a": "busy", "b": "busy", "c": "hot"}),
            f"0/3 nodes are available: 1 hot, 2 busy. {NO_VICTIMS.format(3, 3)}",
            id="every node has its reason",
        ),
        pytest.param(
            leaving(never={"a": "busy", "b": "busy", "c": "hot"}),
            f"0/3 nodes are available: 1 hot, 2 busy. {NO_HELP.format(3, 3)}",
            id="removing pods does not help",
        ),
        pytest.param(
            leaving(failed={"a": "busy"}, never={"a": "broken", "b": "broken", "c": "broken"}),
            f"0/3 nodes are available: 3 broken. {NO_HELP.format(3, 3)}",
            id="of two reasons the worse",
        ),
        pytest.param(leaving(), f"0/3 nodes are available: {NO_HELP.format(3, 3)}", id="no reasons at all"),
        pytest.param(
            leaving(failed={"a": "busy"}),
            f"0/3 nodes are available: 1 busy. {'preemption: 0/3 nodes are available: '}"
            "1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling.",
            id="reasons for some",
        ),
        pytest.param(
            leaving(never={"a": ""}), f"0/3 nodes are available: 1 . {NO_HELP.format(3, 3)}", id="an empty reason"
        ),
        pytest.param(
            leaving(never={"z": "gone", "a": "busy"}),
            f"0/3 nodes are available: 1 busy, 1 gone. {NO_HELP.format(3, 3)}",
            id="a node that the cluster does not have",
        ),
    ],
)
def test_what_the_event_says(answer: Answer, message: str) -> None:
    decision, _ = decide(answer)
    assert decision.outcome is Outcome.UNSCHEDULABLE
    assert decision.message == message


def test_a_node_left_out_without_a_word_says_who_did() -> None:
    decision, server = decide(leaving("b", "c"))
    assert told(decision) == {"a": "UnschedulableAndUnresolvable: "}
    ((plugin, (reason,)),) = decision.node("a").reasons
    assert (plugin, reason.detail) == ("Extender", f"the extender {server.url} gives no reason")


def test_nodes_that_prefilter_leaves_out_are_counted_with_those_left_out_by_the_extender() -> None:
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]} for name in "ab"
    ]}}}  # fmt: skip
    decision, server = decide(leaving(failed={"b": "busy"}), pod=make_pod("web", affinity=affinity))
    assert names_in(server.asked[0].about) == ["a", "b"]
    assert decision.message.startswith(
        "0/3 nodes are available: 1 busy, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. "
    )


def test_extenders_are_asked_one_after_the_other_those_that_may_fail_last() -> None:
    answers: dict[str, Answer] = {"1": leaving("a", "b"), "2": leaving("b", "c", failed={"a": "busy"}), "3": leaving()}
    with ExtenderServer(answers) as server:
        own = [{"urlPrefix": server.url, **CACHED, "filterVerb": verb, "ignorable": verb == "1"} for verb in "123"]
        decision = make_scheduler(map(make_node, "abc"), *own[:2]).decide(WEB)
        assert [(each.verb, names_in(each.about)) for each in server.asked] == [
            ("2", ["a", "b", "c"]),
            ("1", ["b", "c"]),
        ]
        assert decision.best == ("b",)
        server.asked.clear()
        make_scheduler(map(make_node, "abc"), own[2], own[1]).decide(WEB)
        assert server.verbs == ["3"]


def test_nobody_is_asked_where_no_node_is_left() -> None:
    decision, server = decide(leaving("a"), pod=make_pod("web", requests={"cpu": "100"}))
    assert (decision.outcome, server.asked) == (Outcome.UNSCHEDULABLE, [])


@pytest.mark.parametrize(
    ("spec", "is_asked"),
    [
        pytest.param({"containers": [{"resources": {"requests": {GPU: "1"}}}]}, True, id="uses it"),
        pytest.param({"containers": [{"resources": {"limits": {GPU: "0"}}}]}, True, id="names it in its limits"),
        pytest.param(
            {"containers": [{}], "initContainers": [{"resources": {"requests": {GPU: "1"}}}]},
            True,
            id="an init container uses it",
        ),
        pytest.param({"containers": [{"resources": {"requests": {"cpu": "1"}}}]}, False, id="does not use it"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("called", [True, False])
def test_who_manages_resources_is_asked_about_pods_that_use_one(
    spec: dict[str, Any], is_asked: bool, called: bool
) -> None:
    with ExtenderServer({"filter": leaving("b")}) as server:
        own = {"urlPrefix": server.url, **CACHED, "managedResources": [{"name": GPU}]}
        nodes = [make_node(name, offers={GPU: 2}) for name in "ab"]
        decision = make_scheduler(nodes, own, called=called).decide(make_pod("web", **spec))
    assert bool(server.asked) == (is_asked and called)
    assert bool(decision.not_modelled) == (is_asked and not called)
    assert (decision.best == ("b",)) == (is_asked and called)


def test_resources_that_the_scheduler_ignores_are_for_the_extender_alone() -> None:
    managed = [{"name": GPU, "ignoredByScheduler": True}]
    pod = make_pod("web", requests={GPU: "1"})
    decision, _ = decide(leaving("b"), pod=pod, managedResources=managed)
    assert decision.best == ("b",)
    decision, server = decide(leaving("b"), pod=pod, managedResources=[{"name": GPU}])
    assert decision.message.startswith(f"0/3 nodes are available: 3 Insufficient {GPU}.")
    assert server.asked == []


def test_an_error_ends_the_cycle() -> None:
    decision, _ = decide({"Error": "out of order"})
    assert (decision.outcome, decision.error, decision.best) == (Outcome.ERROR, "out of order", ())


def test_an_error_of_one_that_may_fail_is_told_and_passed_over() -> None:
    decision, server = decide({"Error": "out of order"}, ignorable=True)
    assert decision.best == ("a", "b", "c")
    (note,) = decision.not_modelled
    assert (note.feature, note.effect) == (
        f"the extender {server.url}",
        "it is ignorable and its filter call failed: out of order",
    )


def test_a_nominated_node_is_asked_about_alone_first() -> None:
    pod = make_pod("web", nominated="b")
    decision, server = decide(leaving("b"), pod=pod)
    assert [names_in(each.about) for each in server.asked] == [["b"]]
    assert decision.best == ("b",)
    decision, server = decide(leaving("a", failed={"b": "busy"}), pod=pod)
    assert [names_in(each.about) for each in server.asked] == [["b"], ["a", "b", "c"]]
    assert decision.best == ("a",)


def test_an_error_about_a_nominated_node_only_has_all_nodes_looked_at() -> None:
    answers = iter([{"Error": "out of order"}, {"NodeNames": ["a"]}])
    decision, server = decide(lambda _: next(answers), pod=make_pod("web", nominated="b"))
    assert (decision.best, decision.error, len(server.asked)) == (("a",), "", 2)


def scores(decision: Decision) -> dict[str, dict[str, int]]:
    """Return the weighted score of each node, by plugin or extender."""
    found = decision.scores
    assert found is not None
    names = [decision.cluster.nodes.names[row] for row in found.rows]
    return {
        who: dict(zip(names, (normalized * found.weights[who]).tolist(), strict=True))
        for who, normalized in found.normalized.items()
    }


def test_scores_of_extenders_weigh_ten_times_and_their_own_weight() -> None:
    rating = [{"Host": "a", "Score": 10}, {"Host": "b", "Score": 3}, {"Host": "z", "Score": 10}]
    with ExtenderServer({"rate": rating, "more": [{"Host": "b", "Score": 1}, {"Host": "b", "Score": 1}]}) as server:
        own = {"urlPrefix": server.url, "nodeCacheCapable": True}
        first, second = {**own, "prioritizeVerb": "rate", "weight": 2}, {**own, "prioritizeVerb": "more", "weight": 30}
        decision = make_scheduler(map(make_node, "abc"), first, second).decide(WEB)
    assert scores(decision)[server.url] == {"a": 200, "b": 60, "c": 0}
    assert scores(decision)[f"{server.url} (2)"] == {"a": 0, "b": 600, "c": 0}
    assert decision.best == ("b",)
    assert decision.scores is not None
    plain = make_scheduler(map(make_node, "abc")).decide(WEB).scores
    assert plain is not None
    assert (decision.scores.total - plain.total).tolist() == [200, 660, 0]


def test_scores_that_overflow_come_round() -> None:
    with ExtenderServer({"rate": [{"Host": "a", "Score": 2**62}, {"Host": "b", "Score": 1}]}) as server:
        own = {"urlPrefix": server.url, "nodeCacheCapable": True, "prioritizeVerb": "rate", "weight": 1}
        decision = make_scheduler(map(make_node, "ab"), own).decide(WEB)
    assert scores(decision)[server.url] == {"a": -(2**63), "b": 10}
    assert decision.best == ("b",)


def test_an_error_in_rating_gives_no_score_and_is_told() -> None:
    with ExtenderServer({"rate": {}}) as server:
        own = {"urlPrefix": server.url, "nodeCacheCapable": True, "prioritizeVerb": "rate", "weight": 1}
        decision = make_scheduler(map(make_node, "ab"), own).decide(WEB)
    assert decision.best == ("a", "b")
    (note,) = decision.not_modelled
    assert note.effect.startswith(
        "it is ignorable and its prioritize call failed, so it gives no scores: json: cannot unmarshal object"
    )


def test_the_only_node_is_not_rated() -> None:
    with ExtenderServer({"filter": leaving("a"), "rate": []}) as server:
        own = {"urlPrefix": server.url, **CACHED, "prioritizeVerb": "rate", "weight": 1}
        decision = make_scheduler(map(make_node, "ab"), own).decide(WEB)
    assert (decision.best, server.verbs) == (("a",), ["filter"])


BUSY = [make_pod("old", node="a", requests={"cpu": "3", "memory": "6Gi"})]
IMAGE = "registry.example/app:1"


@pytest.mark.parametrize("cached", [True, False])
def test_nodes_that_are_sent_back_are_scored_as_empty(cached: bool) -> None:
    with ExtenderServer({"filter": leaving("a", "b")}) as server:
        nodes = [make_node("a", images={IMAGE: 10**9}), make_node("b")]
        own = {"urlPrefix": server.url, **FILTER, "nodeCacheCapable": cached}
        decision = make_scheduler(nodes, own, pods=BUSY).decide(make_pod("web", requests={"cpu": "1"}))
    found = scores(decision)
    assert (found["ImageLocality"]["a"] > 0) == cached
    assert (found["NodeResourcesFit"]["a"] < found["NodeResourcesFit"]["b"]) == cached
    assert (found["NodeResourcesFit"]["a"] == found["NodeResourcesFit"]["b"]) == (not cached)


def test_nodes_count_as_they_are_sent_back() -> None:
    bare = {"Nodes": {"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}, "spec": {"taints": [
        {"key": "slow", "effect": "PreferNoSchedule"}
    ]}}]}}  # fmt: skip
    decision, _ = decide(bare, names="ab", nodeCacheCapable=False)
    assert scores(decision)["TaintToleration"] == {"a": 300, "b": 0}
    assert scores(decision)["NodeResourcesFit"] == {"a": 0, "b": 0}
    (note,) = decision.not_modelled
    assert note.effect == "it returns nodes with other labels, which the scores ignore: a, b"


@pytest.mark.parametrize(("key", "are_counted"), [(ZONE, True), (HOSTNAME, False)], ids=["zones", "hosts"])
def test_pods_of_nodes_that_are_sent_back_count_for_zones_but_not_for_hosts(key: str, are_counted: bool) -> None:
    selector = {"matchLabels": {"app": "web"}}
    spread = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": selector}
    there = [make_pod(f"web-{i}", node="a", labels={"app": "web"}) for i in range(3)]
    pod = make_pod("web", labels={"app": "web"}, topologySpreadConstraints=[spread])
    found = []
    for cached in (True, False):
        with ExtenderServer({"filter": leaving("a", "b")}) as server:
            nodes = [make_node(name, zone=f"zone-{name}") for name in "ab"]
            own = {"urlPrefix": server.url, **FILTER, "nodeCacheCapable": cached}
            found.append(scores(make_scheduler(nodes, own, pods=there).decide(pod))["PodTopologySpread"])
    of_kept, of_sent_back = found
    assert of_kept["a"] < of_kept["b"]
    assert (of_sent_back["a"] < of_sent_back["b"]) == are_counted


def test_a_node_that_the_cluster_does_not_have_is_left_out_and_told() -> None:
    answer = {"Nodes": {"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "z"}}]}}
    decision, _ = decide(answer, nodeCacheCapable=False)
    assert decision.best == ("a",)
    note = decision.not_modelled[0]
    assert note.effect == "it returns nodes that are not in the cluster, which are ignored: z"


def test_without_calling_them_the_answer_says_so() -> None:
    with ExtenderServer({"filter": leaving("b")}) as server:
        own = {"urlPrefix": server.url, **CACHED}
        decision = make_scheduler(map(make_node, "ab"), own, called=False).decide(WEB)
    assert (decision.best, server.asked) == (("a", "b"), [])
    assert [note.feature for note in decision.not_modelled] == [f"the extender {server.url}"]


def test_statuses_of_many_nodes_are_told_once() -> None:
    decision, _ = decide(leaving("c", failed={"a": "busy", "b": "busy"}))
    assert decision.statuses is not None
    number, statuses = decision.statuses.distinct()
    assert [statuses[i].message for i in number.tolist()] == ["busy", "busy", ""]
    assert len(np.unique(number)) == 2
