"""Large lists piece by piece: the same items as when read as a whole, or a refusal."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.common.errors import SnapshotError
from kschedctl.common.findings import Location
from kschedctl.objects.meta import ApiObject
from kschedctl.sources.snapshot import files
from kschedctl.sources.snapshot.list_stream import PIECE, NotStreamableError, stream_list
from kschedctl.sources.snapshot.load import SnapshotReader

#: Shorter than the text that is looked at for the beginning, so that every list below has several pieces.
SMALL = 1000
PADDING = "x" * 2000

scalars = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(('},{"kind":"a"', "]}", "\\"))
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)


def read(text: str) -> list[Any]:
    pieces = list(stream_list(BytesIO(text.encode()), SMALL))
    return [json.loads(bytes(item)) for piece in pieces for item in piece.items]


@st.composite
def items(draw: st.DrawFn) -> dict[str, Any]:
    # Entries that look like the beginning of an item are common in real objects.
    entries = draw(st.lists(st.just({"apiVersion": "v1", "kind": "Pod", "name": "inner"}), max_size=3))
    item = {"apiVersion": "v1", "kind": draw(st.sampled_from(("Pod", "Node"))), "entries": entries, "x": draw(values)}
    return {**item, "padding": PADDING}


@st.composite
def lists(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A few items over and over: drawing each anew takes most of the time and says nothing more of where pieces end."""
    few = draw(st.lists(items(), min_size=1, max_size=6))
    return (few * 60)[: draw(st.integers(40, 60))]


@given(
    lists(),
    st.sampled_from((None, 1, 4)),
    st.sampled_from((["apiVersion", "kind", "items"], ["items", "kind"], ["kind", "metadata", "items", "apiVersion"])),
)
def test_the_items_are_those_of_the_whole(objects: list[Any], indent: int | None, order: list[str]) -> None:
    fields = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": "1"}, "items": objects}
    assert read(json.dumps({key: fields[key] for key in order}, indent=indent)) == objects


@pytest.mark.parametrize(
    "first",
    [
        pytest.param({"apiVersion": "v1", "count": 3}, id="of the kubelet"),
        pytest.param({"action": "Scheduling", "apiVersion": "v1", "eventTime": None}, id="of the scheduler"),
        pytest.param({"apiVersion": "events.k8s.io/v1", "deprecatedCount": 1}, id="of events.k8s.io"),
    ],
)
def test_pieces_end_between_the_events_after_other_kinds(first: dict[str, Any]) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "padding": PADDING}
    items = [pod, pod, *[{**first, "kind": "Event", "padding": PADDING}] * 40]
    text = json.dumps({"apiVersion": "v1", "items": items, "kind": "List"}).encode()
    # The beginning of a list is searched in the first 64 KiB.
    assert max(len(piece.items) for piece in stream_list(BytesIO(text), SMALL)) < len(items) - 2


NODE = '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "%s"}}'
#: Makes a file one of several pieces.
BLANKS = " " * (2 * PIECE)


@pytest.fixture
def smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of two pieces count as large: one of the real size takes seconds."""
    monkeypatch.setattr(files, "LARGE", len(BLANKS))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("- a\n", id="YAML"),
        pytest.param(NODE % "a", id="no list"),
        pytest.param('{"items": [{"metadata": {"name": "a"}}], "kind": "PodList"}', id="the kind follows the items"),
        pytest.param('{"kind": "List", "items": []}', id="no item"),
        pytest.param('{"kind": "List", "items": [{"kind": "Node"}]', id="cut off"),
        pytest.param('{"kind": "List", "items": [{"kind": "Node"}]} {"kind": "List"}', id="another document follows"),
    ],
)
def test_what_is_no_such_list_is_refused(text: str) -> None:
    with pytest.raises(NotStreamableError):
        read(text)


def read_file(tmp_path: Path, text: str) -> list[tuple[ApiObject, Location]]:
    path = tmp_path / "nodes.json"
    path.write_text(text)
    return list(SnapshotReader([path]))


def test_a_large_file_is_read_in_pieces_with_items_numbered_through(tmp_path: Path) -> None:
    nodes, blanks = ",".join(NODE % name for name in ("a", "b", "c")), " " * files.LARGE
    found = read_file(tmp_path, f'{{"apiVersion": "v1", "kind": "List", "items": [{nodes},{blanks}{NODE % "d"}]}}')
    assert [(obj.name, place.item) for obj, place in found] == [("a", 1), ("b", 2), ("c", 3), ("d", 4)]


@pytest.mark.usefixtures("smaller")
def test_a_large_file_that_is_no_list_is_read_as_a_whole(tmp_path: Path) -> None:
    found = read_file(tmp_path, f"{NODE % 'a'}{BLANKS}\n{NODE % 'b'}")
    assert [(obj.name, place.document) for obj, place in found] == [("a", 1), ("b", 2)]


@pytest.mark.usefixtures("smaller")
def test_an_error_far_down_a_large_file_is_where_it_is(tmp_path: Path) -> None:
    wrong = NODE.replace('"%s"', "7")
    with pytest.raises(SnapshotError) as error:
        read_file(tmp_path, f'{{"apiVersion": "v1", "kind": "List", "items": [{NODE % "a"},{BLANKS}{wrong}]}}')
    assert "nodes.json, document 1, item 2 (Node)" in str(error.value)


@pytest.mark.usefixtures("smaller")
def test_a_large_file_that_is_cut_off_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError) as error:
        read_file(tmp_path, f'{{"apiVersion": "v1", "kind": "List", "items": [{NODE % "a"},{BLANKS}')
    assert "is not valid JSON: the text ends too early" in str(error.value)


@pytest.mark.usefixtures("smaller")
@pytest.mark.parametrize(
    ("before", "after", "field"),
    [
        pytest.param("", f', "items": [{NODE % "b"}]', "items", id="items"),
        pytest.param("", ', "items": null', "items", id="no items"),
        pytest.param('"kind": "List", ', ', "kind": "SecretList"', "kind", id="kind"),
        pytest.param('"apiVersion": "v1", ', ', "apiVersion": "x/v1"', "apiVersion", id="version"),
    ],
)
def test_a_large_list_with_a_second_kind_or_list_is_refused(
    before: str, after: str, field: str, tmp_path: Path
) -> None:
    items = ",".join(NODE % name for name in ("a", "b"))
    with pytest.raises(SnapshotError, match=f'nodes.json, document 1.*: the list has the field "{field}" twice'):
        read_file(tmp_path, f'{{{before}"items": [{items},{BLANKS}{NODE % "c"}]{after}}}')


@pytest.mark.usefixtures("smaller")
def test_a_kind_and_version_may_follow_a_large_list(tmp_path: Path) -> None:
    items = ",".join(NODE % name for name in ("a", "b"))
    found = read_file(tmp_path, f'{{"items": [{items},{BLANKS}{NODE % "c"}], "kind": "List", "apiVersion": "v1"}}')
    assert [obj.name for obj, _ in found] == ["a", "b", "c"]
