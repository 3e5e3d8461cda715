"""The pages of ``serve`` in a browser: at all sizes, by keyboard, and what their script adds."""

import time
from collections.abc import Iterator
from typing import Final

import pytest

from tests.browser import checks
from tests.browser.browser import LOOKS, Browser
from tests.browser.test_pages import assert_none
from tests.web.running import running

pytestmark = pytest.mark.browser

_PAGES: Final = (
    "/",
    "/pending?output=wide",
    "/pods?q=web",
    "/pods",
    "/pods/shop/search-3?apply-suggestion=2",
    "/pods/shop/web-7",
    "/pods/shop/search-3?cordon=node-3",
    "/pods/data/postgres-0",
    "/nodes",
    "/nodes/node-8",
    "/workloads/Deployment/shop/web",
    "/claims",
    "/budgets/shop/recommend",
    "/search?q=web",
    "/try",
    "/drain?node=node-8",
    "/jobs",
    "/login",
)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a server over the shop."""
    with running("--snapshot", "fixtures/shop/cluster", "--workers", "1") as found:
        yield f"http://{found.host}:{found.port}"


@pytest.fixture(params=_PAGES)
def address(request: pytest.FixtureRequest, server: str) -> str:
    return f"{server}{request.param}"


def test_nothing_in_the_console_no_sideways_scrolling_accessible(address: str, browser: Browser, axe: str) -> None:
    assert_none(checks.looks(browser, address, axe))


def test_everything_is_reached_by_keyboard(address: str, browser: Browser) -> None:
    assert_none(checks.keyboard(browser, address))


def text(browser: Browser, selector: str) -> str:
    """Return the text of an element; empty if there is none."""
    found: str = browser.evaluate(f"document.querySelector({selector!r})?.innerText ?? ''")
    return found


def wait_for(browser: Browser, selector: str, part: str) -> None:
    """Wait until the text of an element contains a part."""
    for _ in range(600):
        if part in text(browser, selector):
            return
        time.sleep(0.05)
    raise AssertionError(f"{selector} has no {part!r}: {text(browser, selector)!r}")


def test_a_manifest_is_answered_as_it_is_typed(server: str, browser: Browser) -> None:
    browser.open(f"{server}/try")
    browser.look(LOOKS[0])
    browser.evaluate(
        "(box => { box.focus(); box.value = box.value.replace('cpu: \"1\"', 'cpu: \"100\"');"
        " box.dispatchEvent(new Event('input', { bubbles: true })); })(document.getElementById('manifest'))"
    )
    wait_for(browser, "#answer", "fits on none of 15 nodes")
    assert browser.evaluate("document.activeElement.id") == "manifest"
    # The script of pages works on what was inserted, too.
    assert text(browser, "#answer .map .controls").startswith("Group by")
    assert not browser.console()


def test_a_job_shows_its_answer_once_it_ends(server: str, browser: Browser) -> None:
    browser.open(f"{server}/drain?node=node-8&ignore-daemonsets=true")
    browser.evaluate("void document.querySelector('main form').requestSubmit()")
    wait_for(browser, "main .lead", "node-8 can be drained")
    assert not browser.console()


def test_a_what_if_is_chosen_without_a_script(server: str, browser: Browser) -> None:
    browser.open(f"{server}/pods/shop/web-7?what-if=cordon&what-if-value=node-8", javascript=False)
    assert browser.evaluate("location.search") == "?cordon=node-8"
    assert "node-5" in text(browser, "main .lead")
