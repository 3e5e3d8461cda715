"""The documentation site in a browser, opened from a folder: its search, its layout on a phone, and no request."""

from pathlib import Path

import pytest

from tests.browser.browser import LOOKS, Browser
from tests.docs.site_build import build
from tools.site_links import ROOT

pytestmark = pytest.mark.browser

#: Types a query, and returns the addresses of the results once there are some.
SEARCH = """
new Promise(done => {
  const query = document.querySelector(".md-search__input")
  query.focus()
  query.value = "Insufficient cpu"
  query.dispatchEvent(new Event("keyup"))
  const results = () => [...document.querySelectorAll(".md-search-result__link")].map(link => link.href)
  const poll = () => results().length ? done(results()) : setTimeout(poll, 50)
  poll()
})
"""
PAGES = sorted(path.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for path in ROOT.glob("docs/**/*.md"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("site"))


def test_the_search_answers_without_a_server(browser: Browser, site: Path) -> None:
    browser.open(site / "index.html")
    assert f"{site.as_uri()}/reasons.html" in {url.partition("?")[0] for url in browser.evaluate(SEARCH)}
    assert browser.console() == []
    assert [url for url in browser.requests() if url.startswith(("http", "ws"))] == []


def test_no_page_scrolls_sideways(browser: Browser, site: Path) -> None:
    """Each page is loaded on a phone, and the window then becomes wider."""
    phone, *wider = (look for look in LOOKS if look.scheme == "light")
    wide = []
    for page in PAGES:
        browser.look(phone)
        browser.open(site / page)
        for look in (phone, *wider):
            browser.look(look)
            if browser.evaluate("document.documentElement.scrollWidth") > look.width:
                wide.append(f"{page} {look}")
        assert browser.console() == []
    assert wide == []
