"""The documentation site: it is built without a warning, loads nothing from a network, and its search knows all pages.

``tests/browser/test_documentation.py`` searches in a browser.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from lxml import html

from tests.docs.site_build import build
from tools.site_links import ROOT

pytestmark = pytest.mark.slow

#: The files that a browser loads by itself; links that a reader follows are not among them.
LOADED = "//script/@src | //link[not(@rel='canonical')]/@href | //img/@src | //iframe/@src | //object/@data"
ELSEWHERE = re.compile(r"^(?:[a-z]+:)?//", re.IGNORECASE)
#: The theme loads mermaid from a server for a diagram, and facts about a repository that it is told.
ASKS_FOR_MORE = "//*[contains(@class, 'mermaid')] | //*[@data-md-component='source']"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Any]:
    """Return the pages of the site, parsed."""
    return {str(path.relative_to(site)): html.parse(path).getroot() for path in sorted(site.rglob("*.html"))}


def test_every_page_is_there(pages: dict[str, Any]) -> None:
    names = {path.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for path in ROOT.glob("docs/**/*.md")}
    assert names <= pages.keys()
    assert {
        "repository/index.html",
        "repository/ARCHITECTURE.html",
        "repository/fixtures/shop/index.html",
    } <= pages.keys()


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[str, Any]) -> None:
    loaded = {name: [url for url in page.xpath(LOADED) if ELSEWHERE.match(url)] for name, page in pages.items()}
    assert {name: urls for name, urls in loaded.items() if urls} == {}
    assert [name for name, page in pages.items() if page.xpath(ASKS_FOR_MORE)] == []
    for style in site.rglob("*.css"):
        assert re.findall(r"""url\(["']?(?:https?:)?//[^)]*""", style.read_text()) == []


def test_what_is_loaded_is_there(site: Path, pages: dict[str, Any]) -> None:
    missing = [
        (name, url)
        for name, page in pages.items()
        if name != "404.html"
        for url in page.xpath(LOADED)
        if not url.startswith("data:") and not (site / name).parent.joinpath(url.partition("?")[0]).exists()
    ]
    assert missing == []


def test_lists_are_lists_and_tables_are_tables(pages: dict[str, Any]) -> None:
    """Code hosts begin a list in the middle of a paragraph, and mkdocs does not."""
    lines = [
        (name, line)
        for name, page in pages.items()
        for paragraph in page.xpath("//article//p | //article//li")
        for line in paragraph.text_content().splitlines()[1:]
        if re.match(r"[-*] |\d+\. |\|", line)
    ]
    assert lines == []


def test_the_search_knows_all_pages(site: Path, pages: dict[str, Any]) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text())
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}
    assert pages.keys() - found == {"404.html"}
    # In pages that are opened from a folder the index is a script.
    assert (site / "search" / "search_index.js").read_text().startswith("var __index = ")
