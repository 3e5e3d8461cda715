"""Pages: structure, escapes, and a policy that allows only the page's own style and script."""

import base64
import hashlib
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import html5lib
import lxml.html
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks import synthetic
from kschedctl.common.text.characters import printable
from kschedctl.output.page.page import as_fragment, as_page
from kschedctl.questions.charts import Bar, Bars, Cell, Colouring, Kind, Lane, NodeMap, Segment, Span, Timeline
from kschedctl.questions.document import (
    GAP,
    Block,
    Heading,
    Paragraph,
    Phrases,
    Provenance,
    Question,
    Questions,
    Tone,
    Verbatim,
    table,
)
from tests.cli.in_process import run
from tests.hostile_names import AS_IT_IS, MARKUP, NASTY, snapshot

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


def page(*blocks: Block) -> lxml.html.HtmlElement:
    return lxml.html.fromstring(as_page(blocks, lambda question: f"kschedctl {question.command}", NOW))


def texts(root: lxml.html.HtmlElement, selector: str) -> list[str]:
    return [" ".join(each.text_content().split()) for each in root.cssselect(selector)]


ANSWER = Paragraph("web fits on 2 of 3 nodes.", Tone.GOOD)
TABLE = table(("node", "cpu"), [("a", "1"), ("b", ("2", "also 3"))], numeric=(1,), tones=(Tone.STRONG, Tone.PLAIN))
COUNTS = table(("pods", "workload", "reason"), [("1", "web", "x")], numeric=(0,))
HEADED = Paragraph("web fits on 2 of 3 nodes.", Tone.GOOD, heading=("Pod web", "Fits"))
BASIS = Provenance((), ("rules of 1.36",), (), "prod/", "11:55 UTC", "5 min ago")
BARS = Bars(
    title="Node a",
    headings=("resource", "free"),
    kinds=(Kind("shop"), Kind("free", Tone.GOOD)),
    rows=(Bar(("cpu", "1 of 4 cpu"), (Segment(0, 3, "3 cpu"), Segment(1, 1, "1 cpu")), 4, mark=4),),
    note="of what the node offers",
)
CELLS = (Cell("a", ("red",), (0,), ("score 9",)), Cell("b", ("",), (1,), ("Insufficient cpu", "also: a taint")))
MAP = NodeMap(
    title="Map",
    groupings=("zone",),
    colourings=(Colouring("result", (Kind("fits", Tone.GOOD), Kind("NodeResourcesFit"))),),
    cells=CELLS,
)
TIMELINE = Timeline(
    title="Timeline",
    subject="pod",
    kinds=(Kind("pending", Tone.MIXED), Kind("running", Tone.GOOD)),
    lanes=(Lane("shop/web", (Span(0, 30, 0, ""), Span(30, 90, 1, "on a"))),),
    end=90,
)


@pytest.mark.parametrize(
    ("blocks", "selector", "expected"),
    [
        ((ANSWER,), "title", ["web fits on 2 of 3 nodes."]),
        ((ANSWER,), "h1.tone-good", ["web fits on 2 of 3 nodes."]),
        ((HEADED,), "h1", ["Pod web \u00b7 Fits"]),
        ((HEADED,), "h1 .state.tone-good", ["Fits"]),
        ((HEADED,), "p.lead.tone-good", ["web fits on 2 of 3 nodes."]),
        ((HEADED,), "title", ["Pod web \u00b7 Fits"]),
        (
            (ANSWER, BASIS),
            ".top",
            [f"kschedctl {version('kschedctl')} prod/ State11:55 UTC Page2026-05-04 12:00:00 UTC"],
        ),
        ((ANSWER, BASIS), ".provenance", ["rules of 1.36"]),
        ((ANSWER, TABLE), "td.name", ["a", "b"]),
        ((ANSWER, COUNTS), "td.name", ["web"]),
        ((ANSWER, Paragraph("and more", Tone.FAINT, 2)), "p.tone-faint.indented", ["and more"]),
        ((ANSWER, Heading("Why"), Paragraph("x"), GAP, Paragraph("y")), "section", ["Why x", "y"]),
        ((ANSWER, Verbatim("0/3 nodes")), "pre", ["0/3 nodes"]),
        ((ANSWER, Phrases(("cpu 1", "zone red"))), ".phrases span", ["cpu 1", "zone red"]),
        ((ANSWER, Provenance(("wants 1 cpu",), ("1.36",), ("a drained",))), ".provenance p", None),
        ((ANSWER, TABLE), "th", ["node", "cpu"]),
        ((ANSWER, TABLE), "td", ["a", "1", "b", "2also 3"]),
        ((ANSWER, TABLE), "tr.tone-strong td.number", ["1"]),
        ((ANSWER, Questions((Question("Victims", "preempt"),))), ".next dt", ["Victims"]),
        ((ANSWER, Questions((Question("Victims", "preempt"),))), ".next pre", ["kschedctl preempt"]),
        ((ANSWER, BARS), ".bars .parts li", ["shop: 3 cpu", "free: 1 cpu"]),
        ((ANSWER, BARS), ".legend li", ["shop", "free"]),
        ((ANSWER, MAP), "summary .group", ["zone red", "no zone"]),
        ((ANSWER, MAP), ".map .data td", ["a", "red", "fits", "score 9", "b", "", "NodeResourcesFit", None]),
        ((ANSWER, TIMELINE), ".spans li", ["0 s to 30 s: pending", "from 30 s on: running, on a"]),
    ],
)
def test_a_block_has_its_element(blocks: Sequence[Block], selector: str, expected: list[str | None] | None) -> None:
    found = texts(page(*blocks), selector)
    assert found
    if expected is not None:
        assert len(found) == len(expected)
        assert all(text is None or text in each for each, text in zip(found, expected, strict=True)), found


def test_a_bar_is_drawn_in_percent_of_the_whole() -> None:
    drawn = page(ANSWER, BARS).cssselect(".bars rect:not(.empty)[x]")
    assert [(each.get("class"), each.get("x"), each.get("width")) for each in drawn] == [
        ("c0", "0.0%", "75.0%"),
        ("good", "75.0%", "25.0%"),
        ("mark", "100.0%", "2"),
    ]


@pytest.mark.parametrize(
    ("sizes", "total", "numbers", "shown"),
    [
        ((1, 1, 1, 1), 1, False, False),
        ((2, 1), 2, False, True),
        ((3,), 3, False, False),
        ((1,), 3, False, True),
        ((1, 1), 1, True, True),
    ],
)
def test_bars_that_are_all_equal_are_left_out_where_a_table_has_their_numbers(
    sizes: tuple[int, ...], total: int, numbers: bool, shown: bool
) -> None:
    rows = tuple(Bar((f"w{i}", str(size)), (Segment(0, size, str(size)),), total) for i, size in enumerate(sizes))
    chart = Bars(title="Pods", headings=("workload", "pods"), kinds=(Kind("fits"),), rows=rows, numbers=numbers)
    assert bool(page(ANSWER, chart).cssselect(".bars")) is shown


def test_cells_of_a_map_lead_to_the_rows_of_its_table() -> None:
    root = page(ANSWER, MAP)
    rows = {f"#{row.get('id')}": row.cssselect("td")[0].text_content() for row in root.cssselect(".map tr[id]")}
    assert [rows[link.get("href")] for link in root.cssselect(".cells a")] == ["a", "b"]
    assert [link.get("title") for link in root.cssselect(".cells a")] == ["a: score 9", "b: Insufficient cpu"]


def test_the_groups_of_a_large_map_are_closed() -> None:
    cells = tuple(Cell(f"n{i}", ("red",), (0,), ()) for i in range(601))
    large = NodeMap(title="Map", groupings=MAP.groupings, colourings=MAP.colourings, cells=cells)
    assert [page(ANSWER, each).cssselect(".groups details")[0].get("open") for each in (MAP, large)] == ["", None]


def test_a_long_table_is_opened_on_demand() -> None:
    long = table(("node",), [(f"n{i}",) for i in range(61)])
    assert texts(page(ANSWER, long), "details > summary") == ["Table of 61 rows: node"]
    assert texts(page(ANSWER, TABLE), "details > summary") == []


def test_the_policy_allows_only_the_style_and_the_script_of_the_page() -> None:
    root = page(ANSWER, TABLE, BARS, MAP, TIMELINE)
    policy = root.cssselect("meta[http-equiv]")[0].get("content")
    found = {}
    for name in ("style", "script"):
        (element,) = root.cssselect(name)
        digest = hashlib.sha256(element.text.encode()).digest()
        found[name] = f"'sha256-{base64.b64encode(digest).decode()}'"
    assert policy == (
        f"default-src 'none'; style-src {found['style']}; script-src {found['script']}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert root.cssselect("[style], [onclick], [src], iframe, object, embed") == []
    assert all(link.get("href").startswith(("#", "data:,")) for link in root.cssselect("[href]"))


def test_a_page_names_no_other_host() -> None:
    text = as_page((ANSWER, MAP), lambda _: "", NOW)
    assert set(re.findall(r"https?://[^\"'\s)]+", text)) == {"http://www.w3.org/2000/svg"}


def test_names_are_text_everywhere() -> None:
    name = "<script>alert(1)</script>\"'&\u202e\x07"
    shown = "<script>alert(1)</script>\"'&\\u202e\\x07"
    chart = NodeMap(title=name, groupings=(name,), colourings=(Colouring(name, (Kind(name),)),), cells=(
        Cell(name, (name,), (0,), (name,)),
    ))  # fmt: skip
    root = page(Paragraph(name), table((name,), [(name,)]), chart)
    assert len(root.cssselect("script")) == 1
    assert texts(root, "h1") == [shown]
    assert root.cssselect(".cells a")[0].get("title") == f"{shown}: {shown}"
    assert "\u202e" not in lxml.html.tostring(root, encoding="unicode")


def test_a_fragment_has_no_script_and_no_questions() -> None:
    root = lxml.html.fromstring(as_fragment((ANSWER, TABLE, Questions((Question("Victims", "preempt"),)))))
    assert root.get("class") == "kschedctl"
    assert root.cssselect("script, .next, h1, h2") == []
    assert texts(root, "p.tone-good") == ["web fits on 2 of 3 nodes."]


N_NODES = 5_000
MOST_BYTES = 5_000_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic.write_snapshot(tmp_path_factory.mktemp("snapshot"), N_NODES)


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("nodes",),
        ("explain", "-A"),
        ("explain", "-A", "--why"),
        ("pending",),
        ("simulate",),
        ("capacity", "-A"),
        ("drain", "node-1", "--ignore-daemonsets"),
        ("diff", "-A", "--cordon", "node-1*"),
        ("verify",),
    ],
    ids=" ".join,
)
def test_pages_of_5000_nodes_are_below_5_megabytes(command: tuple[str, ...], large: Path) -> None:
    page = run(*command, "-o", "html", "--snapshot", str(large)).out
    assert f"{N_NODES}" in page.replace(",", "")
    assert len(page.encode()) < MOST_BYTES


texts_of = st.lists(st.sampled_from((*MARKUP, *NASTY)), min_size=1, max_size=4).map("".join)
COMMANDS = (
    ("explain", "-A", AS_IT_IS),
    ("explain", "-A", AS_IT_IS, "--why"),
    ("preempt", "-A", AS_IT_IS),
    ("volumes", "-A"),
    ("devices",),
    ("nodes",),
    ("nodes", "--by", "zone"),
    ("pending",),
    ("simulate",),
    ("capacity", "-A", AS_IT_IS),
    ("drain", "*", "--ignore-daemonsets", "--force"),
    ("verify",),
    ("diff", "-A", AS_IT_IS, "--cordon", "*"),
)


def page_of(text: str, command: tuple[str, ...]) -> Element:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cluster.json"
        path.write_text(json.dumps(snapshot(text)))
        printed = run(*command, "-o", "html", "--snapshot", str(path))
    assert printed.code in (0, 1), printed.err
    # The parser of the HTML standard, as browsers have it.
    root: Element = html5lib.parse(printed.out, namespaceHTMLElements=False)
    return root


@cache
def expected(text: str, command: tuple[str, ...]) -> list[Any]:
    return list(structure(page_of(text, command)))


def harmless(text: str) -> str:
    """Return a text without markup that is as invalid as a name; slashes stay, because they can end a namespace."""
    return re.sub("[^/]+", "Text_", text)


def structure(root: Element) -> Iterator[Any]:
    """Yield the elements with the names of their attributes, the values of those that act, and all code.

    The class of short cells depends on the length of their text, and is left out.
    """
    for element in root.iter():
        shown = {name: value.replace("name short", "name") for name, value in element.attrib.items()}
        attributes = {name: value for name, value in shown.items() if (name, value) != ("class", "short")}
        acts = {name: value for name, value in attributes.items() if name in ("href", "src", "class", "content")}
        code = element.text if element.tag in ("script", "style") else ""
        yield element.tag, tuple(attributes), acts, code


@given(text=texts_of, command=st.sampled_from(COMMANDS))
@example(text="".join((*MARKUP, *NASTY)), command=COMMANDS[0])
def test_pages_have_the_same_elements_whatever_names_are(text: str, command: tuple[str, ...]) -> None:
    root = page_of(text, command)
    assert list(structure(root)) == expected(harmless(text), command)
    assert printable(text) in "".join(root.itertext())
