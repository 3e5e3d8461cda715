"""The checks of a page; each returns the problems that it found, in words."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final
from unicodedata import normalize

from tests.browser.browser import LOOKS, Browser, Look, script

#: The rules of WCAG at levels A and AA, and what axe-core recommends beyond.
_RULES: Final = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
#: More than any page of the tests has.
_MOST_STOPS: Final = 3000
_BATCH: Final = 10


def looks(browser: Browser, page: Path | str, axe: str) -> Iterator[str]:
    """Check the console, the width and the accessibility of a page at all sizes, in both colour schemes.

    Parameters
    ----------
    axe : str
        The script of axe-core; empty to leave its rules out.
    """
    browser.open(page)
    for look in LOOKS:
        browser.look(look)
        yield from (f"{look}: scrolls sideways: {name}" for name in browser.evaluate(script("overflow")))
        if axe:
            yield from (f"{look}: {problem}" for problem in accessibility(browser, axe))
    yield from (f"console: {line}" for line in browser.console())


def accessibility(browser: Browser, axe: str, rules: tuple[str, ...] = _RULES) -> list[str]:
    """Return the violations of axe-core's rules on the open page."""
    browser.evaluate(f"typeof axe === 'undefined' ? (() => {{ {axe} }})() : 0")
    violations: list[str] = browser.evaluate(script("axe").replace("TAGS", repr(list(rules))))
    return violations


def requests(browser: Browser, page: Path) -> Iterator[str]:
    """Check that a page requests nothing but itself."""
    browser.open(page)
    browser.look(LOOKS[0])
    yield from (f"requests {url}" for url in browser.requests() if url != page.as_uri() and url[:5] != "data:")


def keyboard(browser: Browser, page: Path | str) -> Iterator[str]:
    """Check that the keyboard reaches everything that reacts to a click, and that the focus can be seen."""
    browser.open(page)
    browser.look(Look(1280, "light"))
    browser.evaluate(script("open_details"))
    clicked = [node for node, kind in browser.listeners() if kind in ("click", "mousedown", "pointerdown")]
    operated = {node for node, kind in browser.listeners() if kind in ("keydown", "keyup", "keypress")}
    for node in clicked:
        name = browser.call_on(node, script("listener").partition("\n")[2])
        if name and node not in operated:
            yield f"reacts to clicks only: {name}"
    browser.evaluate(script("watch_focus"))
    _walk(browser, "Tab")
    # Of a list of many, Tab reaches one, and the arrow keys the others.
    while browser.evaluate(script("focus_neighbour")):
        _walk(browser, "ArrowRight")
    yield from browser.evaluate(script("unreachable"))


def _walk(browser: Browser, key: str) -> None:
    """Press a key until no element receives the focus for the first time."""
    reached = -1
    for _ in range(0, _MOST_STOPS, _BATCH):
        for _ in range(_BATCH):
            browser.press(key)
        before, reached = reached, browser.evaluate("keyboardWalk.reached.size")
        if reached == before:
            return
    raise AssertionError(f"more than {_MOST_STOPS} elements receive the focus")


def paper(browser: Browser, page: Path) -> Iterator[str]:
    """Check that a page is light when printed, and that all its tables are on the paper."""
    browser.open(page)
    cells: list[str] = browser.evaluate(script("cells"))
    for look in (Look(1280, "light"), Look(1280, "dark")):
        browser.look(look, medium="print")
        yield from (f"{look}: dark on paper: {name}" for name in browser.evaluate(script("dark_parts")))
    text = browser.printed()
    if not text:
        yield "nothing is printed"
    yield from (f"not printed: {cell}" for cell in cells if normalize("NFKC", cell) not in text)


def without_javascript(browser: Browser, page: Path) -> Iterator[str]:
    """Check that a page has all its text and tables without JavaScript, and no controls that do nothing."""
    browser.open(page)
    browser.look(Look(1280, "light"))
    cells: list[str] = browser.evaluate(script("cells"))
    browser.open(page, javascript=False)
    without: list[str] = browser.evaluate(script("cells"))
    if without != cells:
        yield f"{len(without)} of {len(cells)} cells, missing: {[cell for cell in cells if cell not in without][:5]}"
    browser.evaluate(script("open_details"))
    yield from (f"not shown: {text}" for text in browser.evaluate(script("hidden_cells")))
    yield from (f"does nothing: {name}" for name in browser.evaluate(script("dead_controls")))
