"""docs/sweep.md describes every part of a plan, and its plans can be read."""

import re
from pathlib import Path

import pytest

from kschedctl.questions.sweep.cases import plan_of
from kschedctl.questions.sweep.plan import PlanStruct
from tests.paths import ROOT
from tools.sweep_page import PARTS

PAGE = ROOT / "docs" / "sweep.md"
SWEEPS = sorted((PAGE.parents[1] / "fixtures" / "shop" / "sweeps").glob("*.yaml"))


def test_every_part_of_a_plan_is_in_it() -> None:
    assert set(PARTS) == set(PlanStruct.__subclasses__())


@pytest.mark.parametrize("text", re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL))
def test_plans_of_the_page_can_be_read(text: str) -> None:
    assert len(plan_of(text.encode(), "docs/sweep.md").cases)


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.name)
def test_the_page_shows_the_plans_of_the_shop(path: Path) -> None:
    assert path.read_text() in PAGE.read_text()
