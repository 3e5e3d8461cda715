"""The line reader gives the same documents, numbers and errors as libyaml's events, or leaves the text to libyaml."""

from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedctl.common.errors import InputError
from kschedctl.common.text import yaml_lines
from kschedctl.common.text.yaml import _by_events, documents_by_events, yaml_documents, yaml_value, yaml_values
from kschedctl.common.text.yaml_lines import LineReader, NotPlainError, document_spans, may_be_plain, yaml_header
from tests.fuzz.seeds import BLOCK

#: Written by kubectl 1.36 for objects whose texts are as awkward as those of real clusters.
KUBECTL = (Path(__file__).parent / "inputs" / "kubectl-get.yaml").read_bytes()


def read(documents: Any) -> list[Any]:
    """Return the documents before an error, and the error's text."""
    found: list[Any] = []
    try:
        found.extend(documents)
    except InputError as error:
        found.append(str(error))
    return found


def same(text: bytes) -> bool:
    """Report whether both parsers have the same JSON, plain data, repeated keys and errors."""
    data = read(_by_events(text, "f", 1, 0, items_as_text=False))
    (only,) = read(yaml_value(text, "f") for _ in range(1))
    return (
        read(yaml_documents(text, "f")) == read(documents_by_events(text, "f"))
        and read(yaml_values(text, "f")) == data
        and (isinstance(only, str) or only == (data[0][1:] if data else (None, False)))
    )


def is_plain(text: bytes) -> bool:
    """Report whether the line reader can read a whole text."""
    reader = LineReader()
    try:
        for _, start, end in document_spans(text):
            reader.document(text[start:end])
    except NotPlainError:
        return False
    return may_be_plain(text)


PLAIN = {
    "what kubectl writes": KUBECTL.decode(),
    "several documents": "---\na: 1\n---\n# nothing\n---\n- b\n",
    "a list below its key": "a:\n- b\n- c: 1\n  d: 2\ne: 3\n",
    "a list further in": "a:\n  - b\n  - c\nd: e\n",
    "lists in lists": "- - a\n  - - b\n- c\n",
    "nothing as a value": "a:\nb:\n  c:\n",
    "a key given twice": "a:\n  b: 1\nc: 2\na: 3\n",
    "scalars of YAML 1.1": "a: yes\nb: 0x1F\nc: 1_000\nd: .5\ne: ~\nf: 22:22\n1.0: g\nno: h\n",
    "quotes": "a: 'b: c'\n\"d e\": \"#\"\n'': ''\n",
    "a block of text": "a: |\n  b: c\n   - d\n\n  # e\nf: |+\n  g\n\nh: >-\n  i\n  j\n",
    "a block of text at the end": "a:\n- |\n  b",
    "a block of text with its indentation": "a:\n  b: |2\n      c\n    d\n",
    "text over several lines": "a: b c\n  d\n\n  e\nf: 'g\n\n  h'\ni:\n  j\n  k\nl: \"m\\\n  \\ n\"\n",
    "items over several lines": "- a\n b\n- - c\n   d\n",
    "flow collections": "a: {b: [1, 2], c: d}\ne: [f,\n  g]\nh: {i: [],\n  j: {}}\n",
    "flow collections in lists": "items:\n- {a: 1, b: [c d, e:f]}\n- [{}, []]\n- - [a]\n  - {b: c}\n",
    "flow collections of objects": "items: [{kind: Pod}, {kind: Node}]\na: {items: [b]}\n",
    "quotes in flow collections": 'a: {"b c":1, \'d\' : "e: {f}", g: "", "": h, \'yes\': yes, "1": 1}\n',
    "scalars of YAML 1.1 in flow collections": "a: [yes, 0x1F, 1_000, .5, null, 22:22, -1, 1e3]\nb: {1.0: c, no: d}\n",
    "a key given twice in a flow collection": "a: {b: 1, b: 2}\nc: {1: d, '1': e}\n",
    "flow collections with other things": "a: [b, ]\nc: [d: e]\nf: {g}\nh: {i: !!str 1}\nj: {k: } # l\n",
    "a flow collection with too many levels for one line": f"a: {'[' * 40}{']' * 40}\n",
    "comments": "# a\nb: 1 # c\n  # d\ne: # f\n  - g # h\ni:\n# j\n- k\n",
    "tags": "a: !!str 1\nb: !c 2\n",
    "tabs": "a: b\tc\nd: |\n  e\tf\n",
    "other scripts": "a: é\nb: 日本\n",
    "blank lines": "\na: 1\n   \nb: 2\n\n",
}
OTHERS = {
    "anchors": "a: &x 1\nb: *x\n",
    "a merge": "a: 1\n<<: {b: 2}\n",
    "an explicit key": "? a\n: b\n",
    "a scalar alone": "a\n",
    "a flow collection alone": "{a: 1}\n",
    "a directive": "%YAML 1.1\n---\na: 1\n",
    "an end": "a: 1\n...\n",
    "a marker with more": "--- a\n",
    "lines of Windows": "a: 1\r\nb: 2\r\n",
    "a line separator": "a: b\u2028c\n",
    "a byte order mark": "\ufeffa: 1\n",
    "a control character": "a: \x07\n",
    "a key that is null": "null: 1\n",
    "infinity": "a: .inf\n",
    "an item where none can be": "a: 1\n- b\n",
    "a list below a key with a comment": "a: # b\n- c\n",
    "a column of nothing": "a:\n    b: 1\n  c: 2\n",
    "text further in after a comment": "a: b\n# c\n  d\n",
    "a quote that stays open": "a: 'b\nc: d\n",
    "much that is no line": "".join(f"a{i}: [\n  {i}]\n" for i in range(100)),
    "a hundred levels": "".join(f"{' ' * i}a:\n" for i in range(100)),
}


@pytest.mark.parametrize("case", PLAIN)
def test_what_programs_write_is_read_by_lines(case: str) -> None:
    text = PLAIN[case].encode()
    assert is_plain(text)
    assert same(text)
    assert same(text.rstrip(b"\n"))


@pytest.mark.parametrize("case", OTHERS)
def test_what_does_not_stand_for_itself_is_left_to_events(case: str) -> None:
    text = OTHERS[case].encode()
    assert not is_plain(text)
    assert same(text)
    # Wherever it comes.
    assert same(b"a: 1\n---\n" + text)
    assert same(text + b"---\na: 1\n")


def test_a_large_list_is_read_in_pieces() -> None:
    head, *items = KUBECTL.split(b"\n- ")
    text = b"\n- ".join([head, *items[:-1] * 60, items[-1]])
    assert len(text) > 700_000
    assert is_plain(text)
    assert same(text)


@pytest.mark.parametrize("size", [0, 1, 7, 30, 100])
def test_pieces_may_end_anywhere(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_lines, "_PIECE", size)
    monkeypatch.setattr(yaml_lines, "_PER_LINE", 0)
    for case, text in (PLAIN | OTHERS).items():
        assert same(text.encode()), case
        assert is_plain(text.encode()) is (case in PLAIN), case


def test_blank_lines_without_end_are_left_to_events() -> None:
    text = b"a: 1\n" + b"\n" * 1_000_000
    assert not is_plain(text)
    assert same(text)


def texts_of(lines: list[str], number: int, share: int = 1) -> list[bytes]:
    """Return the texts of so many lines, or one in ``share`` of them, with every two lines in any two places."""
    numbered = product(enumerate(lines), repeat=number)
    return ["\n".join(line for _, line in each).encode() for each in numbered if sum(i for i, _ in each) % share == 0]


STRUCTURE = [f"{' ' * i}{'- ' * n}{rest}" for i in range(4) for n in range(3) for rest in ("k:", "k: v", "l: w", "v")]
AWKWARD = [
    f"{' ' * i}{dash}{rest}"
    for i in range(3)
    for dash in ("", "- ")
    for rest in (
        "k:",
        "k: v",
        "k: |",
        "l: >-",
        'k: "v',
        '"',
        "k: {}",
        "[v,",
        "v]",
        "# c",
        "v # c",
        "&a v",
        "*a",
        "<<: v",
    )
] + ["", "  ", "---", "...", "\tv", "-", "k: ", "k: |+", "? k"]


@pytest.mark.parametrize(
    ("lines", "number", "share"),
    [
        pytest.param(STRUCTURE, 2, 1, id="two lines"),
        pytest.param(AWKWARD, 2, 1, id="two awkward lines"),
        pytest.param(STRUCTURE[::2], 3, 4, id="three lines", marks=pytest.mark.sample),
        pytest.param([*STRUCTURE, "-", "  -"], 3, 8, id="any three lines", marks=pytest.mark.slow),
        pytest.param(AWKWARD, 3, 30, id="three awkward lines", marks=pytest.mark.slow),
    ],
)
def test_all_small_texts_are_read_the_same(lines: list[str], number: int, share: int) -> None:
    # pytest --hypothesis-profile=thorough reads all texts of three lines, which takes ten minutes.
    texts = texts_of(lines, number, 1 if settings().max_examples > 100 else share)
    assert [text for text in texts if not same(text) or not same(text + b"\n")] == []
    # It would be no test if all were left to the events.
    assert sum(map(is_plain, texts)) > len(texts) // 50


words = st.sampled_from(
    (
        *(
            "a",
            "web",
            "yes",
            "~",
            "1",
            "0x1f",
            "1e3",
            "010",
            "1.5",
            "-1",
            "-",
            "--x=1",
            "",
            "  a",
            "a  ",
            "<<",
            "=",
            "100m",
        ),
        *(
            "a: b",
            "a #b",
            "#a",
            "é",
            "日",
            '"a"',
            "it's",
            "{",
            "[a]",
            "a:b",
            "a:",
            "a\n",
            "a\nb",
            "a\n\n b\n",
            "\n",
            "\ta",
        ),
        *("&a", "*a", "!a", "%a", "@a", "`a", "|", ">", "?", "---", "...", "- a", "folded " * 20, '{"a":["b"]}\n'),
        *("\x7f", "\u2028", "\x85", "\ufeff"),
    )
)
scalars = words | st.none() | st.booleans() | st.integers(-(2**63), 2**64) | st.floats(allow_nan=False)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3), max_leaves=12
)


@st.composite
def written(draw: st.DrawFn) -> str:
    """Draw documents as various programs write them."""

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return not aliases

        def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
            super().increase_indent(flow, indentless and not further_in)

    aliases, further_in = draw(st.sampled_from((False, False, True))), draw(st.booleans())
    styles = draw(st.lists(st.sampled_from((None, None, "|", ">", '"', "'")), min_size=1, max_size=4))

    def represent(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=styles[len(text) % len(styles)])

    Dumper.add_representer(str, represent)
    return yaml.dump_all(
        draw(st.lists(values | st.fixed_dictionaries({"items": st.lists(values, max_size=3)}), min_size=1, max_size=3)),
        Dumper=Dumper,
        width=draw(st.sampled_from((20, 80, 1000))),
        indent=draw(st.sampled_from((None, 2, 4))),
        default_flow_style=draw(st.sampled_from((False, False, None))),
        allow_unicode=draw(st.booleans()),
        explicit_start=draw(st.booleans()),
        sort_keys=False,
    )


@given(written())
def test_whatever_is_written_is_read_the_same(text: str) -> None:
    assert same(text.encode())


#: The parts of flow collections and of what looks like them.
FLOW = (
    *(
        "a",
        "b c",
        "a:b",
        "/x",
        "--f",
        "-1",
        "1e3",
        ".5",
        "08",
        "yes",
        "null",
        "'x'",
        '"a: b"',
        '""',
        "é",
        "$(A)",
        "a,b",
    ),
    *("{", "}", "[", "]", "{}", "[]", ",", ", ", ":", ": ", " "),
    *(
        "-",
        "- ",
        "?",
        "~",
        "&a",
        "*a",
        "!t",
        "<<",
        "%",
        "@",
        "|",
        ">",
        "=",
        ".inf",
        " #c",
        "x#y",
        '"',
        "\t",
        "---",
        "\n",
    ),
)


@given(
    st.lists(st.sampled_from(FLOW), max_size=9).map("".join),
    st.sampled_from(("k: {%s}", "k: [%s]", "- {a: %s}", "- [a, %s]", "k: {a: %s, b: c}", "items: [[%s], d]", "%s")),
)
def test_flow_collections_are_read_the_same(inside: str, around: str) -> None:
    assert same((around % inside).encode())
    assert same(f"a: 1\n{around % inside}\n- e\n".encode())


@given(
    written(),
    st.lists(st.tuples(st.integers(0), st.sampled_from(("", " ", "  ", "\n", "- ", "#", "'", "|"))), max_size=3),
)
def test_whatever_becomes_of_it_is_read_the_same(text: str, changes: list[tuple[int, str]]) -> None:
    """Lines are indented, dedented, split, joined, opened or closed at random."""
    for where, what in changes:
        at = where % (len(text) + 1)
        text = text[:at] + what + text[at + (not what) :]
        lines = text.split("\n")
        line = where % len(lines)
        lines[line] = what + lines[line] if where % 2 else lines[line].removeprefix(what)
        text = "\n".join(lines)
    assert same(text.encode())


def test_the_seeds_of_the_fuzzer_are_read_by_lines() -> None:
    assert is_plain(BLOCK.partition("---\n")[0].encode())


SECRET = "apiVersion: v1\nkind: Secret\n"
CRD = "kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\n"

DETERMINED = {
    "version and kind": (SECRET, ("v1", "Secret")),
    "kind and version": (CRD, ("apiextensions.k8s.io/v1", "CustomResourceDefinition")),
    "nothing else, without a line break": (SECRET.rstrip(), ("v1", "Secret")),
    "comments and blank lines above": ("# kind: Pod\n\n  # more\n" + SECRET, ("v1", "Secret")),
    "comments and blank lines below": (SECRET + "data:\n# a\n\n  b: c\n", ("v1", "Secret")),
    "a kind further in": (SECRET + "data:\n  kind: Pod\n  apiVersion: v2\n", ("v1", "Secret")),
    "a list in the first column": (SECRET + "rules:\n- kind: Pod\n- - a\n-\n", ("v1", "Secret")),
    "a kind in a block of text": (SECRET + "data:\n  a: |\n    kind: Pod\n    ---\n", ("v1", "Secret")),
    "a key that begins with kind": (SECRET + "kinds: [Pod]\n", ("v1", "Secret")),
}
LEFT_TO_THE_PARSER = {
    "kind last": "apiVersion: v1\nmetadata: {}\nkind: Secret\n",
    "no version": "kind: Secret\ndata: {}\n",
    "kind again": SECRET + "data: {}\nkind: Pod\n",
    "kind again in quotes": SECRET + 'data: {}\n"kind": Pod\n',
    "kind again with an escape": SECRET + 'data: {}\n"k\\x69nd": Pod\n',
    "kind again before a blank": SECRET + "data: {}\nkind : Pod\n",
    "kind again before a tab": SECRET + "data: {}\nkind:\tPod\n",
    "kind again as an explicit key": SECRET + "data: {}\n? kind\n: Pod\n",
    "kind again with an anchor": SECRET + "data: {}\n&a kind: Pod\n",
    "kind again with a tag": SECRET + "data: {}\n!!str kind: Pod\n",
    "kind again as an alias": SECRET + "data: &k kind\n*k : Pod\n",
    "a merge": SECRET + "data: &d {kind: Pod}\n<<: *d\n",
    "kind in a quoted scalar in the first column": SECRET + 'data: "a\nkind: Pod\n"\n',
    "a scalar of several lines": SECRET.rstrip() + "\n  or not\n",
    "a scalar of several lines after a blank one": SECRET + "\n  or not\n",
    "a version of several lines": "apiVersion: v1\n  beta\nkind: Secret\n",
    "a kind in quotes": "apiVersion: v1\nkind: 'Secret'\n",
    "a kind with a comment": "apiVersion: v1\nkind: Secret # none\n",
    "a kind that is a boolean": "apiVersion: v1\nkind: Yes\n",
    "a kind that is null": "apiVersion: v1\nkind: Null\n",
    "an alias as kind": "apiVersion: &v v1\nkind: *v\n",
    "flow style": "{apiVersion: v1, kind: Secret}\n",
    "flow style that goes on": SECRET + "data: {a: b,\nkind: Pod}\n",
    "the end of a document": SECRET + "...\nkind: Pod\n",
    "a directive": "%YAML 1.1\n---\n" + SECRET,
    "a document on the line of its marker": SECRET + "--- {kind: Pod, apiVersion: v1}\n",
    "indentation of the whole document": "  apiVersion: v1\n  kind: Secret\n",
    "a template": SECRET + "{{ if .Values.on }}\nkind: Pod\n{{ end }}\n",
    "an empty kind": "apiVersion: v1\nkind:\n  Secret\n",
}


@pytest.mark.parametrize(("text", "header"), DETERMINED.values(), ids=DETERMINED)
def test_the_first_lines_determine_the_header(text: str, header: tuple[str, str]) -> None:
    assert yaml_header(text.encode()) == header == parsed_header(text.encode())


@pytest.mark.parametrize("text", LEFT_TO_THE_PARSER.values(), ids=LEFT_TO_THE_PARSER)
def test_the_parser_decides(text: str) -> None:
    assert yaml_header(text.encode()) is None


def parsed_header(text: bytes) -> tuple[Any, Any] | None:
    """Return version and kind as libyaml's events have them; ``None`` if the text is malformed or several documents."""
    try:
        documents = [msgspec.json.decode(value) for _, value in documents_by_events(text, "f")]
    except InputError:
        return None
    if len(documents) != 1 or not isinstance(documents[0], dict):
        return None
    return documents[0].get("apiVersion"), documents[0].get("kind")


LINES = st.sampled_from(
    [
        *(
            "apiVersion: v1",
            "kind: Secret",
            "kind: Pod",
            "kind: Yes",
            "kind : Pod",
            '"kind": Pod',
            "'kind': Pod",
            "kind:",
        ),
        *(
            "? kind",
            ": Pod",
            "  kind: Pod",
            "- kind: Pod",
            "-",
            "- a",
            "data:",
            "data: {}",
            "data: {a: b,",
            "kind: Pod}",
        ),
        *("}", 'data: "a', 'b"', "data: 'a", "b'", '"', "'", "data: |-", "data: >", "  text", "    deeper", ""),
        *(
            "# kind: Pod",
            "  # comment",
            "<<: *a",
            "data: &a {kind: Pod}",
            "*a : Pod",
            "&k kind: Pod",
            "!!str kind: Pod",
        ),
        *("...", "--- a", "--- |", "%YAML 1.1", "[a,", "]", "\tkind: Pod", "kind:\tPod", '"k\\x69nd": Pod', '  "a\\'),
        *('  b"', "kinds: []", "apiVersion:  v2", "apiVersion: v2", "  apiVersion: v3"),
    ]
)
#: Most texts begin with a header, since other texts are left to the parser.
TEXTS = st.tuples(st.sampled_from([SECRET, CRD, "# c\n\n" + SECRET, ""]), st.lists(LINES, max_size=8)).map(
    lambda parts: (parts[0] + "\n".join(parts[1])).encode()
)


@given(TEXTS)
def test_a_header_is_that_of_the_parser_for_every_valid_text(text: bytes) -> None:
    header = yaml_header(text) if may_be_plain(text) else None
    parsed = parsed_header(text)
    assert header is None or parsed is None or header == parsed


@given(st.lists(TEXTS, max_size=4))
def test_unread_documents_leave_the_others_as_they_are(texts: list[bytes]) -> None:
    """Valid documents have the same numbers and values, but for the fields of the unread ones."""
    text = b"\n---\n".join(texts)
    try:
        every = [(number, msgspec.json.decode(value)) for number, value in documents_by_events(text, "f")]
    except InputError:
        return
    kinds = ("Secret", "CustomResourceDefinition")
    unread = yaml_documents(text, "f", is_unread=lambda _, kind, __: kind in kinds)
    for (number, whole), (same_number, value) in zip(every, unread, strict=True):
        read = msgspec.json.decode(value)
        stub = {"apiVersion": whole.get("apiVersion"), "kind": whole.get("kind")} if isinstance(whole, dict) else None
        assert number == same_number
        assert read == whole or (read == stub and read["kind"] in kinds)
