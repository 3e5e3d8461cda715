"""The reference sections of pages are made from the code. Rewritten by: make golden"""

import re
from collections.abc import Callable

import pytest

import kschedctl
from tests.paths import ROOT
from tools import (
    commands_page,
    dependencies_page,
    json_page,
    permissions_page,
    python_page,
    reasons_page,
    releases_page,
    sweep_page,
)

DOCS = ROOT / "docs"
BLOCK = re.compile(r"(<!-- reference -->\n).*?(<!-- /reference -->)", re.DOTALL)


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("commands", commands_page.reference),
        ("dependencies", dependencies_page.reference),
        ("json", json_page.reference),
        ("permissions", permissions_page.reference),
        ("python", python_page.reference),
        ("reasons", reasons_page.reference),
        ("releases", releases_page.reference),
        ("sweep", sweep_page.reference),
    ],
)
def test_the_section_is_what_the_code_says(name: str, made: Callable[[], str], request: pytest.FixtureRequest) -> None:
    page = DOCS / f"{name}.md"
    written = page.read_text()
    assert len(BLOCK.findall(written)) == 1
    text = BLOCK.sub(lambda found: f"{found[1]}{made()}\n{found[2]}", written)
    if request.config.getoption("--rewrite-golden"):
        page.write_text(text)
    else:
        assert written == text, "make golden writes it anew"


def test_every_public_name_is_on_the_page_of_the_python_api() -> None:
    shown = re.findall(r"^::: kschedctl\.(\w+)$", "\n".join(path.read_text() for path in DOCS.glob("python*.md")), re.M)
    assert sorted(shown) == sorted(set(kschedctl.__all__) - {"__version__"})
