"""Every command's page, at all sizes and in both colour schemes, with the keyboard, on paper and without JavaScript."""

from collections.abc import Iterable

import pytest

from tests.browser import checks
from tests.browser.browser import Browser
from tests.browser.pages import PAGES, Pages

pytestmark = pytest.mark.browser


@pytest.fixture(params=PAGES)
def page(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def assert_none(problems: Iterable[str]) -> None:
    text = "\n".join(problems)
    assert not text, text


def test_nothing_in_the_console_no_sideways_scrolling_accessible(
    page: str, browser: Browser, pages: Pages, axe: str
) -> None:
    assert_none(checks.looks(browser, pages.path(page), axe))


def test_everything_is_reached_by_keyboard(page: str, browser: Browser, pages: Pages) -> None:
    assert_none(checks.keyboard(browser, pages.path(page)))


def test_readable_when_printed(page: str, browser: Browser, pages: Pages) -> None:
    assert_none(checks.paper(browser, pages.path(page)))


def test_whole_without_javascript(page: str, browser: Browser, pages: Pages) -> None:
    assert_none(checks.without_javascript(browser, pages.path(page)))


def test_requests_nothing_but_itself(page: str, browser: Browser, pages: Pages) -> None:
    assert_none(checks.requests(browser, pages.path(page)))
