"""The header of a document is what a parser finds, or is left to the parser."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.common.errors import InputError
from kschedctl.common.text.yaml import documents_by_events, yaml_documents
from kschedctl.common.text.yaml_header import yaml_header
from kschedctl.common.text.yaml_lines import may_be_plain

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
