"""The best placement, what to buy and which nodes to empty, as data and as text."""

import json
from datetime import UTC, datetime
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.choice import choose_release
from kschedctl.output.data_forms import as_json
from kschedctl.questions.frame import View
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.optimum.analysis import emptied_answer, optimum, optimum_answer, purchase_answer
from kschedctl.questions.optimum.answer import Emptied, Optimum, Purchased
from kschedctl.questions.optimum.document import document, emptied_document, purchase_document
from kschedctl.questions.optimum.request import OptimumRequest
from kschedctl.questions.provenance import Provenance
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.optimum import search
from kschedctl.trials.optimum.comparison import compare, find_adjustments
from kschedctl.trials.optimum.consolidation import empty_nodes
from kschedctl.trials.optimum.purchase import Catalog, NodeKind, buy
from tests.answer_schema import validate
from tests.builders import make_cluster, make_loaded, make_node, make_pod
from tests.questions.printing import lines
from tests.scheduler.preemption.small_clusters import budget

CHOICE = choose_release("1.36", "", ())
VIEW = View(now=datetime(2026, 11, 2, tzinfo=UTC))
RS = ("apps/v1", "ReplicaSet", "web-5d9c")


def scheduler(*pods: Pod) -> Scheduler:
    return Scheduler(make_cluster([make_node("a", cpu="4"), make_node("b", cpu="5")], pods), CHOICE.release)


def rests_on(cluster: Cluster) -> Provenance:
    return Provenance(release_choice=CHOICE, paths=("here",), n_pods=len(cluster.pods))


def ask(*pods: Pod) -> Optimum:
    asked = scheduler(*pods)
    comparison = compare(asked, seconds=600)
    return optimum_answer(comparison, find_adjustments(comparison), rests_on(asked.cluster))


def ask_to_buy(*pods: Pod, cpu: str = "8") -> Purchased:
    asked = scheduler(*pods)
    kind = NodeKind(name="big", price="0.25", allocatable={"cpu": cpu, "memory": "64Gi", "pods": "20"})
    return purchase_answer(asked.cluster, buy(asked, Catalog(kinds=(kind,)), seconds=600), rests_on(asked.cluster))


def ask_to_empty(*pods: Pod) -> Emptied:
    asked = scheduler(*pods)
    return emptied_answer(asked.cluster, empty_nodes(asked, seconds=600), rests_on(asked.cluster))


def pod(name: str, cpu: str, node: str = "", priority: int = 0) -> Pod:
    return make_pod(name, requests={"cpu": cpu}, node=node, priority=priority, owner=RS if node else None)


#: The scheduler puts the first on the node with more left, and the second finds nothing.
STRANDED = (pod("first", "4"), pod("second", "5"))
ANSWERS: dict[str, Optimum | Purchased | Emptied] = {
    "nothing waits": ask(),
    "as good": ask(pod("p", "1")),
    "stranded": ask(*STRANDED),
    "no room": ask(pod("p", "9")),
    "evicted": ask(pod("urgent", "4", priority=9), pod("r", "4", "a"), pod("s", "5", "b")),
    "bought": ask_to_buy(pod("p", "8"), pod("q", "4")),
    "nothing to buy": ask_to_buy(pod("p", "1")),
    "no kind helps": ask_to_buy(pod("p", "9")),
    "emptied": ask_to_empty(pod("r", "1", "a"), pod("s", "1", "b"), pod("t", "1", "b")),
    "full": ask_to_empty(pod("r", "4", "a"), pod("s", "5", "b")),
    "unused": ask_to_empty(),
}
SUMMARIES = {
    "nothing waits": "no pod is pending",
    "as good": "the scheduler places 1 of 1 pod, the best placement 1",
    "stranded": "the scheduler places 1 of 2 pods, the best placement 2",
    "no room": "the scheduler places 0 of 1 pod, the best placement 0",
    "evicted": "the scheduler places 1 of 1 pod and evicts 1; the best placement places 1 and evicts 1",
    "bought": "1 node for 0.25: 2 of 2 pods placed",
    "nothing to buy": "1 of 1 pod placed without new nodes",
    "no kind helps": "0 of 1 pod placed without new nodes",
    "emptied": "1 of 2 nodes in use can be emptied: 1 stays in use, and no placement needs fewer",
    "full": "no node can be emptied, and no placement needs fewer",
    "unused": "no node has pods other than DaemonSet pods and mirror pods",
}


def text(answer: Optimum | Purchased | Emptied, width: int = 80) -> list[str]:
    """The lines on a terminal."""
    if isinstance(answer, Purchased):
        return lines(purchase_document(answer, VIEW), width)
    return lines(emptied_document(answer, VIEW) if isinstance(answer, Emptied) else document(answer, VIEW), width)


@pytest.mark.parametrize("case", ANSWERS)
def test_answers_are_valid_by_the_schema(case: str) -> None:
    value = json.loads(as_json(ANSWERS[case]))
    validate(value)


@pytest.mark.parametrize("case", ANSWERS)
def test_summary_comes_first(case: str) -> None:
    assert ANSWERS[case].summary == SUMMARIES[case]
    assert " ".join(text(ANSWERS[case], 200)[:1]) == SUMMARIES[case]


@pytest.mark.parametrize("width", [40, 80, 160])
@pytest.mark.parametrize("case", ANSWERS)
def test_lines_keep_to_the_width(case: str, width: int) -> None:
    # A command is copied, and therefore never broken.
    assert all(len(line) <= width for line in text(ANSWERS[case], width) if "kschedctl " not in line)


def test_who_is_stranded_and_what_would_have_helped() -> None:
    answer = ANSWERS["stranded"]
    assert isinstance(answer, Optimum)
    assert answer.stranded == ("default/second",)
    assert {placement.pod: placement.node for placement in answer.placements} == {
        "default/first": "a",
        "default/second": "b",
    }
    assert answer.names() == tuple(f"pod/{each.pod} node/{each.node}" for each in answer.placements)
    assert [str(way.lever) for way in answer.ways] == ["order", "priority", "requests"]
    assert answer.proven


def test_bought_nodes_are_manifests() -> None:
    answer = ANSWERS["bought"]
    assert isinstance(answer, Purchased)
    (node,) = answer.objects
    assert (node["apiVersion"], node["kind"], node["metadata"]["name"]) == ("v1", "Node", "big-new-1")
    assert node["status"]["allocatable"] == {"cpu": "8", "memory": "64Gi", "pods": "20"}
    assert answer.names() == ("node/big-new-1 big",)


def test_pods_being_deleted_are_gone() -> None:
    victim = make_pod("victim", requests={"cpu": "3"}, node="a", terminating=True)
    urgent = make_pod("urgent", requests={"cpu": "3"}, priority=9, nominated="a")
    loaded = make_loaded(make_cluster([make_node("a")], [victim, urgent]))
    answer = optimum(loaded, OptimumRequest(time_limit=600), AnalysisHandle())
    assert answer.summary == "the scheduler places 1 of 1 pod, the best placement 1"
    assert {placement.pod: placement.node for placement in answer.placements} == {"default/urgent": "a"}


@pytest.mark.parametrize("case", ["stranded", "bought", "emptied"])
def test_a_search_that_ended_early_says_how_to_go_on(case: str) -> None:
    words = ("The search ended when nothing better came, before a proof; --prove goes on.", "kschedctl optimum --prove")
    assert not any(word in line for word in words for line in text(ANSWERS[case], 200))
    printed = text(replace(ANSWERS[case], stalled=True, proven=False), 200)
    assert [any(word in line for line in printed) for word in words] == [True, True]


def test_what_may_be_possible_is_said_until_it_is_proven() -> None:
    # Fractions of pods evict one pod fewer than whole pods.
    urgent = [pod(f"urgent-{i}", "2500m", priority=9) for i in range(2)]
    running = [pod(f"r-{node}-{i}", "1", node) for node in "abc" for i in range(4)]
    loaded = make_loaded(make_cluster([make_node(node, cpu="4") for node in "abc"], [*urgent, *running]))
    with patch.object(search, "_MANY", 0), patch.object(search, "_SECONDS_FOR_PROOF", 0):
        quick, proven = (
            optimum(loaded, OptimumRequest(time_limit=600, prove=prove), AnalysisHandle()) for prove in (False, True)
        )
    assert (quick.proven, quick.stalled) == (False, True)
    assert (proven.proven, proven.stalled) == (True, False)
    assert proven.summary == ("the scheduler places 2 of 2 pods and evicts 6; the best placement places 2 and evicts 6")
    assert quick.summary == f"{proven.summary}; not proven: up to 1 more pod of priority 0 on nodes may be possible"


#: The scheduler puts the first two on nodes b and a; without the largest, three fit.
DISPLACED = (pod("largest", "5"), pod("large", "4"), pod("small-1", "2500m"), pod("small-2", "2500m"))


def test_pods_that_only_the_scheduler_places_are_not_called_impossible() -> None:
    answer = ask(*DISPLACED)
    assert answer.summary == "the scheduler places 2 of 4 pods, the best placement 3"
    assert (answer.waiting, answer.displaced) == (("default/largest",), ("default/largest",))
    printed = " ".join(text(answer, 200))
    words = "Placed by the scheduler, and pending in the best placement, which has other pods instead: default/largest"
    assert words in printed
    assert "Pending in both placements" not in printed
    assert "Pending in both placements: default/p" in " ".join(text(ANSWERS["no room"], 200))


def test_among_equal_pods_the_best_placement_has_those_that_the_scheduler_places() -> None:
    # The third pod keeps the room that it is nominated for, so that the second one stays pending.
    web = [
        make_pod(f"web-{i}", requests={"cpu": "4"}, owner=RS, labels={"app": "web"}, nominated="a" if i == 3 else "")
        for i in (1, 2, 3)
    ]
    answer = ask(*web)
    assert {each.pod: bool(each.multi_step_node) for each in answer.placements} == {
        "default/web-1": True,
        "default/web-3": True,
    }
    assert (answer.waiting, answer.displaced, answer.stranded) == (("default/web-2",), (), ())


def test_broken_budgets_are_in_the_first_line() -> None:
    covered = make_pod("covered", labels={"app": "web"}, requests={"cpu": "4"}, node="a", owner=RS)
    urgent = make_pod("urgent", requests={"cpu": "4"}, priority=9)
    loaded = make_loaded(make_cluster([make_node("a")], [covered, urgent], budget("web", "web", 0)))
    answer = optimum(loaded, OptimumRequest(time_limit=600), AnalysisHandle())
    assert answer.summary == (
        "the scheduler places 1 of 1 pod and evicts 1 (1 beyond disruption budgets); "
        "the best placement places 1 and evicts 1 (1 beyond disruption budgets)"
    )


GATED = make_pod("gated", schedulingGates=[{"name": "wait"}])
OUTCOMES = [
    pytest.param([pod("p", "1"), GATED], True, id="all placed but a gated pod"),
    pytest.param([GATED], True, id="only a gated pod"),
    pytest.param([pod("p", "9"), GATED], False, id="a pod that fits nowhere"),
]


@pytest.mark.parametrize(("pods", "yes"), OUTCOMES)
def test_gated_pods_are_not_considered(pods: list[Pod], yes: bool) -> None:
    answer = ask(*pods)
    assert (answer.yes, answer.gated) == (yes, ("default/gated",))
    assert "Held back by gates or by their group, not considered: default/gated" in text(answer, 200)


NOTES = [
    pytest.param(
        [make_pod("old", requests={"cpu": "3"}, node="a", terminating=True), pod("p", "1")],
        "1 pod being deleted is taken as gone at once (in simulate, a pod leaves at its deletion time): default/old",
        id="a pod that is being deleted",
    ),
    pytest.param(
        [pod("r", "4", "a"), pod("urgent", "4", priority=9)],
        "  new pods of evicted pods that stay pending, not counted above: 1 with the scheduler, 1 in the best "
        "placement",
        id="an evicted pod that fits nowhere else",
    ),
]


@pytest.mark.parametrize(("pods", "note"), NOTES)
def test_pods_that_the_numbers_leave_out(pods: list[Pod], note: str) -> None:
    loaded = make_loaded(make_cluster([make_node("a", cpu="4")], pods))
    printed = text(optimum(loaded, OptimumRequest(time_limit=600), AnalysisHandle()), 200)
    assert [line for line in printed if "not counted" in line or "taken as gone" in line] == [note]


def test_a_node_that_comes_into_use_is_named() -> None:
    nodes = [make_node(name, cpu=cpu) for name, cpu in (("a", "2"), ("b", "2"), ("c", "4"))]
    asked = Scheduler(make_cluster(nodes, [pod("r", "2", "a"), pod("s", "2", "b")]), CHOICE.release)
    answer = emptied_answer(asked.cluster, empty_nodes(asked, seconds=600), rests_on(asked.cluster))
    assert (answer.used, answer.used_after, answer.newly_used) == (2, 1, ("c",))
    assert answer.summary == (
        "2 of 2 nodes in use can be emptied: 1 is in use afterwards, including c, unused now, and no placement needs "
        "fewer"
    )


def test_the_budget_that_blocks_the_drain_is_named() -> None:
    web = [make_pod(n, labels={"app": "web"}, requests={"cpu": "1"}, node=n, owner=RS) for n in "ab"]
    asked = Scheduler(make_cluster([make_node("a"), make_node("b")], web, budget("web", "web", 0)), CHOICE.release)
    answer = emptied_answer(asked.cluster, empty_nodes(asked, seconds=600), rests_on(asked.cluster))
    (stuck,) = answer.given_up
    assert answer.obstacles == {stuck: "disruption budget default/web blocks the drain"}
    assert any(f"(disruption budget default/web blocks the drain): {stuck}" in line for line in text(answer, 200))
