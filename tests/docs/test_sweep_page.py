"""docs/sweep.md has the reference of plans, made of their types. Rewritten by: make golden"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kschedctl.sweep.plan import PlanStruct
from kschedctl.sweep.plan_reader import plan_of
from tools.sweep_page import PARTS, reference

PAGE = Path(__file__).parents[2] / "docs" / "sweep.md"
SWEEPS = sorted((PAGE.parents[1] / "fixtures" / "shop" / "sweeps").glob("*.yaml"))
BLOCK = re.compile(r"(<!-- reference -->\n).*?(<!-- /reference -->)", re.DOTALL)


def test_the_reference_is_that_of_the_types(request: pytest.FixtureRequest) -> None:
    written = PAGE.read_text()
    assert len(BLOCK.findall(written)) == 1
    made = BLOCK.sub(lambda found: f"{found[1]}{reference()}\n{found[2]}", written)
    if request.config.getoption("--rewrite-golden"):
        PAGE.write_text(made)
    else:
        assert written == made, "make golden writes it anew"


def test_every_part_of_a_plan_is_in_it() -> None:
    assert set(PARTS) == set(PlanStruct.__subclasses__())


@pytest.mark.parametrize("text", re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL))
def test_plans_of_the_page_can_be_read(text: str) -> None:
    assert len(plan_of(text.encode(), "docs/sweep.md").cases)


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.name)
def test_the_page_shows_the_plans_of_the_shop(path: Path) -> None:
    assert path.read_text() in PAGE.read_text()
