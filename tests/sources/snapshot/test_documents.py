import json

import msgspec
import pytest

from kschedctl.common.errors import InputError
from kschedctl.sources.snapshot.decoding import json_text
from kschedctl.sources.snapshot.documents import ObjectHeader, any_documents, read_envelope


def read(text: str, file: str = "f.yaml", *, as_data: bool = False) -> list[tuple[int, object] | str]:
    found: list[tuple[int, object] | str] = []
    for each in any_documents(text.encode(), file, as_data=as_data):
        try:
            _ = each.envelope
            found.append((each.location.document, json.loads(json_text(each.value))))
        except InputError as error:
            found.append(str(error.at(each.location)))
    return found


both = pytest.mark.parametrize("as_data", [False, True], ids=["as text", "as data"])


@both
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('{"a":1}', [(1, {"a": 1})], id="json"),
        pytest.param('{"a":1}\n{"a":2}\n', [(1, {"a": 1}), (2, {"a": 2})], id="json-lines"),
        pytest.param("a: yes\n---\na: 2\n", [(1, {"a": True}), (2, {"a": 2})], id="yaml"),
        pytest.param("{a: 1, b: yes}\n", [(1, {"a": 1, "b": True})], id="flow-style-yaml"),
        pytest.param('{"a":1}\n---\n{"a":2}\n', [(1, {"a": 1}), (2, {"a": 2})], id="yaml-documents-that-are-json"),
        pytest.param('{"a":1}\n---\na: 2\n', [(1, {"a": 1}), (2, {"a": 2})], id="json-then-yaml"),
        pytest.param('---\n{"a":1}\n', [(1, {"a": 1})], id="json-under-a-separator"),
        pytest.param("", [], id="nothing"),
        pytest.param(
            "a: 1\n---\njust text\n---\n- 1\n---\nb: 2\n",
            [
                (1, {"a": 1}),
                'f.yaml, document 2: "just text" is not a Kubernetes object',
                "f.yaml, document 3: [1] is not a Kubernetes object\n"
                "  a list of objects is written as kind: List with items",
                (4, {"b": 2}),
            ],
            id="what-is-no-object-does-not-hide-the-rest",
        ),
        pytest.param(
            '[{"kind":"Pod"}]',
            [
                'f.yaml, document 1: [{"kind": "Pod"}] is not a Kubernetes object\n'
                "  a list of objects is written as kind: List with items"
            ],
            id="json-list",
        ),
        pytest.param('{"kind":5}', ["f.yaml, document 1: kind: 5 is not text"], id="kind-that-is-no-text"),
        pytest.param(
            "kind: PodList\nitems: {}\n", ["f.yaml, document 1: items: {} is not a list"], id="items-that-are-no-list"
        ),
        pytest.param("kind: Foo\nitems: {}\n", [(1, {"kind": "Foo", "items": {}})], id="items-of-another-kind"),
    ],
)
def test_documents(text: str, expected: list[tuple[int, object] | str], as_data: bool) -> None:
    assert read(text, as_data=as_data) == expected


@both
@pytest.mark.parametrize(
    ("text", "file", "message"),
    [
        pytest.param(
            '{"a": nul}',
            "f.json",
            "f.json, document 1: line 1, column 8: is not valid JSON: invalid character",
            id="json",
        ),
        pytest.param(
            '{"a": [}',
            "f.yaml",
            "f.yaml, document 1: line 1, column 8: is not valid JSON: invalid character",
            id="neither-json-nor-yaml",
        ),
        pytest.param(
            "{a: 1}",
            "f.json.gz",
            "f.json.gz, document 1: line 1, column 2: is not valid JSON: expected '\"'",
            id="yaml-in-a-json-file",
        ),
        pytest.param(
            '{"a":1}\n{"a"}',
            "f.yaml",
            "f.yaml, document 2: line 2, column 5: is not valid JSON: expected ':'",
            id="second-json-document",
        ),
        pytest.param(
            '{"a":1}\n---\na: b: c\n',
            "f.yaml",
            "f.yaml, document 2: line 3, column 5: mapping values are not allowed in this context",
            id="yaml-after-json",
        ),
    ],
)
def test_broken_text_ends_the_file(text: str, file: str, message: str, as_data: bool) -> None:
    with pytest.raises(InputError) as raised:
        read(text, file, as_data=as_data)
    assert str(raised.value) == message


def test_items_stay_text() -> None:
    (document,) = any_documents(b'{"apiVersion":"v1","kind":"List","items":[{"a": 1},null]}', "f")
    assert document.envelope.kind == "List"
    assert isinstance(document.envelope.items, list)
    assert [bytes(item) for item in document.envelope.items] == [b'{"a": 1}', b"null"]


def test_an_envelope_without_items_tells_them_from_null() -> None:
    assert read_envelope(msgspec.Raw(b"{}")) == ObjectHeader(None, None, msgspec.UNSET)
    assert read_envelope(msgspec.Raw(b'{"items":null}')) == ObjectHeader(None, None, None)
    assert read_envelope({}) == ObjectHeader(None, None, msgspec.UNSET)
    assert read_envelope({"items": None}) == ObjectHeader(None, None, None)
