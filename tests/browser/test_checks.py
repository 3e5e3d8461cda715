"""Each check finds its defects on a page that has them, and none on a page that has none."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.browser import checks
from tests.browser.browser import Browser

pytestmark = pytest.mark.browser

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; {policy}">
<title>Nodes</title>
<style>
:root {{ color-scheme: light dark; background: Canvas; color: CanvasText }}
@media print {{ :root {{ color-scheme: light }} }}
{style}
</style>
</head>
<body>
<main>
<h1>Nodes</h1>
<table>
<caption>Nodes</caption>
<tr><th scope="col">Node</th><th scope="col">Pods</th></tr>
<tr><td>n1</td><td>7</td></tr>
</table>
{body}
</main>
</body>
</html>
"""
SCRIPTS = "script-src 'unsafe-inline'"
CLICK = "<script>document.getElementById('x').onclick = () => {}</script>"
GROUP = "<div><button id=x>x</button><button id=y tabindex=-1>y</button></div>"
ARROWS = (
    "<script>onkeydown = (event) => { if (event.key === 'ArrowRight') document.getElementById('y').focus() }</script>"
)
#: Style, body and policy of a page, and a part of the problem that is found; empty for none.
LOOKS = {
    "a plain page": ("", "", "", ""),
    "a wide element": ("", "<div style='width: 500px'>x</div>", "", "390 light: scrolls sideways: 508 > 390"),
    "a wide element that scrolls by itself": (
        "",
        "<div style='overflow: auto' tabindex=0 role=region aria-label=x><div style='width: 500px'>x</div></div>",
        "",
        "",
    ),
    "grey on white": ("p { color: #aaa }", "<p>x</p>", "", "1280 light: color-contrast"),
    "grey on black": (
        "@media (prefers-color-scheme: dark) { p { color: #444 } }",
        "<p>x</p>",
        "",
        "2560 dark: color-contrast",
    ),
    "a picture without a name": ("", "<svg role=img></svg>", "", "svg-img-alt"),
    "a warning": ("", "<script>console.warn('careful')</script>", SCRIPTS, "console: file:"),
    "an error": ("", "<script>nothing()</script>", SCRIPTS, "nothing is not defined"),
    "what the policy forbids": ("", "<script>1</script>", "", "Content Security Policy"),
}
PAPER = {
    "a plain page": ("", "", "", ""),
    "a dark page": ("body { background: #111; color: #eee }", "", "", "light: dark on paper: <body>"),
    "dark when the screen is": (
        "@media (prefers-color-scheme: dark) { body { background: #111; color: #eee } }",
        "",
        "",
        "1280 dark: dark on paper: <body>",
    ),
    "a table that is not printed": ("@media print { table { display: none } }", "", "", "not printed: Pods"),
}
KEYBOARD = {
    "a plain page": ("", "", "", ""),
    "a button": ("", "<button id=x>x</button>" + CLICK, SCRIPTS, ""),
    "a part that reacts to clicks": ("", "<p id=x>x</p>" + CLICK, SCRIPTS, 'reacts to clicks only: <p id="x">'),
    "a part that looks like a button": ("p { cursor: pointer }", "<p>x</p>", "", "not reached: <p>"),
    "a button that Tab skips": ("", "<button tabindex=-1>x</button>", "", "not reached: <button"),
    "two of which arrow keys choose": ("", GROUP + ARROWS, SCRIPTS, ""),
    "two of which nothing chooses": ("", GROUP, "", 'not reached: <button id="y" tabindex="-1">'),
    "an invisible focus": ("button { outline: none }", "<button>x</button>", "", "focus not visible: <button>"),
    "a label and its box": ("label { cursor: pointer }", "<label><input type=checkbox>x</label>", "", ""),
    "details": ("", "<details><summary>x</summary><a href='#y'>y</a></details>", "", ""),
}
REQUESTS = {
    "a plain page": ("", "", "", ""),
    "a picture of another file": ("", "<img src=other.png alt=x>", "img-src *", "requests file:"),
    "a picture inside": ("", "<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw=' alt=x>", "img-src data:", ""),
}
WITHOUT_JAVASCRIPT = {
    "a plain page": ("", "", "", ""),
    "a table made by a script": (
        "",
        "<div id=x></div><script>document.getElementById('x').innerHTML = '<table><tr><td>n2</table>'</script>",
        SCRIPTS,
        "5 of 6 cells, missing: ['n2']",
    ),
    "a table shown by a script": ("table { display: none }", "", "", "not shown: Nodes"),
    "a button": ("", "<button>x</button>", "", "does nothing: <button>"),
    "a button shown by a script": (
        "",
        "<button id=x hidden>x</button><script>document.getElementById('x').hidden = false</script>",
        SCRIPTS,
        "",
    ),
}
Check = Callable[[Browser, Path], Iterable[str]]
CASES = {
    **{f"paper: {name}": (checks.paper, case) for name, case in PAPER.items()},
    **{f"keyboard: {name}": (checks.keyboard, case) for name, case in KEYBOARD.items()},
    **{f"requests: {name}": (checks.requests, case) for name, case in REQUESTS.items()},
    **{f"without JavaScript: {name}": (checks.without_javascript, case) for name, case in WITHOUT_JAVASCRIPT.items()},
}


def write_page(folder: Path, style: str, body: str, policy: str) -> Path:
    page = folder / "page.html"
    page.write_text(PAGE.format(style=style, body=body, policy=policy))
    return page


@pytest.mark.parametrize(("check", "case"), CASES.values(), ids=CASES)
def test_a_check_finds_its_defects(
    check: Check, case: tuple[str, str, str, str], browser: Browser, tmp_path: Path
) -> None:
    *parts, expected = case
    problems = list(check(browser, write_page(tmp_path, *parts)))
    assert any(expected in problem for problem in problems) if expected else problems == [], problems


@pytest.mark.parametrize("case", LOOKS.values(), ids=LOOKS)
def test_the_check_of_looks_finds_its_defects(
    case: tuple[str, str, str, str], browser: Browser, axe: str, tmp_path: Path
) -> None:
    *parts, expected = case
    problems = list(checks.looks(browser, write_page(tmp_path, *parts), axe))
    assert any(expected in problem for problem in problems) if expected else problems == [], problems
