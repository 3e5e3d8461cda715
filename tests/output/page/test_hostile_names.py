"""Names from a cluster stay text: in HTML, attributes, drawings and scripts of every page."""

import json
import re
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import html5lib
from hypothesis import example, given
from hypothesis import strategies as st

from kschedctl.common.text.characters import printable
from tests.cli.in_process import run
from tests.hostile_names import AS_IT_IS, MARKUP, NASTY, snapshot

texts = st.lists(st.sampled_from((*MARKUP, *NASTY)), min_size=1, max_size=4).map("".join)
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


def page(text: str, command: tuple[str, ...]) -> Element:
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
    return list(structure(page(text, command)))


def harmless(text: str) -> str:
    """Return a text without markup that is as invalid as a name; slashes stay, because they can end a namespace."""
    return re.sub("[^/]+", "Text_", text)


def structure(root: Element) -> Iterator[Any]:
    """Yield the elements with the names of their attributes, the values of those that act, and all code.

    The class of short cells depends on the length of their text, and is left out.
    """
    for element in root.iter():
        attributes = {name: value for name, value in element.attrib.items() if (name, value) != ("class", "short")}
        acts = {name: value for name, value in attributes.items() if name in ("href", "src", "class", "content")}
        code = element.text if element.tag in ("script", "style") else ""
        yield element.tag, tuple(attributes), acts, code


@given(text=texts, command=st.sampled_from(COMMANDS))
@example(text="".join((*MARKUP, *NASTY)), command=COMMANDS[0])
def test_pages_have_the_same_elements_whatever_names_are(text: str, command: tuple[str, ...]) -> None:
    root = page(text, command)
    assert list(structure(root)) == expected(harmless(text), command)
    assert printable(text) in "".join(root.itertext())
