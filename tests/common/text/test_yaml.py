"""Expected values are those of sigs.k8s.io/yaml 1.6 (go-yaml v2), which kubectl uses."""

import json
import os
import signal
import time
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedctl.common.errors import InputError
from kschedctl.common.text import yaml as yaml_parts
from kschedctl.common.text import yaml as yaml_parts_yaml
from kschedctl.common.text.yaml import (
    Part,
    documents_by_events,
    documents_by_processes,
    joined,
    read_part,
    split,
    yaml_documents,
)
from kschedctl.common.text.yaml_lines import LineReader, NotPlainError
from tests.common.text.test_yaml_lines import AWKWARD, KUBECTL, read, texts_of, written
from tests.example_counts import scaled


def yaml_read(text: str) -> list[Any]:
    return [json.loads(document) for _, document in yaml_documents(text.encode(), "f.yaml")]


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        *((text, True) for text in ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")),
        *((text, False) for text in ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")),
        *((text, None) for text in ("~", "null", "Null", "NULL", "")),
        *((text, text) for text in ("yEs", "tRUE", "nULL", "trueish", "-yes", "=", ".", "..", "+", "-._")),
        *(("1", 1), ("+1", 1), ("-1", -1), ("0", 0), ("-0", 0), ("1_000", 1000), ("1__0", 10), ("1_", 1), ("_1", "_1")),
        *(("017", 15), ("-017", -15), ("0o17", 15), ("0O17", 15), ("08", 8), ("0o8", "0o8"), ("00", 0), ("0_7", 7)),
        *(
            ("0x1F", 31),
            ("0X1f", 31),
            ("-0x1F", -31),
            ("0x_1", 1),
            ("0x", "0x"),
            ("0xFFFFFFFFFFFFFFFFF", "0x" + "F" * 17),
        ),
        *(("0b101", 5), ("-0b101", -5), ("0B1", 1), ("0b1_0", 2), ("0b", "0b"), ("0b2", "0b2")),
        *(("18446744073709551615", 2**64 - 1), ("-9223372036854775808", -(2**63))),
        *(("18446744073709551616", 18446744073709552000), ("123456789012345678901234567890", 1.2345678901234568e29)),
        *(("1.5", 1.5), (".5", 0.5), ("+.5", 0.5), ("-.5", -0.5), ("5.", 5), ("0.0", 0), ("1.0", 1), ("010.5", 10.5)),
        *(("1e3", 1000), ("1E3", 1000), ("1.e3", 1000), ("1.5e-3", 0.0015), ("1e20", 10**20), ("1e21", 1e21)),
        *((".5_0", 0.5), ("._5", "._5"), ("1_0.5_0", 10.5), ("1e400", "1e400"), ("5e", "5e"), ("1_e3", 1000)),
        *((text, text) for text in ("22:22", "1:30:00", "190:20:30.15", "1.2.3", "100m", "1Gi", "1e3Mi", "٣")),
        *((text, text) for text in ("2024-05-01", "2024-05-01T10:00:00Z", "2001-12-14 21:59:43.10")),
        *(("'y'", "y"), ('"1"', "1"), ("'null'", "null"), ("'it''s'", "it's"), (r'"\u00e9\n"', "é\n"), ('""', "")),
        *(
            ("!!str 1", "1"),
            ("!!str yes", "yes"),
            ('!!int "3"', 3),
            ("!!float 3", 3),
            ("!!bool yes", True),
            ("! 12", "12"),
        ),
        *(("!!null ~", None), ("!!timestamp 2024-05-01", "2024-05-01"), ("!!binary aGVsbG8=", "hello")),
        *(("!custom 5", "5"), ("!custom {x: 1}", {"x": 1}), ("!!set {x, z}", {"x": None, "z": None})),
        *(("x # comment", "x"), ("x#y", "x#y"), ("😀", "😀"), ("<<", "<<")),
    ],
)
def test_scalars_mean_what_they_mean_to_kubectl(scalar: str, value: Any) -> None:
    (read_value,) = yaml_read(f"a: {scalar}\n")
    assert json.dumps(read_value) == json.dumps({"a": value})


@pytest.mark.parametrize(
    ("key", "text"),
    [
        *(("1", "1"), ("017", "15"), ("0x10", "16"), ("1_0", "10"), ("'017'", "017"), ("-5", "-5")),
        *(("yes", "true"), ("N", "false"), ("'yes'", "yes"), ("~x", "~x"), ("2024-05-01", "2024-05-01")),
        *(("1.0", "1"), ("3.3", "3.3"), ("1e6", "1e+06"), ("1e-7", "1e-07"), ("0.00001", "1e-05"), ("100.50", "100.5")),
        *(("1234567.0", "1.234567e+06"), ("16777217.0", "1.6777216e+07"), ("1e39", ".inf"), ("-1e39", "-.inf")),
        *(
            (".inf", ".inf"),
            (".NaN", ".nan"),
            ("18446744073709551616", "1.8446744e+19"),
            ("!!str 1", "1"),
            ("!!int 5", "5"),
        ),
    ],
)
def test_keys_become_text(key: str, text: str) -> None:
    assert yaml_read(f"{key}: v\n") == [{text: "v"}]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        pytest.param("a: 1\na: 2\n", [{"a": 2}], id="the-last-of-two-equal-keys-wins"),
        pytest.param(
            "b: &x {a: 1, c: 3}\nd:\n  <<: *x\n  a: 2\n", [{"b": {"a": 1, "c": 3}, "d": {"a": 2, "c": 3}}], id="merge"
        ),
        pytest.param(
            "b: &x {a: 1}\nd:\n  a: 2\n  <<: *x\n", [{"b": {"a": 1}, "d": {"a": 1}}], id="merge-overrides-above"
        ),
        pytest.param(
            "b: &x {a: 1}\nc: &y {a: 2, b: 3}\nd:\n  <<: [*x, *y]\n",
            [{"b": {"a": 1}, "c": {"a": 2, "b": 3}, "d": {"a": 1, "b": 3}}],
            id="merge-of-several-the-first-wins",
        ),
        pytest.param("d:\n  <<: {a: 1}\n", [{"d": {"a": 1}}], id="merge-of-a-mapping-in-place"),
        pytest.param("d:\n  '<<': {a: 1}\n", [{"d": {"<<": {"a": 1}}}], id="quoted-merge-key-is-a-key"),
        pytest.param("a: &e\nb: *e\n", [{"a": None, "b": None}], id="anchor-on-nothing"),
        pytest.param("a: &k foo\n*k : bar\n", [{"a": "foo", "foo": "bar"}], id="alias-as-key"),
        pytest.param("a: &k 5\n*k : bar\n", [{"a": 5, "5": "bar"}], id="alias-of-a-number-as-key"),
        pytest.param("&k foo: 1\nb: *k\n", [{"foo": 1, "b": "foo"}], id="anchor-on-a-key"),
        pytest.param("a: |\n  x\n  y\n", [{"a": "x\ny\n"}], id="literal-block"),
        pytest.param("a: >-\n  x\n  y\n\n  z\n", [{"a": "x y\nz"}], id="folded-block"),
        pytest.param("a:\n- b\n- c\n", [{"a": ["b", "c"]}], id="list-without-indentation"),
        pytest.param("{a: 1, 'b':2}\n", [{"a": 1, "b": 2}], id="flow-style"),
        pytest.param("--- \n---\na: 1\n--- # x\nb: 2\n...\n", [{"a": 1}, {"b": 2}], id="several-documents"),
        pytest.param("# only a comment\n", [], id="nothing-but-a-comment"),
        pytest.param("", [], id="nothing"),
        pytest.param(
            "items:\n- a: yes\n- [b]\n- c\nkind: List\n",
            [{"items": [{"a": True}, ["b"], "c"], "kind": "List"}],
            id="items",
        ),
        pytest.param("items: {a: [1]}\n", [{"items": {"a": [1]}}], id="items-that-are-no-list"),
        pytest.param("items:\n- &x {a: 1}\n- *x\n", [{"items": [{"a": 1}, {"a": 1}]}], id="alias-between-items"),
    ],
)
def test_documents(text: str, values: list[Any]) -> None:
    assert yaml_read(text) == values


def test_empty_documents_count_in_the_numbers() -> None:
    assert [number for number, _ in yaml_documents(b"---\n---\na: 1\n---\nb: 1\n", "f")] == [2, 3]


def bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            bomb(9),
            "f.yaml, document 1: line 6, column 15: aliases expand to more than 400,000 nodes\n"
            "  write out what the aliases repeat, or remove them",
            id="alias-bomb",
        ),
        pytest.param(
            f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 1000)}]\n",
            "f.yaml, document 1: line 2, column 1601: aliases expand to more than 400,000 nodes\n"
            "  write out what the aliases repeat, or remove them",
            id="alias-bomb-of-long-text",
        ),
        pytest.param(
            "a: &a [*a]\n", "f.yaml, document 1: line 1, column 8: anchor &a contains itself", id="anchor-in-itself"
        ),
        pytest.param(
            "a: *x\n",
            "f.yaml, document 1: line 1, column 4: there is no anchor &x before this alias",
            id="unknown-alias",
        ),
        pytest.param(
            "a: .inf\n",
            "f.yaml, document 1: line 1, column 4: .inf has no equivalent in JSON\n  quote it if it is text",
            id="infinity",
        ),
        pytest.param(
            "a: !!float .nan\n", "f.yaml, document 1: line 1, column 4: .nan has no equivalent in JSON", id="nan"
        ),
        pytest.param(
            "a: 1\nnull: 2\n",
            'f.yaml, document 1: line 2, column 1: null cannot be a key\n  quote it if it is text: "null"',
            id="null-as-key",
        ),
        pytest.param(
            "? [a]\n: b\n", "f.yaml, document 1: line 1, column 3: a mapping or list cannot be a key", id="list-as-key"
        ),
        pytest.param(
            "a: &k [1]\n*k : b\n",
            "f.yaml, document 1: line 2, column 1: null, a mapping or a list cannot be a key",
            id="alias-of-a-list-as-key",
        ),
        pytest.param(
            "9223372036854775808: a\n",
            "f.yaml, document 1: line 1, column 1: 9223372036854775808 is too large to be a key\n"
            '  quote it if it is text: "9223372036854775808"',
            id="key-above-int64",
        ),
        pytest.param(
            "a: !!int x\n", "f.yaml, document 1: line 1, column 4: 'x' is not of the tagged type !!int", id="wrong-tag"
        ),
        pytest.param(
            "a: !!binary x!\n",
            "f.yaml, document 1: line 1, column 4: !!binary value is not base64 of text",
            id="binary",
        ),
        pytest.param(
            "b: &x [1]\nd:\n  <<: *x\n",
            "f.yaml, document 1: line 3, column 7: << needs a mapping or a list of mappings",
            id="merge-of-no-mapping",
        ),
        pytest.param(
            "[" * 201,
            "f.yaml, document 1: line 1, column 201: is nested more than 200 levels deep",
            id="nested-too-deep",
        ),
        pytest.param(
            "a: 1\n---\na: b: c\n",
            "f.yaml, document 2: line 3, column 5: mapping values are not allowed in this context",
            id="colon-in-a-plain-scalar",
        ),
        pytest.param(
            "a:\n\tb: 1\n",
            "f.yaml, document 1: line 2, column 1: found character that cannot start any token "
            "while scanning for the next token",
            id="tab",
        ),
        pytest.param(
            "a: [1,2\n",
            "f.yaml, document 1: line 2, column 1: did not find expected ',' or ']' while parsing a flow sequence",
            id="open-bracket",
        ),
        pytest.param(
            "a: \x07\n",
            "f.yaml, document 1: is not readable as YAML: control characters are not allowed at byte 3\n"
            "  UTF-8 text without control characters is expected",
            id="control-character",
        ),
    ],
)
def test_what_is_no_yaml_is_one_error_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        yaml_read(text)
    assert str(raised.value) == message


def test_a_chain_of_aliases_reaches_its_limit_before_it_nests_too_deeply() -> None:
    chain = "\n".join(["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 5000))])
    with pytest.raises(InputError, match=r"line 517, column 14: aliases expand to more than"):
        yaml_read(chain)


def test_text_that_is_not_utf8_is_an_error() -> None:
    with pytest.raises(InputError) as raised:
        list(yaml_documents(b"a: \xff\n", "f.yaml"))
    assert str(raised.value) == (
        "f.yaml, document 1: is not readable as YAML: invalid leading UTF-8 octet at byte 3\n"
        "  UTF-8 text without control characters is expected"
    )


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), json_values, max_size=5), st.booleans())
def test_any_json_object_reads_the_same_from_yaml(value: dict[str, Any], flow: bool) -> None:
    text = yaml.dump(value, Dumper=_QuotingDumper, default_flow_style=flow, allow_unicode=False)
    (read_value,) = yaml_read(text)
    assert same(read_value, value)


def same(read_value: Any, value: Any) -> bool:
    if isinstance(value, float):
        # Integral floats are written as integers, as Go's JSON does, with zeros after the shortest digits.
        return float(read_value) == value
    if isinstance(value, dict):
        return read_value.keys() == value.keys() and all(same(read_value[key], value[key]) for key in value)
    if isinstance(value, list):
        return len(read_value) == len(value) and all(map(same, read_value, value))
    return type(read_value) is type(value) and bool(read_value == value)


class _QuotingDumper(yaml.SafeDumper):
    """A dumper that quotes all text: PyYAML itself leaves ``y`` and ``1e3`` plain, which kubectl misreads."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_QuotingDumper.add_representer(
    str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')
)


plain_texts = st.text(alphabet=st.sampled_from("abcxyzABCnoyestruefalseNULL0123456789+-._eE~"), min_size=1, max_size=8)


@given(plain_texts)
def test_plain_scalars_are_json_scalars(text: str) -> None:
    try:
        values = yaml_read(f"[{text}]")
    except InputError:
        return
    assert values[0][0] is None or isinstance(values[0][0], str | int | float)


def test_agrees_with_pyyaml_where_kubectl_does() -> None:
    """On what kubectl itself writes, PyYAML's safe loader is a second opinion."""
    text = """
apiVersion: v1
items:
- apiVersion: v1
  kind: Pod
  metadata:
    annotations:
      kubectl.kubernetes.io/last-applied-configuration: |
        {"apiVersion":"v1","kind":"Pod"}
      wrapped: 'one two three
        four'
      folded: >-
        one
        two
    creationTimestamp: "2026-01-01T00:00:00Z"
    labels: {app: web, "on": "yes", version: "1"}
    name: web-0
  spec:
    containers:
    - args: ["--port=80", '--x={"a": "b"}']
      command:
      - sh
      - -c
      - |-
        echo 1
          echo 2
      image: registry/web:1.2
      resources: {}
      securityContext: null
    priority: -10
    terminationGracePeriodSeconds: 30
kind: List
metadata:
  resourceVersion: ""
"""
    assert yaml_read(text) == [yaml.safe_load(text)]


def test_an_alias_of_a_long_key_weighs_its_length() -> None:
    key = "k" * 40_000
    aliases = ", ".join(["*long"] * 5000)
    with pytest.raises(InputError, match="aliases expand to more than 400,000 nodes"):
        yaml_read(f"a: {{&long {key[:900]}: 1}}\nb: [{', '.join(['*long'] * 60_000)}]\n")
    with pytest.raises(InputError, match="aliases expand to more than 400,000 nodes"):
        yaml_read(f"? &long {key}\n: 1\nb:\n- [{aliases}]\n")


def test_an_alias_of_the_merge_key_is_text() -> None:
    assert yaml_read("a: {&m <<: {b: 1}}\nc: *m\n") == [{"a": {"b": 1}, "c": "<<"}]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("9" * 5000, "9" * 5000, id="no-float-either"),
        pytest.param("1" * 300, float("1" * 300), id="a-float"),
        pytest.param("0x" + "f" * 32_000, "0x" + "f" * 32_000, id="hexadecimal"),
        pytest.param("0b" + "1" * 32_000, "0b" + "1" * 32_000, id="binary"),
        pytest.param("1" * 32_000 + "x", "1" * 32_000 + "x", id="digits-and-a-letter"),
        pytest.param("1_" * 16_000 + "1", "1_" * 16_000 + "1", id="underscores"),
        pytest.param("0" * 5000 + "7", 7, id="octal"),
        pytest.param("18446744073709551615", 2**64 - 1, id="the-largest-integer"),
    ],
)
def test_long_numbers(text: str, value: Any) -> None:
    assert yaml_read(f"a: {text}\n") == [{"a": value}]
    key = value if isinstance(value, str) else None
    if key is not None and len(text) < 128:
        assert yaml_read(f"{text}: 1\n") == [{key: 1}]


Numbered = list[tuple[int, bytes]]


def numbered(documents: list[tuple[bytes, bool]]) -> Numbered:
    """Return the documents that are not empty, with their numbers."""
    numbers = [1 + sum(counts for _, counts in documents[:index]) for index in range(len(documents))]
    return [(number, json) for number, (json, _) in zip(numbers, documents, strict=True) if json]


def in_parts(text: bytes, size: int, n_readers: int = 1) -> Numbered | None:
    """Return what processes would return, without any; ``None`` if the text is read as a whole or has no cut."""
    if len(parts := split(text, size)) < 2:
        return None
    readers = [LineReader() for _ in range(n_readers)]
    try:
        found = [read_part(text, parts, index, readers[index % n_readers]) for index in range(len(parts))]
    except NotPlainError:
        return None
    documents = joined(parts, found)
    return None if documents is None else numbered(documents)


LIST = "apiVersion: v1\nitems:\n- a: 1\n- b: 2\n- c: 3\nkind: List\n"
SPLIT: dict[str, tuple[str, list[str]]] = {
    "nothing": ("", [""]),
    "a document without items": ("a: 1\nb: 2\nc: 3\n", ["a: 1\nb: 2\nc: 3\n"]),
    "items in the first column": (LIST, [LIST[:29], "- b: 2\n", "- c: 3\nkind: List\n"]),
    "items further in": ("items:\n  - a: 1\n  - b: 2\n", ["items:\n  - a: 1\n", "  - b: 2\n"]),
    "documents": ("a: 1\n---\nb: 2\n---\nc: 3\n", ["a: 1\n", "---\nb: 2\n", "---\nc: 3\n"]),
    "a document and a list": ("a: 1\n---\nitems:\n- b\n- c\n- d\n", ["a: 1\n", "---\nitems:\n- b\n", "- c\n- d\n"]),
    "other columns": ("items:\n- a:\n  - b\n  - c\n- d:\n  - e\n", ["items:\n- a:\n  - b\n  - c\n", "- d:\n  - e\n"]),
    "flow style": ("items: [a,\n- b,\n- c]\n", ["items: [a,\n- b,\n- c]\n"]),
    # What follows shows only when the parts are read.
    "a block of text": ("items:\n- a: |\n    - b\n- c: |\n   d\n", ["items:\n- a: |\n    - b\n", "- c: |\n   d\n"]),
    "a list of another field": ("items:\n- a: 1\nb:\n- c: 2\n", ["items:\n- a: 1\nb:\n", "- c: 2\n"]),
}


@pytest.mark.parametrize(("text", "parts"), SPLIT.values(), ids=SPLIT)
def test_cuts(text: str, parts: list[str]) -> None:
    assert [text[start:end] for start, end, _ in split(text.encode(), 5)] == parts


def test_parts_have_the_wanted_size() -> None:
    text = LIST.encode()
    assert split(text, 10) == [Part(0, 29, None), Part(29, len(text), 0)]
    assert len(split(text, 1000)) == 1


ITEM = "- kind: Pod\n  metadata:\n    name: web\n"
READ_IN_PARTS = {
    "what kubectl writes": KUBECTL.decode(),
    "a list": LIST,
    "items further in": "kind: List\nitems:\n  - a: 1\n  - b: 2\nmore: 3\n",
    "documents": "a: 1\n---\n# nothing\n---\n---\n- b\n",
    "documents and lists": "---\n" + LIST + "---\na: 1\n---\n" + LIST + "---\n" + LIST,
    "comments between items": "items:\n" + ITEM + "# more\n" + ITEM + "  # other\n" + ITEM,
    "blank lines between items": "items:\n" + ITEM + "\n\n" + ITEM + "   \n" + ITEM,
    "blocks of text with dashes": "items:\n" + 3 * "- a: |\n    b\n  c: |-\n   - d\n   - e\n\n  f: >\n    - g\n",
    "scalars of several lines": "items:\n" + 3 * "- a: 'b\n    - c\n\n    - d'\n  e: f\n    - g\n",
    "lists in lists": "items:\n" + 3 * "- - a\n  - - b\n- c:\n  - d\n",
    "scalars as items": "items:\n- a\n- 1\n- null\n- []\n",
    "a key again in another document": LIST + "---\na: 1\na: 2\n",
}


@pytest.mark.parametrize("text", READ_IN_PARTS.values(), ids=READ_IN_PARTS)
@pytest.mark.parametrize("n_readers", [1, 2])
def test_what_programs_write_is_read_in_parts(text: str, n_readers: int) -> None:
    assert in_parts(text.encode(), 5, n_readers) == read(yaml_documents(text.encode(), "f"))


READ_AS_A_WHOLE = {
    "a list of another field": "items:\n- a: 1\nb:\n- c: 2\n",
    "items twice": "items:\n- a: 1\n- b: 2\nitems:\n- c: 3\n- d: 4\n",
    "items again, empty": "items:\n- a: 1\n- b: 2\nitems: []\n",
    "items again in quotes": "items:\n- a: 1\n- b: 2\n'items': []\n",
    "items in another object": "a:\n  items:\n  - b\n  - c\nd: 1\nb: |\nitems:\n  - e\n  - f\n",
    "flow style": "items:\n- [a,\n- b,\n- c]\n",
    "a quoted scalar in the first column": 'items:\n- a: "b\n- c\n- d"\n- e\n',
    "a block in the place of items": "a: |\n items:\n  - b\n  - c\nitems:\n- |\n - d\n - e\n- *a\n",
    "an anchor of an item": "items:\n- &a\n  b: 1\n- *a\n- *a\n",
    "an anchor": "items:\n- a: &a 1\n- b: *a\n- c: 3\n",
    "a tag of the items": "items: !!seq\n- a: 1\n- b: 2\n",
    "a directive": "%YAML 1.1\n---\n" + LIST,
    "the end of a document": "items:\n- a: 1\n- b: 2\n...\n---\n- c\n",
    "carriage returns": LIST.replace("\n", "\r\n"),
    "a byte order mark": "\ufeff" + LIST,
    "a tab": "items:\n- a: 1\n-\tb: 2\n- c: 3\n",
    "an indented root": "  items:\n  - a: 1\n  - b: 2\n  kind: List\n",
    "a root with less indentation at the end": " a: 1\n items:\n - b: 2\n - c: 3\nkind: List\n",
    "an error in the last item": "items:\n- a: 1\n- b: 2\n- c: [\n",
    "an error after a list": LIST + "- b: 2\n- c: 3\n",
    "an item that is deeper than its list": "items:\n- a: 1\n - b: 2\n- c: 3\n",
}


@pytest.mark.parametrize("text", READ_AS_A_WHOLE.values(), ids=READ_AS_A_WHOLE)
def test_what_is_not_safe_to_cut_is_read_as_a_whole(text: str) -> None:
    assert in_parts(text.encode(), 3) is None


def yaml_parts_same(text: bytes, size: int) -> bool:
    found = in_parts(text, size)
    return found is None or found == read(documents_by_events(text, "f"))


def as_item(text: str) -> str:
    return "- " + text.removeprefix("---").strip("\n").replace("\n", "\n  ") + "\n"


ITEMS = (
    ITEM,
    "- a: |\n    b\n  c: |-\n   - d\n   ---\n\n  f: >\n    - g\n",
    "- a: 'b\n    - c\n\n    - d'\n  e: f\n    - g\n",
    '- "a\n  - b"\n',
    "- |\n  - a\n  # b\n",
    "- - a\n  - - b\n",
    "- [a,\n  - b]\n",
    "- {a: b}\n",
    "- a: &a 1\n- *a\n",
    "- items:\n  - a\n  - b\n",
    "- a: 1 # b\n# c\n\n",
    "- ? a\n  : b\n",
    "- !!str 1\n",
    "-\n  a: 1\n",
    "- a:\n  - b\n  - c: 1\n    d: '- e'\n",
)
#: Mostly items that are read in parts.
items = st.sampled_from((*ITEMS[:6], *ITEMS[-1:])) | st.sampled_from(ITEMS) | written().map(as_item)
lists = st.lists(items, min_size=2, max_size=6).map(lambda texts: "items:\n" + "".join(texts))
INSERTED = ("", " ", "  ", "\n", "- ", "---\n", "items:\n", "|", "'", "#", "&a ", "*a")
CHANGES = st.lists(st.tuples(st.integers(0), st.sampled_from(INSERTED)), max_size=3)


@given(lists | written(), CHANGES, st.integers(1, 40), st.sampled_from(("", "kind: List\n", "items: []\n", "---\n")))
@settings(max_examples=scaled(400), deadline=None)
def test_whatever_is_written_is_read_the_same_in_parts(
    text: str, changes: list[tuple[int, str]], size: int, end: str
) -> None:
    text += end
    for where, what in changes:
        at = where % (len(text) + 1)
        # At the beginning of a line, usually.
        at = text.rfind("\n", 0, at) + 1 if where % 4 else at
        text = text[:at] + what + text[at + (not what) :]
    assert yaml_parts_same(text.encode(), size)


def test_random_texts_are_read_in_parts_too() -> None:
    """The property would be no test if all texts were read as a whole."""
    found: list[bool] = []

    @given(lists, st.integers(1, 40))
    @settings(max_examples=100, deadline=None, derandomize=True)
    def collect(text: str, size: int) -> None:
        found.append(in_parts(text.encode(), size) is not None)

    collect()
    assert sum(found) > len(found) // 20


@pytest.mark.parametrize("before", ["", "items:\n- a\n", "a: |\n  b\nitems:\n- c: 1\n"])
def test_all_small_texts_are_read_the_same_in_parts(before: str) -> None:
    ends = ["- x\n- y\n", "  - x\n  - y\n", "- x\nkind: List\n- y\n"]
    texts = [(before + "\n").encode() + text + end.encode() for text in texts_of(AWKWARD, 2) for end in ends]
    texts = [text.replace(b"\n\n", b"\n") for text in texts]
    assert [text for text in texts if not yaml_parts_same(text, 1)] == []


MANY = ("items:\n" + "".join(f"- kind: Pod\n  number: {number}\n" for number in range(1000)) + "kind: List\n").encode()


def test_processes_read_the_parts() -> None:
    def shorten(text: bytes) -> bytes | None:
        # Beside the others, an object tells which process has read it.
        return text[:-1] + b',"pid":%d}' % os.getpid() if b'"number"' in text else None

    found = documents_by_processes(MANY, None, shorten, jobs=2, part_size=100)
    assert found is not None
    [(json, counts)] = found
    items = msgspec.json.decode(json)["items"]
    pids = {item["pid"] for item in items}
    assert counts
    assert [item["number"] for item in items] == list(range(1000))
    assert len(pids) == 2
    assert os.getpid() not in pids


@pytest.mark.parametrize("jobs", [2, 5])
def test_the_number_of_processes_changes_nothing(jobs: int) -> None:
    found = documents_by_processes(MANY, jobs=jobs, part_size=100)
    assert found is not None
    assert numbered(found) == read(yaml_documents(MANY, "f"))


def test_elements_of_another_kind_of_list_are_not_shortened() -> None:
    text = MANY.replace(b"kind: List\n", b"kind: PodList\n")
    assert documents_by_processes(text, None, lambda _: b"{}", jobs=2, part_size=100) is None
    [(json, _)] = documents_by_processes(MANY, None, lambda _: b"{}", jobs=2, part_size=100) or []
    assert b"number" not in json


def test_a_process_that_dies_leaves_the_text_to_this_one() -> None:
    parent = os.getpid()

    def shorten(text: bytes) -> bytes | None:
        if os.getpid() != parent and b":500}" in text:
            os.kill(os.getpid(), signal.SIGKILL)
        return None

    assert documents_by_processes(MANY, None, shorten, jobs=2, part_size=100) is None


def test_memory_that_runs_out_leaves_the_text_to_this_process() -> None:
    def shorten(_: bytes) -> bytes | None:
        raise MemoryError

    assert documents_by_processes(MANY, None, shorten, jobs=2, part_size=100) is None


def test_an_interrupt_ends_the_processes() -> None:
    def shorten(text: bytes) -> bytes | None:
        # A second interrupt could come when this test has ended.
        if b":500}" in text:
            os.kill(os.getppid(), signal.SIGINT)
            time.sleep(600)
        return None

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        documents_by_processes(MANY, None, shorten, jobs=2, part_size=100)
    assert time.monotonic() - started < 300


def test_small_texts_are_read_by_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def by_processes(text: bytes, *_: Any) -> None:
        asked.append(len(text))

    monkeypatch.setattr(yaml_parts, "documents_by_processes", by_processes)
    monkeypatch.setattr(yaml_parts_yaml, "LARGE", 20)
    small, large = b"a: 1\n", b"a: 1\n" * 4
    assert read(yaml_documents(small, "f")) == [(1, b'{"a":1}')]
    assert read(yaml_documents(large, "f")) == [(1, b'{"a":1}')]
    assert asked == [len(large)]
