"""The warnings around an answer."""

from __future__ import annotations

from kschedctl.answers.base import Envelope, RulesData, SnapshotData
from kschedctl.presentation.frame import cautions
from kschedctl.releases.choice import ChosenBy
from tests.presentation.printing import lines


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
