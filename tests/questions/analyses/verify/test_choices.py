"""The nodes of the pods that were scheduled last, explained by samples or not."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.pod import Pod
from kschedctl.questions.analyses.handle import AnalysisHandle
from kschedctl.questions.analyses.verify import choices
from kschedctl.questions.analyses.verify.analysis import VerifyRequest, verify
from kschedctl.questions.answers.verify import Choice, ChosenNodeData, Verification
from kschedctl.questions.presentation.frame import View
from kschedctl.questions.presentation.verify import document
from tests.builders import make_cluster, make_loaded, make_node, make_pod
from tests.questions.presentation.printing import lines
from tests.sampling_clusters import many_nodes, pod_of_turn, scheduled_in_turn

#: 150 nodes of which z is the best; a, the worst, is in every sample together with better nodes.
NODES = [make_node("a", cpu="1"), *many_nodes(148), make_node("z", cpu="64", memory="256Gi")]


def verified(cluster: Cluster, **fields: Any) -> Verification:
    return verify(make_loaded(cluster), VerifyRequest(sampling=True, **fields), AnalysisHandle())


def chosen(cluster: Cluster, **fields: Any) -> tuple[ChosenNodeData, ...]:
    found = verified(cluster, **fields).choices
    assert found is not None
    return found


def counts(found: tuple[ChosenNodeData, ...]) -> dict[Choice, int]:
    return {choice: sum(each.choice is choice for each in found) for choice in Choice}


def test_samples_explain_every_node_of_a_scheduler_with_samples() -> None:
    cluster = scheduled_in_turn(NODES, 12, start=60)
    found = chosen(cluster)
    assert [each.name for each in found] == [f"p{i:02d}" for i in reversed(range(12))]
    assert counts(found)[Choice.UNEXPLAINED] == 0
    assert counts(found)[Choice.SAMPLED] >= 3
    for each in found:
        assert (each.node in each.best) == (each.choice is Choice.BEST)
        assert 0 < each.starts <= each.of_starts == 150


@pytest.mark.parametrize(
    ("node", "choice"),
    [("z", Choice.BEST), ("n119", Choice.SAMPLED), ("a", Choice.UNEXPLAINED)],
)
def test_a_node_is_best_of_all_or_of_a_sample_or_unexplained(node: str, choice: Choice) -> None:
    answer = verified(make_cluster(NODES, [pod_of_turn(0, node)]))
    assert answer.choices is not None
    assert [each.choice for each in answer.choices] == [choice]
    assert answer.choices[0].best == ("z",)
    # A pod that ended since may explain the node, so that it is no difference.
    assert answer.equal
    of_each = {Choice.BEST: "of all", Choice.SAMPLED: "of a sample", Choice.UNEXPLAINED: "that only a later change"}
    assert ["1 on a" in part for part in answer.summary.split(", ")[-3:]].count(True) == 1
    part = next(part for part in answer.summary.split(", ") if "1 on a" in part)
    assert of_each[choice] in part
    shown = "\n".join(lines(document(answer, View()), 100))
    assert ("default/p00" in shown) == (choice is not Choice.BEST)
    assert ("pods that ran then have ended" in shown) == (choice is Choice.UNEXPLAINED)


def test_pods_that_were_bound_later_do_not_count() -> None:
    # The second pod fills z, so that the first one would go elsewhere today.
    later = make_pod("p01", node="z", requests={"cpu": "60"}, status=_status(9))
    first = pod_of_turn(1, "z")
    (one,) = (each for each in chosen(make_cluster(NODES, [first, later])) if each.name == first.name)
    assert one.choice is Choice.BEST


def _status(second: int) -> dict[str, Any]:
    return {"phase": "Running", "startTime": f"2026-03-01T12:00:{second:02d}Z"}


FIELD = {"key": "metadata.name", "operator": "In", "values": ["z"]}
DAEMON = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [FIELD]}]}}


@pytest.mark.parametrize(
    "pod",
    [
        make_pod("other", node="z", schedulerName="mine"),
        make_pod("daemon", node="z", affinity={"nodeAffinity": DAEMON}),
        make_pod("static", node="z", owner=("v1", "Node", "z")),
        make_pod("lost", node="gone"),
        make_pod("misplaced", node="a", requests={"cpu": "2"}),
        make_pod("elsewhere", namespace="kube-system", node="z"),
    ],
    ids=lambda pod: pod.name,
)
def test_pods_that_are_not_compared(pod: Pod) -> None:
    assert chosen(make_cluster(NODES, [pod]), namespace="default") == ()


def test_only_the_newest_pods_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices, "MOST", 2)
    found = chosen(make_cluster(NODES, [pod_of_turn(i, "z") for i in (3, 9, 4, 1)]))
    assert [each.name for each in found] == ["p09", "p04"]


def test_what_ifs_do_not_count() -> None:
    cluster = make_cluster(NODES, [pod_of_turn(0, "z")])
    edited = make_cluster([*NODES, make_node("zz", cpu="640", memory="2560Gi")], [pod_of_turn(0, "z")])
    assert chosen(edited)[0].choice is Choice.SAMPLED
    assert chosen(edited, before=make_loaded(cluster))[0].choice is Choice.BEST


@pytest.mark.parametrize(("number", "shown"), [(100, False), (101, True)])
def test_the_next_question_of_a_large_cluster(number: int, shown: bool) -> None:
    answer = make_loaded(make_cluster(many_nodes(number), [pod_of_turn(0, "n000")])).verify()
    assert answer.choices is None
    assert ("kschedctl verify --sampling" in "\n".join(lines(document(answer, View()), 100))) == shown
