"""Answers as data, the parts around them, and the doubts that make them incomplete."""

import pickle

import msgspec
import pytest
from msgspec import UNSET, structs

from kschedctl.objects.releases.choice import ChosenBy, choose_release
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.questions import document
from kschedctl.questions.answer import (
    Envelope,
    OperandsData,
    RulesData,
    SnapshotData,
    encode_part,
    merged_envelope,
    schema_of,
)
from kschedctl.questions.document import Block, Document, Heading, Paragraph
from kschedctl.questions.frame import View, cautions, one_by_one
from kschedctl.questions.loading import loaded_cluster
from kschedctl.questions.provenance import Provenance, envelope, provenance
from kschedctl.questions.verify.analysis import as_stored
from kschedctl.scheduler.framework.cycle_state import NotModelled
from kschedctl.scheduler.plugins.basics import OtherNodeNamed
from kschedctl.scheduler.preemption.budgets import get_pod_disruption_budgets
from kschedctl.sources.snapshot.load import Snapshot
from kschedctl.trials.completeness import Missing
from tests.builders import make_cluster, make_loaded, make_node, make_object, make_pod, overview_of
from tests.questions.printing import lines

NONE, NAMED = OperandsData(None), OperandsData(OtherNodeNamed("b"))


def test_operands_are_an_object_in_json_and_none_are_an_empty_one() -> None:
    assert msgspec.json.encode([NAMED, NONE], enc_hook=encode_part) == b'[{"nodeName":"b"},{}]'


def test_equal_operands_are_equal_also_in_another_process() -> None:
    assert pickle.loads(pickle.dumps(NAMED)) == NAMED == OperandsData(OtherNodeNamed("b"))
    assert len({NAMED, OperandsData(OtherNodeNamed("b")), NONE}) == 2
    assert repr(NAMED) == "OperandsData(OtherNodeNamed(node_name='b'))"


def test_what_is_no_part_of_an_answer_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="answers have no complex"):
        encode_part(1j)
    with pytest.raises(NotImplementedError, match="answers have no complex"):
        schema_of(complex)


def careful(warnings: list[str]) -> list[str]:
    answer = Envelope(
        rules=RulesData("1.36", ChosenBy.DEFAULT, "", "", {}),
        snapshot=SnapshotData((), 0, 0, None),
        warnings=tuple(warnings),
        missing=(),
        not_modelled=(),
    )
    return lines(cautions(answer))


def test_nothing_to_say() -> None:
    assert careful([]) == []


def test_many_warnings_are_counted() -> None:
    said = careful([f"number {i}" for i in range(25)])
    assert said[:2] == ["", "warning: number 0"]
    assert said[-1] == "and 15 more warnings: -o json prints all"
    assert len(said) == 12


@pytest.mark.parametrize(
    ("answers", "n_nodes", "drawn"),
    [
        pytest.param(1, 20_000, True, id="one-answer"),
        pytest.param(10, 1_000, True, id="few-cells"),
        pytest.param(10, 1_001, False, id="more-than-10000-cells"),
    ],
)
def test_many_answers_have_no_maps(answers: int, n_nodes: int, drawn: bool) -> None:
    overview = overview_of(make_loaded(make_cluster([make_node("a")])))
    view = View(drawn=True, overview=structs.replace(overview, nodes=overview.nodes * n_nodes))
    assert (view.among(answers).overview is not None) == drawn


def two_lines(answer: str, view: View) -> Document:
    yield Paragraph(answer)
    yield Paragraph("more")


@pytest.mark.parametrize(
    ("drawn", "before", "expected"),
    [
        pytest.param(False, None, [Paragraph("a"), Paragraph("b")], id="text"),
        pytest.param(True, None, [Paragraph("a"), Heading("b")], id="the-first-is-the-title-of-the-page"),
        pytest.param(True, document.Provenance((), ()), [Heading("a"), Heading("b")], id="below-a-first-line"),
    ],
)
def test_answers_among_others_have_headings_on_pages(
    drawn: bool, before: document.Provenance | None, expected: list[Block]
) -> None:
    blocks = list(one_by_one(["a", "b"], View(drawn=drawn), two_lines, before))
    assert [each for each in blocks if getattr(each, "text", "more") != "more"] == expected


CLUSTER = make_cluster([make_node("a")])
TWICE = "Pod shop/web is in a.yaml and again in b.yaml; the later counts"
OWN = "Default plugin is explicitly re-configured; overriding: NodeAffinity"


def rests_on(
    version: str = "v1.36.1",
    *,
    missing: tuple[Missing, ...] = (),
    doubts: tuple[str, ...] = (),
    warnings: tuple[str, ...] = (),
    not_modelled: tuple[NotModelled, ...] = (),
) -> Envelope:
    choice = choose_release("", version, ())
    given = Provenance(
        release_choice=choice, paths=("here",), n_pods=0, missing=missing, doubts=doubts, warnings=warnings
    )
    return Envelope(**envelope(CLUSTER, given, not_modelled))


@pytest.mark.parametrize(
    ("answer", "complete"),
    [
        pytest.param(rests_on(), True, id="nothing to be careful about"),
        pytest.param(rests_on("v1.29.4"), False, id="the cluster's own release is not modelled"),
        pytest.param(rests_on(doubts=(TWICE,)), False, id="an object is in the snapshot twice"),
        pytest.param(rests_on(missing=(Missing("PriorityClass", "it", "so"),)), False, id="something is missing"),
        pytest.param(rests_on(not_modelled=(NotModelled("this", "so"),)), False, id="something is not modelled"),
        pytest.param(rests_on(warnings=(OWN,)), True, id="a configuration is taken otherwise than one may think"),
    ],
)
def test_an_answer_is_complete_where_nothing_puts_it_in_doubt(answer: Envelope, complete: bool) -> None:
    assert answer.complete is complete


def test_doubts_are_warnings_too_and_come_first() -> None:
    answer = rests_on("v1.29.4", doubts=(TWICE,), warnings=(OWN,))
    assert answer.warnings == (*(answer.doubts or ()), OWN)
    assert [text.partition(" ")[0] for text in answer.warnings] == ["not", "Pod", "Default"]


def test_several_answers_share_their_doubts() -> None:
    assert merged_envelope((rests_on(), rests_on(doubts=(TWICE,)), rests_on(doubts=(TWICE,)))).doubts == (TWICE,)
    assert merged_envelope((rests_on(), rests_on(warnings=(OWN,)))).doubts is UNSET


def test_a_computed_status_of_a_budget_is_said_where_budgets_matter() -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    budget = make_object(PodDisruptionBudget, "web", namespace="shop", spec=spec)
    pods = [make_pod(name, namespace="shop", node="a", labels={"app": "web"}) for name in ("web-1", "web-2")]
    here = Snapshot(make_cluster([make_node("a")], pods, budget), ("here",), None, {})
    cluster = loaded_cluster(here, kubernetes_version="1.36")
    assert provenance(cluster).warnings == ()
    (warning,) = provenance(cluster, many=True).warnings
    assert warning == (
        "a PodDisruptionBudget has no current status, so it is computed as the disruption controller does: "
        "shop/web allows 1 disruption (2 healthy, 1 desired)"
    )
    assert provenance(cluster, evicts=True).warnings == (warning,)
    # kube-scheduler itself computes nothing: to compare with it, the status is as stored.
    assert [each.allowed for each in get_pod_disruption_budgets(as_stored(cluster).cluster)] == [0]
