"""Expected values are those of sigs.k8s.io/yaml 1.6 (go-yaml v2), which kubectl uses."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.common.errors import InputError
from kschedctl.common.text.yaml import yaml_documents


def read(text: str) -> list[Any]:
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
    (read_value,) = read(f"a: {scalar}\n")
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
    assert read(f"{key}: v\n") == [{text: "v"}]


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
    assert read(text) == values


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
        read(text)
    assert str(raised.value) == message


def test_a_chain_of_aliases_reaches_its_limit_before_it_nests_too_deeply() -> None:
    chain = "\n".join(["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 5000))])
    with pytest.raises(InputError, match=r"line 517, column 14: aliases expand to more than"):
        read(chain)


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
    (read_value,) = read(text)
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
        values = read(f"[{text}]")
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
    assert read(text) == [yaml.safe_load(text)]


def test_an_alias_of_a_long_key_weighs_its_length() -> None:
    key = "k" * 40_000
    aliases = ", ".join(["*long"] * 5000)
    with pytest.raises(InputError, match="aliases expand to more than 400,000 nodes"):
        read(f"a: {{&long {key[:900]}: 1}}\nb: [{', '.join(['*long'] * 60_000)}]\n")
    with pytest.raises(InputError, match="aliases expand to more than 400,000 nodes"):
        read(f"? &long {key}\n: 1\nb:\n- [{aliases}]\n")


def test_an_alias_of_the_merge_key_is_text() -> None:
    assert read("a: {&m <<: {b: 1}}\nc: *m\n") == [{"a": {"b": 1}, "c": "<<"}]


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
    assert read(f"a: {text}\n") == [{"a": value}]
    key = value if isinstance(value, str) else None
    if key is not None and len(text) < 128:
        assert read(f"{text}: 1\n") == [{key: 1}]
