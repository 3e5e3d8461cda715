"""A watched kind and all events that can intervene; the behaviour of a real server is in `test_watch.py`."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from kschedctl.common.errors import ClusterError, KschedctlError
from kschedctl.objects.core import Node
from kschedctl.objects.meta import ApiObject
from kschedctl.sources.live import http
from kschedctl.sources.live.api_server import Connection
from kschedctl.sources.live.discovery import Served
from kschedctl.sources.live.reflector import Reflector, ReflectorSettings
from kschedctl.sources.snapshot.decoding import build_decoders
from tests.live.plain_server import page, serving

NODES = Served("Node", Node, "nodes", "/api/v1/nodes")
QUICK = ReflectorSettings(page_size=2, idle_seconds=1.0, first_pause=0.01, longest_pause=0.05)


class Heard:
    """The notifications of a reflector, as texts."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.errors: list[KschedctlError] = []
        self.n_heard = 0

    def listed(self, served: Served, objects: Sequence[ApiObject]) -> None:
        self.told.append(f"listed {' '.join(obj.name for obj in objects)}".strip())

    def unreadable_object(self, served: Served, problem: str) -> None:
        self.told.append(f"unreadable {problem}")

    def changed(self, served: Served, obj: ApiObject) -> None:
        self.told.append(f"changed {obj.name}")

    def gone(self, served: Served, obj: ApiObject) -> None:
        self.told.append(f"gone {obj.name}")

    def heard(self, served: Served) -> None:
        self.n_heard += 1

    def failed(self, served: Served, error: KschedctlError) -> None:
        self.errors.append(error)

    def forbidden(self, served: Served, error: KschedctlError) -> None:
        self.told.append("forbidden")


def event(type_: str, name: str = "", version: int = 0) -> bytes:
    obj = {"kind": "Node", "metadata": {"name": name, "resourceVersion": str(version)}}
    return json.dumps({"type": type_, "object": obj}).encode() + b"\n"


def error(code: int) -> bytes:
    status = {"kind": "Status", "code": code, "message": "too old resource version: 5 (9)"}
    return json.dumps({"type": "ERROR", "object": status}).encode() + b"\n"


def silence() -> Iterator[bytes]:
    time.sleep(1.5 * QUICK.idle_seconds)
    yield b""


def reflected(
    watches: Sequence[Callable[[], Any]], until: Callable[[Heard], bool], folder: Path, lists: Sequence[Any] = ()
) -> tuple[Heard, list[dict[str, str]]]:
    """Watch a server that answers the watches as given, then with silence; return its requests."""
    answers, pages = iter(watches), iter(lists)

    def answer(path: str, query: dict[str, str]) -> tuple[int, Any]:
        if path != NODES.path:
            return 0, None
        if "watch" not in query:
            return next(pages, (200, page("a", "b")))
        made = next(answers, lambda: (200, silence()))()
        return made if isinstance(made, tuple) else (200, iter(made))

    build_decoders([Node])
    heard, stopped = Heard(), Event()
    with serving(answer, folder) as (live, asked):
        connection = Connection(live)
        thread = Thread(target=Reflector(connection, NODES, heard, QUICK, stopped).run)
        thread.start()
        end = time.monotonic() + 120
        while not until(heard):
            assert time.monotonic() < end, (heard.told, heard.errors)
            time.sleep(0.005)
        stopped.set()
        connection.close()
        thread.join(60)
        assert not thread.is_alive()
    return heard, [dict(parse_qsl(urlsplit(path).query)) for path in asked if path.startswith(NODES.path)]


def test_what_happens_is_told_from_the_version_of_the_list_on(tmp_path: Path) -> None:
    told = [event("ADDED", "c", 11), event("MODIFIED", "a", 12), event("DELETED", "b", 13), event("BOOKMARK", "", 14)]
    heard, asked = reflected([lambda: told], lambda heard: heard.n_heard > 5, tmp_path)
    assert heard.told == ["listed a b", "changed c", "changed a", "gone b"]
    assert [one.get("resourceVersion") for one in asked][:3] == [None, "10", "14"]
    assert asked[1]["allowWatchBookmarks"] == "true"


def test_line_in_pieces_is_one_line(tmp_path: Path) -> None:
    text = event("ADDED", "c", 11) + event("ADDED", "d", 12)
    pieces = [text[i : i + 7] for i in range(0, len(text), 7)]
    heard, _ = reflected([lambda: pieces], lambda heard: len(heard.told) > 2, tmp_path)
    assert heard.told == ["listed a b", "changed c", "changed d"]


AGAIN_FROM_THERE = [
    pytest.param(lambda: [event("ADDED", "c", 11)], id="the server ends the watch"),
    pytest.param(lambda: [event("ADDED", "c", 11), event("ADDED", "d", 12)[:20]], id="it breaks off within a line"),
    pytest.param(lambda: [event("ADDED", "c", 11), error(500)], id="it tells of an error"),
    pytest.param(lambda: [event("ADDED", "c", 11), b"<html>\n"], id="something else answers"),
    pytest.param(lambda: [event("ADDED", "c", 11), b'{"type": "NEWS", "object": {}}\n'], id="it tells what is unknown"),
    pytest.param(lambda: chain([event("ADDED", "c", 11)], silence()), id="it falls silent"),
]


@pytest.mark.parametrize("watch", AGAIN_FROM_THERE)
def test_watch_that_ends_is_begun_again_from_the_last_event(watch: Callable[[], Any], tmp_path: Path) -> None:
    heard, asked = reflected([watch], lambda heard: heard.n_heard > 2, tmp_path)
    assert heard.told == ["listed a b", "changed c"]
    assert [one.get("resourceVersion") for one in asked][:3] == [None, "10", "11"]


#: Each with the number of watches that the server opens, the one after the second list among them.
LISTED_ANEW = [
    pytest.param(lambda: [error(410)], 2, id="an event says so"),
    pytest.param(lambda: (410, {"kind": "Status", "message": "too old"}), 1, id="the answer says so"),
]


@pytest.mark.parametrize(("watch", "n_opened"), LISTED_ANEW)
def test_version_that_is_too_old_has_the_kind_listed_anew(
    watch: Callable[[], Any], n_opened: int, tmp_path: Path
) -> None:
    heard, asked = reflected([watch], lambda heard: len(heard.told) > 1 and heard.n_heard >= n_opened, tmp_path)
    assert heard.told == ["listed a b"] * 2
    assert not heard.errors
    assert [one.get("watch") for one in asked][:4] == [None, "1", None, "1"]


def test_server_that_is_busy_is_asked_again(tmp_path: Path) -> None:
    busy = (503, {"message": "starting"})
    heard, _ = reflected([lambda: busy, lambda: busy], lambda heard: heard.n_heard > 0, tmp_path)
    assert heard.told == ["listed a b"]
    assert [str(each).partition(": ")[2] for each in heard.errors[:2]] == ["starting"] * 2


def test_kind_that_may_not_be_listed_is_not_asked_for_again(tmp_path: Path) -> None:
    refused = (403, {"message": "no"})
    heard, asked = reflected([], lambda heard: bool(heard.told), tmp_path, [refused])
    assert heard.told == ["forbidden"]
    assert len(asked) == 1


def test_kind_that_may_not_be_watched_is_told_and_asked_for_again(tmp_path: Path) -> None:
    heard, _ = reflected([lambda: (403, {"message": "no"})], lambda heard: heard.n_heard > 0, tmp_path)
    assert [str(each) for each in heard.errors] == ["no"]


def test_object_that_is_not_as_its_kind_must_be_is_reported_with_its_place_and_the_watch_goes_on(
    tmp_path: Path,
) -> None:
    line = b'{"type": "ADDED", "object": {"metadata": {"name": 7, "resourceVersion": "11"}}}\n'
    good = b'{"type": "ADDED", "object": {"metadata": {"name": "c", "resourceVersion": "12"}}}\n'
    heard, _ = reflected([lambda: [line, good]], lambda heard: "changed c" in heard.told, tmp_path)
    assert not heard.errors
    (problem,) = [text for text in heard.told if text.startswith("unreadable ")]
    assert "context here, nodes" in problem
    assert "metadata.name" in problem


def test_list_without_a_version_cannot_be_watched(tmp_path: Path) -> None:
    heard, _ = reflected([], lambda heard: bool(heard.errors), tmp_path, [(200, {"items": []})])
    assert "does not report the resource version of its list" in str(heard.errors[0])


def test_line_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(http, "MAX_LINE", 1000)
    heard, _ = reflected([lambda: [b"x" * 500] * 3], lambda heard: bool(heard.errors), tmp_path)
    assert isinstance(heard.errors[0], ClusterError)
    assert "sends a line of more than" in str(heard.errors[0])
