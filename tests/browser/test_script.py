"""The script of pages: tables that sort, filter and export, maps that regroup and recolour, and the slider."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kschedctl.output.page.page import as_page
from kschedctl.questions.charts import Bar, Bars, Cell, Colouring, Kind, Lane, NodeMap, Segment, Span, Timeline
from kschedctl.questions.document import Block, Paragraph, table
from tests.browser.browser import Browser, Look

pytestmark = pytest.mark.browser

MIXED = table(
    ("node", "free", "reasons"),
    [
        ("node-10", "500m", "=HYPERLINK(1)"),
        ("node-9", "2", ("taint a", 'says "no"')),
        ("", "7", "of node-9"),
        ("node-1", "12Gi", "-"),
        ("node-2", "3 Mi", "-2"),
        ("node-3", "-", "@x"),
        ("node-4", "20 %", "+1"),
    ],
    numeric=(1,),
)
LONG = table(("node", "pods"), [(f"node-{i}", str(i % 7)) for i in range(1000)])
MAP = NodeMap(
    title="Map",
    groupings=("zone", "pool"),
    colourings=(Colouring("result", (Kind("fits"), Kind("full"))), Colouring("free cpu", (Kind("low"), Kind("high")))),
    cells=tuple(
        Cell(f"node-{i}", (f"zone-{i % 2}", "" if i == 3 else "general"), (i % 2, i // 2), (f"line {i}", "and more"))
        for i in range(4)
    ),
)
BARS = Bars(
    title="Bars",
    headings=("zone", "pods"),
    measure="pods",
    kinds=(Kind("before"), Kind("added")),
    rows=tuple(
        Bar((f"zone-{i}", f"{i + 1} pods"), (Segment(0, 1, "1 pod"), Segment(1, i, f"{i} pods")), 12)
        for i in (5, 11, 2, 0, 1, 7)
    ),
)
WIDE_MAP = NodeMap(
    title="Map",
    groupings=(),
    colourings=MAP.colourings,
    cells=tuple(Cell(f"node-{i}", (), (0, 0), (f"line {i}",)) for i in range(600)),
)
TIMELINE = Timeline(
    title="Timeline",
    subject="pod",
    kinds=(Kind("pending"), Kind("runs")),
    lanes=(Lane("web", (Span(0, 5, 0, ""), Span(5, 90, 1, "on node-1"))), Lane("db", (Span(0, 90, 1, "on node-2"),))),
    end=90,
)

#: Functions for the steps of the tests.
HELPERS = """
const shown = (selector) => [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility());
const texts = (selector) => shown(selector).map((each) => each.textContent.trim());
const first = (column = 1) => texts(`tbody tr td:nth-child(${column})`);
const type = (text) => {
  const box = document.querySelector("input[type=search]");
  box.value = text;
  box.dispatchEvent(new Event("input", { bubbles: true }));
};
const press = (name) => shown("button").find((each) => each.textContent === name).click();
const choose = (label, option) => {
  const select = shown("label").find((each) => each.textContent.startsWith(label)).querySelector("select");
  select.value = [...select.options].find((each) => each.text === option).value;
  select.dispatchEvent(new Event("change"));
};
const saved = () => {
  let blob;
  URL.createObjectURL = (made) => ((blob = made), "");
  HTMLAnchorElement.prototype.click = () => {};
  press("Save as CSV");
  return blob.text();
};
const slide = (position) => {
  const slider = document.querySelector("input[type=range]");
  slider.value = position;
  slider.dispatchEvent(new Event("input"));
};
for (const each of document.querySelectorAll("details.numbers")) each.open = true;
"""


@pytest.fixture
def after(browser: Browser, tmp_path: Path) -> Any:
    """Return a function that opens a page with a block, takes steps in it, and returns the value of the last."""

    def run(block: Block, steps: str, width: int = 1280) -> Any:
        page = tmp_path / "page.html"
        page.write_text(as_page([Paragraph("title"), block], lambda _: "", datetime(2026, 5, 4, tzinfo=UTC)))
        browser.open(page)
        browser.look(Look(width, "light"))
        *before, last = steps.split("; ")
        return browser.evaluate(f"(() => {{ {HELPERS} {'; '.join(before)}; return {last} }})()")

    return run


TABLES = {
    "a word": ("type('NODE-1'); first()", ["node-10", "node-1"]),
    "two words in any order": ("type('gi node'); first()", ["node-1"]),
    "a row that continues another": ("type('of node-9'); first(2)", ["2", "7"]),
    "no row": ("type('x y'); first()", []),
    "the number of rows": ("type('node-1'); texts('[role=status]')", ["2 of 7 rows"]),
    "no number without a filter": ("type('node-1'); type(''); texts('[role=status]')", [""]),
    "sorted by name": ("press('node'); first()", ["node-1", "node-2", "node-3", "node-4", "node-9", "", "node-10"]),
    "sorted by size": ("press('free'); first(2)", ["500m", "2", "7", "20 %", "3 Mi", "12Gi", "-"]),
    "sorted the other way": ("press('free'); press('free'); first(2)[0]", "-"),
    "the direction is told": ("press('free'); document.querySelectorAll('th')[1].ariaSort", "ascending"),
}


@pytest.mark.parametrize(("steps", "expected"), TABLES.values(), ids=TABLES)
def test_tables_are_filtered_and_sorted(steps: str, expected: object, after: Any) -> None:
    assert after(MIXED, steps) == expected


def test_saved_tables_have_the_filtered_rows_and_no_formulas(after: Any) -> None:
    assert after(MIXED, "type('node'); saved()").split("\r\n") == [
        '"node","free","reasons"',
        '"node-10","500m","\'=HYPERLINK(1)"',
        '"node-9","2","taint a; says ""no"""',
        '"","7","of node-9"',
        '"node-1","12Gi","-"',
        '"node-2","3 Mi","-2"',
        '"node-3","-","\'@x"',
        '"node-4","20 %","\'+1"',
    ]


def test_a_narrow_screen_has_a_choice_of_the_order(after: Any) -> None:
    assert after(MIXED, "choose('Sort by', 'node \u2193'); first()[0]", width=390) == "node-10"
    assert after(MIXED, "texts('label').some((text) => text.startsWith('Sort by'))") is False


def test_bars_are_sorted_filtered_and_saved_with_their_numbers(after: Any) -> None:
    assert after(BARS, "press('pods'); first()[0]") == "zone-0"
    assert after(BARS, "type('zone-1'); first()") == ["zone-11", "zone-1"]
    assert after(BARS, "type('zone-5'); saved()").split("\r\n") == [
        '"zone","","pods"',
        '"zone-5","before: 1 pod; added: 5 pods","6 pods"',
    ]


LONG_TABLES = {
    "first rows": ("first().length", 250),
    "told": ("texts('[role=status]')", ["1000 rows, the first 250 are shown"]),
    "all on demand": ("press('Show all'); first().length", 1000),
    "none left to show": ("press('Show all'); texts('button').includes('Show all')", False),
    "few found": ("type('node-12'); texts('[role=status]')", ["11 of 1000 rows"]),
    "many found": ("type('node-5'); texts('[role=status]')", ["111 of 1000 rows"]),
    "sorted as a whole": ("press('node'); press('node'); first()[0]", "node-999"),
    "printed as a whole": ("dispatchEvent(new Event('beforeprint')); first().length", 1000),
    "saved as a whole": ("saved().then((text) => text.split('\\n').length)", 1001),
}


@pytest.mark.parametrize(("steps", "expected"), LONG_TABLES.values(), ids=LONG_TABLES)
def test_long_tables_show_the_first_rows(steps: str, expected: object, after: Any) -> None:
    assert after(LONG, steps) == expected


MAPS = {
    "groups": ("texts('.group')", ["zone zone-0", "zone zone-1"]),
    "other groups": ("choose('Group', 'pool'); texts('.group')", ["pool general", "no pool"]),
    "their sizes": ("choose('Group', 'pool'); texts('.count')", ["3 nodes", "1 node"]),
    "their shares": (
        "choose('Colour', 'free cpu'); choose('Group', 'pool'); "
        "shown('summary svg').map((each) => each.getAttribute('aria-label'))",
        ["2 low, 1 high", "1 high"],
    ),
    "the legend": ("choose('Colour', 'free cpu'); texts('.legend li')", ["low", "high"]),
    "one stop per group": ("shown('.cells a').map((each) => each.tabIndex)", [0, -1, 0, -1]),
    "what the focus is on": (
        "shown('.cells a')[3].focus(); texts('.about')",
        ["node-3 line 3; and more · zone zone-1 · result full · free cpu high"],
    ),
    "what is tapped": (
        "shown('.cells a')[1].click(); texts('.about')",
        ["node-2 line 2; and more · zone zone-0 · pool general · result fits · free cpu high"],
    ),
}


@pytest.mark.parametrize(("steps", "expected"), MAPS.values(), ids=MAPS)
def test_maps_are_regrouped_and_recoloured(steps: str, expected: object, after: Any) -> None:
    assert after(MAP, steps) == expected


@pytest.mark.parametrize("width", [390, 1280])
def test_the_reasons_of_a_node_are_in_view_wherever_its_cell_is(width: int, after: Any) -> None:
    seen = "(({ top, bottom }) => top >= 0 && bottom <= innerHeight)(shown('.about')[0].getBoundingClientRect())"
    assert after(WIDE_MAP, f"shown('.cells a')[0].focus(); {seen}", width=width)


TIMES = {
    "all at first": ("texts('.spans li').length", 3),
    "the start": ("slide(0); texts('[role=status]')", ["at 0 s: 1 pending, 1 runs"]),
    "a change": ("slide(1); texts('[role=status]')", ["at 5 s: 2 runs"]),
    "states at that time": ("slide(1); texts('.spans li').length", 2),
    "all again": ("slide(1); slide(3); texts('[role=status]')", ["all states"]),
}


@pytest.mark.parametrize(("steps", "expected"), TIMES.values(), ids=TIMES)
def test_the_slider_shows_one_time(steps: str, expected: object, after: Any) -> None:
    assert after(TIMELINE, steps) == expected
