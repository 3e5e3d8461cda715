"""Fixtures of the tests in a browser: the browser, axe-core, and the pages of the commands."""

from collections.abc import Iterator

import pytest

from tests.browser.axe import AxeError, read_axe
from tests.browser.browser import Browser, missing_programs
from tests.browser.pages import Pages

_NO_BROWSER = "no browser to test with"
_NO_AXE = "axe-core is missing"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report at the end that tests were skipped: a skipped test alone is easily overlooked."""
    skipped = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", ())]
    for reason, remedy in (
        (_NO_BROWSER, "install chromium and chromium-driver"),
        (_NO_AXE, "install npm, which downloads it once"),
    ):
        lines = [line for line in skipped if reason in line]
        if lines:
            text = f"{len(lines)} tests of the pages were skipped: {reason} ({remedy})"
            terminalreporter.write_line(text, yellow=True, bold=True)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Start a browser for all tests."""
    missing = missing_programs()
    if missing:
        pytest.skip(f"{_NO_BROWSER}: {missing}")
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="session")
def axe() -> str:
    """Return the script of axe-core."""
    try:
        return read_axe()
    except AxeError as error:
        pytest.skip(f"{_NO_AXE}: {error}")


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    return Pages(tmp_path_factory.mktemp("pages"))
