"""A text that is read in parts has the documents and errors of the whole text, or is read as a whole."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedctl.common.text import yaml, yaml_parts
from kschedctl.common.text.yaml import documents_by_events, yaml_documents
from kschedctl.common.text.yaml_entries import NotPlainError
from kschedctl.common.text.yaml_lines import LineReader
from kschedctl.common.text.yaml_parts import Part, documents_by_processes, joined, read_part, split
from tests.common.text.test_yaml_lines import AWKWARD, KUBECTL, read, texts_of, written
from tests.example_counts import scaled

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
    "other columns": (
        "items:\n- a:\n  - b\n  - c\n- d:\n  - e\n",
        ["items:\n- a:\n  - b\n  - c\n", "- d:\n  - e\n"],
    ),
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


def same(text: bytes, size: int) -> bool:
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
    assert same(text.encode(), size)


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
    assert [text for text in texts if not same(text, 1)] == []


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
    def shorten(_: bytes) -> bytes | None:
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
    monkeypatch.setattr(yaml, "LARGE", 20)
    small, large = b"a: 1\n", b"a: 1\n" * 4
    assert read(yaml_documents(small, "f")) == [(1, b'{"a":1}')]
    assert read(yaml_documents(large, "f")) == [(1, b'{"a":1}')]
    assert asked == [len(large)]
