"""Answers as text keep to the width of the terminal; what is to be copied stays whole."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from kschedctl.questions.explain.answer import Explanation, WithstandingData
from kschedctl.questions.explain.document import ExplainView, document, withstanding_section
from tests.builders import make_cluster, make_node, make_pod, write_snapshot
from tests.cli.in_process import run
from tests.questions.explain.test_explanation import ANSWERS, explain
from tests.questions.printing import lines

NOW = datetime(2026, 5, 4, tzinfo=UTC)
COMMAND = "kschedctl explain default/pod"


VIEWS = {
    "groups": ExplainView(now=NOW),
    "every node": ExplainView(now=NOW, nodes_alone=True, reasons=True),
    "one node": ExplainView(now=NOW, nodes=("a",), reasons=True),
}


def text_lines(explanation: Explanation, view: ExplainView, width: int) -> list[str]:
    return lines(document(explanation, view), width)


@pytest.mark.parametrize("width", [60, 80, 160])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("case", ANSWERS)
def test_lines_end_where_the_terminal_does(case: str, view: str, width: int) -> None:
    answer = explain(*ANSWERS[case])
    whole = {f"  {answer.message}"}
    for line in text_lines(answer, VIEWS[view], width):
        assert len(line) <= width or line in whole or "kschedctl explain" in line


@pytest.mark.parametrize("case", ANSWERS)
def test_answer_comes_first_and_the_message_is_whole(case: str) -> None:
    answer = explain(*ANSWERS[case])
    found = text_lines(answer, VIEWS["groups"], 1000)
    assert found[0] == answer.verdict.summary
    if answer.message:
        assert f"  {answer.message}" in found


NODES = [make_node("a", allocatable={"cpu": "4", "memory": "8Gi", "pods": "110"})]


def many_printed(folder: Path, command: str, n_pods: int, *options: str) -> list[str]:
    pods = [
        make_pod(f"web-{i}", requests={"cpu": "99" if i == 0 else "1"}, labels={"app": str(i)}) for i in range(n_pods)
    ]
    snapshot = write_snapshot(folder, NODES, pods)
    names = [f"default/web-{i}" for i in range(n_pods)]
    return run(command, *names, "--snapshot", str(snapshot), *options, columns=160).out.splitlines()


@pytest.mark.parametrize("n_pods", [2, 9])
def test_several_pods_have_a_summary_first(n_pods: int, tmp_path: Path) -> None:
    text = many_printed(tmp_path, "explain", n_pods, "--label", "a:disk=ssd")
    fit = "1 fits" if n_pods == 2 else "8 fit"
    alone = "each decided independently, against the unchanged snapshot"
    assert text[0] == f"{n_pods} pods: 1 fits nowhere, {fit}; {alone}."
    assert sum("rules of Kubernetes" in line for line in text) == 1
    assert sum(line.startswith("what if: ") for line in text) == 1
    # The subject of each pod stays.
    assert sum(line.startswith("wants ") for line in text) == n_pods


def test_many_pods_are_printed_as_they_are_decided(tmp_path: Path) -> None:
    text = many_printed(tmp_path, "explain", 12)
    assert text[0] == "12 pods, each decided independently, against the unchanged snapshot"
    assert sum("rules of Kubernetes" in line for line in text) == 1


def test_one_pod_has_its_verdict_first(tmp_path: Path) -> None:
    text = many_printed(tmp_path, "explain", 1)
    assert text[0].startswith("default/web-0 fits on none of 1 node")
    assert sum("rules of Kubernetes" in line for line in text) == 1


def test_several_preemptions_have_a_summary_first(tmp_path: Path) -> None:
    text = many_printed(tmp_path, "preempt", 3)
    assert text[0] == "3 pods: 2 fit, 0 would evict others, 1 stays pending."
    assert sum("rules of Kubernetes" in line for line in text) == 1


MANY = tuple(f"gke-prod-cluster-default-pool-1a2b3c4d-{i:04}" for i in range(13))


@pytest.mark.parametrize(
    ("feasible", "stands", "last", "exact", "first"),
    [
        (MANY, 12, MANY, True, "Nodes: the pod withstands the loss of any 12 of 13 nodes."),
        (("a",), 0, ("a",), True, "Nodes: the pod fits on 1 node; the loss of a leaves the pod without a node."),
        (
            ("a", "b", "c"),
            1,
            ("a", "b"),
            True,
            "Nodes: the pod withstands the loss of any 1; the loss of a and b leaves the pod without a node.",
        ),
        (
            ("a", "b", "c"),
            1,
            (),
            False,
            "Nodes: the pod fits on 3 nodes; it withstands the loss of any 1; the search for a loss that leaves the "
            "pod without a node was not finished.",
        ),
    ],
    ids=["all nodes alike", "one node", "two of three", "not finished"],
)
def test_first_line(feasible: tuple[str, ...], stands: int, last: tuple[str, ...], exact: bool, first: str) -> None:
    found = WithstandingData(feasible, stands, last, exact, across=(), tried=0, zones=())
    assert lines(withstanding_section(found), 200)[1] == first


def test_terms_that_do_nothing_are_notes() -> None:
    term = {"topologyKey": "example.com/rack", "labelSelector": {"matchLabels": {"app": "web"}}}
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]}
    answer = explain(make_cluster([make_node("a")]), make_pod(affinity={"podAntiAffinity": preferred}))
    note = "note: the preferred pod anti-affinity by example.com/rack does nothing: no node has this label"
    assert note in lines(document(answer, ExplainView()), 200)
