import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.common.findings import Position
from kschedctl.common.text.positions import json_position, yaml_position
from kschedctl.common.text.tree import Step

YAML = """\
# a first document
kind: Pod
---
apiVersion: v1
kind: Pod
metadata: {name: api, labels: {app.kubernetes.io/name: "api", tier: 'web'}}
spec:
  containers:
  - name: api
    resources:
      requests: {nvidia.com/gpu: 1,  cpu: "2"}
    env:
    -
    - {name: GRÜẞE, value: 😀, x: y}
  nodeSelector:
  - |
    folded
  tolerations: !!seq
  8: eight
"""

JSON = """\
{"apiVersion": "v1",
\t"spec": {"containers": [
\t\t{"name": "a \\"quoted\\" } name", "image":\t"i"},
\t\t{"name": "ÜÜ", "image": null}, 1 ]
\t,"a.b": {"c": true}, "c": 1, "c": 2, "\\u0064": []
}}
"""


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        pytest.param("", 4, 1, id="the-document"),
        pytest.param("kind", 5, 7, id="scalar"),
        pytest.param("spec.containers", 9, 3, id="list-begins-at-its-first-item"),
        pytest.param("spec.containers[0]", 9, 5, id="mapping-begins-at-its-first-key"),
        pytest.param("spec.containers[0].resources.requests[cpu]", 11, 43, id="key-in-brackets"),
        pytest.param("spec.containers[0].resources.requests.cpu", 11, 43, id="key-after-a-dot"),
        pytest.param("spec.containers[0].resources.requests[nvidia.com/gpu]", 11, 34, id="key-with-dots-in-brackets"),
        pytest.param("spec.containers[0].resources.requests.nvidia.com/gpu", 11, 34, id="key-with-dots-after-a-dot"),
        pytest.param("metadata.labels[app.kubernetes.io/name]", 6, 56, id="quotes-belong-to-the-value"),
        pytest.param("spec.containers[0].env[1].x", 14, 34, id="columns-are-characters"),
        pytest.param("spec.nodeSelector[0]", 16, 5, id="block-scalar"),
        pytest.param("spec.tolerations", 18, 16, id="tags-belong-to-the-value"),
        pytest.param("spec.8", 19, 6, id="key-that-is-a-number"),
        pytest.param("spec.containers[0].image", 9, 5, id="absent-field-of-an-item"),
        pytest.param("spec.containers[1]", 8, 3, id="absent-item"),
        pytest.param("spec.priority", 7, 1, id="absent-field"),
        pytest.param("spec.affinity.nodeAffinity", 7, 1, id="absent-parent"),
        pytest.param("spec.containers[0].name.first", 9, 5, id="below-a-scalar"),
        pytest.param("status.phase", 4, 1, id="absent-from-the-root"),
        pytest.param("spec.containers[0].{name, image}", 9, 5, id="two-fields-at-once"),
    ],
)
def test_a_field_of_yaml(path: str, line: int, column: int) -> None:
    assert yaml_position(YAML.encode(), path, document=2) == Position(line, column)


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        pytest.param("", 1, 1, id="the-document"),
        pytest.param("spec", 2, 10, id="object"),
        pytest.param("spec.containers[0].image", 3, 44, id="tabs-are-one-column"),
        pytest.param("spec.containers[1].image", 4, 27, id="columns-are-characters"),
        pytest.param("spec.containers[2]", 4, 34, id="number"),
        pytest.param("spec[a.b].c", 5, 16, id="key-with-a-dot"),
        pytest.param("spec.c", 5, 36, id="of-keys-given-twice-the-last"),
        pytest.param("spec.d", 5, 49, id="escaped-key"),
        pytest.param("spec.d[0]", 5, 39, id="absent-item"),
        pytest.param("spec.containers[3]", 2, 11, id="absent-item-of-many"),
        pytest.param("spec.containers[2].name", 4, 34, id="below-a-number"),
        pytest.param("metadata.name", 1, 1, id="absent-from-the-root"),
    ],
)
def test_a_field_of_json(path: str, line: int, column: int) -> None:
    assert json_position(JSON.encode(), path) == Position(line, column)


@pytest.mark.parametrize(
    ("text", "path", "line", "column"),
    [
        pytest.param("a: &x {b: 1}\nc: *x\n", "c.b", 1, 11, id="alias"),
        pytest.param("a: &x {b: 1}\nc:\n  <<: *x\n  d: 2\n", "c.b", 1, 11, id="merge"),
        pytest.param("a: &x {b: 1}\nc:\n  <<: [*x, {b: 2}]\n", "c.b", 1, 11, id="merge-of-several-first-wins"),
        pytest.param("a: &x {b: 1}\nc:\n  b: 2\n  <<: *x\n", "c.b", 1, 11, id="merge-below-overrides"),
        pytest.param("a: &x {b: 1}\nc:\n  <<: *x\n  b: 2\n", "c.b", 4, 6, id="merge-above-is-overridden"),
        pytest.param("a: &x {b: 1}\nd: &x {e: 1}\nc: *x\n", "c.e", 2, 11, id="anchor-given-twice"),
        pytest.param("c:\n  '<<': {b: 1}\n", "c.<<.b", 2, 13, id="quoted-merge-is-a-key"),
        pytest.param("a:\n", "a", 1, 1, id="empty-value-is-its-key"),
        pytest.param("a: 1\na: 2\n", "a", 2, 4, id="of-keys-given-twice-the-last"),
        pytest.param("yes: 1\n", "true", 1, 6, id="boolean-key"),
        pytest.param("a:\r\n  b: 1\r\n", "a.b", 2, 6, id="crlf"),
        pytest.param('{"a":\n {"b": 1}}', "a.b", 2, 8, id="flow"),
    ],
)
def test_what_yaml_can_do(text: str, path: str, line: int, column: int) -> None:
    assert yaml_position(text.encode(), path) == Position(line, column)


@pytest.mark.parametrize(
    ("text", "document"),
    [
        pytest.param("a: 1\n---\n\n---\nb: 2\n", 4, id="no-such-document"),
        pytest.param("a: [1\n", 1, id="broken"),
        pytest.param("a: *x\n", 1, id="unknown-anchor"),
        pytest.param("{[1]: 2}\n", 1, id="key-that-is-a-list"),
    ],
)
def test_no_position(text: str, document: int) -> None:
    assert yaml_position(text.encode(), "a", document=document) is None


LIST = {"kind": "List", "items": [{"spec": {"a": [1]}}, {"spec": {"a": [2, 3]}}]}


@pytest.mark.parametrize(
    ("inside", "path", "line", "column"),
    [
        pytest.param(("items", 1), "spec.a[1]", 9, 7, id="item"),
        pytest.param(("items", 1), "", 6, 3, id="item-as-a-whole"),
        pytest.param(("items", 1), "spec.b", 6, 3, id="absent-field-of-an-item"),
        pytest.param(("items", 2), "spec.a", 2, 1, id="absent-item"),
        pytest.param(("pods", 0), "spec", 1, 1, id="absent-list"),
    ],
)
def test_inside_a_list(inside: tuple[Step, ...], path: str, line: int, column: int) -> None:
    written = yaml.safe_dump(LIST, sort_keys=False).encode()
    assert written.startswith(b"kind: List\nitems:\n- spec:\n    a:\n    - 1\n- spec:")
    assert yaml_position(written, path, inside=inside) == Position(line, column)
    text = b"{} " + json.dumps(LIST).encode()
    whole = f"{inside[0]}[{inside[1]}].{path}".removesuffix(".")
    assert json_position(text, path, start=3, inside=inside) == json_position(text, whole, start=3)


def test_anchors_of_other_items_are_known() -> None:
    text = b"items:\n- spec: {a: &x {b: [1]}}\n- spec: *x\n"
    assert yaml_position(text, "spec.b[0]", inside=("items", 1)) == Position(2, 21)


# None is a number or boolean to kubectl that is text to PyYAML, such as 09.
keys = st.text(alphabet="aZ09-_./ ~ü😀", max_size=6).map("k{}".format)
# The ends of lines that only YAML knows are folded, so that a piece cut out of the text means something else.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x85\u2028\u2029"), max_size=12)
scalars = st.none() | st.booleans() | st.integers() | texts
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3))


def paths(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every path in a value, in the spelling of reading errors."""
    yield path, value
    if isinstance(value, dict):
        for key, item in value.items():
            plain = key.replace("-", "").replace("_", "").isalnum() and key.isascii()
            yield from paths(item, f"{path}{'.' if path else ''}{key}" if plain else f"{path}[{key}]")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from paths(item, f"{path}[{index}]")


def offset(text: str, position: Position | None) -> int:
    assert position is not None
    lines = text.split("\n")
    return sum(len(line) + 1 for line in lines[: position.line - 1]) + position.column - 1


@given(values, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_json_begins_with_the_value(value: Any, indent: int | str | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    for path, expected in paths(value):
        at = offset(text, json_position(text.encode(), path))
        assert json.JSONDecoder().raw_decode(text, at)[0] == expected


@given(values, st.booleans())
def test_yaml_begins_with_the_value(value: Any, flow: bool) -> None:
    text = yaml.dump(value, Dumper=_PlainDumper, default_flow_style=flow, allow_unicode=True, width=1000)
    root = yaml.compose(text, yaml.SafeLoader)
    assert root is not None
    ends = {node.start_mark.index: node.end_mark.index for node in _nodes(root)}
    for path, expected in paths(value):
        position = yaml_position(text.encode(), path)
        at = offset(text, position)
        assert position is not None
        # As far to the right as it stood, so that what is indented stays so.
        written = " " * (position.column - 1) + text[at : ends[at]]
        assert yaml.safe_load(written) == expected


class _PlainDumper(yaml.SafeDumper):
    """A dumper without aliases, because they have no end of their own."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _nodes(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        for _, value in node.value:
            yield from _nodes(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _nodes(item)
    # The outer one of those that begin at the same place is dealt with last.
    yield node
