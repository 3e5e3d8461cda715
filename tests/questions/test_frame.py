"""The parts around an answer: warnings, and answers among others."""

import pytest
from msgspec import structs

from kschedctl.objects.releases.choice import ChosenBy
from kschedctl.questions.answer import Envelope, RulesData, SnapshotData
from kschedctl.questions.document import Block, Document, Heading, Paragraph, Provenance
from kschedctl.questions.frame import View, cautions, one_by_one
from tests.builders import make_cluster, make_loaded, make_node, overview_of
from tests.questions.printing import lines


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
        pytest.param(True, Provenance((), ()), [Heading("a"), Heading("b")], id="below-a-first-line"),
    ],
)
def test_answers_among_others_have_headings_on_pages(
    drawn: bool, before: Provenance | None, expected: list[Block]
) -> None:
    blocks = list(one_by_one(["a", "b"], View(drawn=drawn), two_lines, before))
    assert [each for each in blocks if getattr(each, "text", "more") != "more"] == expected
