"""Events: each answer once, none while another may lead, and not more than an API server likes."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import pytest
from msgspec.structs import replace

from kschedctl.scheduler.cycle.outcome import Outcome
from kschedctl.sources.live.api_server import ObjectClient
from kschedctl.sources.live.kubeconfig import LiveContext
from kschedctl.watch import event_writer
from kschedctl.watch.event_writer import EventWriter
from kschedctl.watch.pod_answers import PendingReport, PodAnswer
from tests.builders import make_pod
from tests.live.plain_server import kubeconfig


class EventServer:
    """Lists, takes and patches Events as an API server does, unless told to answer otherwise."""

    def __init__(self) -> None:
        self.events: dict[str, dict[str, Any]] = {}
        self.asked: list[tuple[str, str]] = []
        #: Statuses to answer with before anything is taken.
        self.refusals: list[int] = []
        self.lock = Lock()

    def take(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        with self.lock:
            self.asked.append((method, path))
            if method == "GET":
                return 200, {"items": list(self.events.values())}
            if self.refusals:
                return self.refusals.pop(0), {}
            if method == "PATCH":
                name = path.rpartition("/")[2]
                self.events.get(name, {}).update(body)
                return (200 if name in self.events else 404), {}
            name = body["metadata"]["name"]
            if name in self.events:
                return 409, {}
            self.events[name] = body
            return 201, {}

    @property
    def written(self) -> list[tuple[str, str]]:
        return [each for each in self.asked if each[0] != "GET"]

    @property
    def counts(self) -> dict[str, int]:
        """The number of observations of each note."""
        return {event["note"]: event.get("series", {}).get("count", 1) for event in self.events.values()}

    @property
    def newest(self) -> str:
        """The note that was observed last."""

        def at(event: dict[str, Any]) -> str:
            return str(event.get("series", {}).get("lastObservedTime", event["eventTime"]))

        return str(max(self.events.values(), key=at)["note"])

    @property
    def notes(self) -> list[str]:
        return [event["note"] for event in self.events.values()]


@contextmanager
def serving(events: EventServer, folder: Path) -> Iterator[ObjectClient]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, answer = events.take(self.command, self.path.partition("?")[0], json.loads(body or b"{}"))
            sent = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        do_GET = do_PATCH = do_POST  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        config = folder / "kubeconfig"
        config.write_text(json.dumps(kubeconfig(f"http://127.0.0.1:{server.server_address[1]}")))
        yield ObjectClient(LiveContext(kubeconfig=str(config)))
        server.shutdown()
        thread.join()


Start = Callable[..., EventWriter]


@pytest.fixture
def events() -> EventServer:
    return EventServer()


@pytest.fixture
def start(events: EventServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts writers that write to one server."""
    monkeypatch.setattr(event_writer, "_PAUSE", 0.05)
    writers: list[EventWriter] = []
    with serving(events, tmp_path) as client:

        def start(left: Callable[[], float] = lambda: 60.0, told: list[str] | None = None) -> EventWriter:
            writer = EventWriter(client, "copy-1", left, (told if told is not None else []).append)
            writers.append(writer)
            writer.start()
            return writer

        yield start
        for writer in writers:
            writer.stop()


def waits(message: str = "no room", *, again: bool = False, name: str = "web", uid: str = "u") -> PendingReport:
    pod = make_pod(name, namespace="shop")
    pod = replace(pod, metadata=replace(pod.metadata, uid=uid))
    return PendingReport(pod, PodAnswer(Outcome.UNSCHEDULABLE, message), None, None, again)  # type: ignore[arg-type]


def wait_for(what: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not what():
        assert time.monotonic() < until
        time.sleep(0.005)


def test_answer_becomes_an_event_on_its_pod(events: EventServer, start: Start) -> None:
    start().put(waits("0/3 nodes are available."), "closest: a lacks 1 cpu")
    wait_for(lambda: bool(events.events))
    (event,) = events.events.values()
    assert events.written == [("POST", "/apis/events.k8s.io/v1/namespaces/shop/events")]
    assert event["regarding"] == {"apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web", "uid": "u"}
    assert (event["reason"], event["type"], event["reportingController"]) == ("Unschedulable", "Warning", "kschedctl")
    assert event["reportingInstance"] == "copy-1"
    assert event["note"] == "0/3 nodes are available. closest: a lacks 1 cpu"


def test_answer_that_is_written_already_is_not_written_again(events: EventServer, start: Start) -> None:
    """By a copy that led before, or by this one before it was started anew."""
    for _ in range(2):
        writer = start()
        writer.put(waits(), "")
        wait_for(lambda writer=writer: writer.outcomes.total() == 1)  # type: ignore[misc]
    assert writer.outcomes == {"known": 1}
    assert len(events.events) == 1


@pytest.mark.parametrize("restarted", [False, True], ids=["by one copy", "by a copy that was restarted"])
@pytest.mark.parametrize(
    ("answers", "counts"),
    [
        ("one two", {"one": 1, "two": 1}),
        ("one two one", {"one": 2, "two": 1}),
        ("one one", {"one": 1}),
        ("one two two", {"one": 1, "two": 1}),
        ("one two one two one", {"one": 3, "two": 2}),
    ],
)
def test_the_newest_event_is_the_current_answer(
    answers: str, counts: dict[str, int], restarted: bool, events: EventServer, start: Start
) -> None:
    writer = start()
    for number, message in enumerate(answers.split()):
        if restarted and number:
            writer.stop()
            writer = start()
        before = writer.outcomes.total()
        writer.put(waits(message, again=number > 0), "")
        wait_for(lambda: writer.outcomes.total() == before + 1)  # noqa: B023
    assert (events.counts, events.newest) == (counts, answers.split()[-1])


def test_a_copy_that_leads_again_reads_what_the_other_has_written(events: EventServer, start: Start) -> None:
    first, second = start(), start()
    for writer, message in ((first, "one"), (second, "two"), (first, "one"), (second, "two")):
        writer.begin_term()
        before = writer.outcomes.total()
        writer.put(waits(message), "")
        wait_for(lambda: writer.outcomes.total() == before + 1)  # noqa: B023
    assert (events.counts, events.newest) == ({"one": 2, "two": 2}, "two")


def test_an_event_that_has_expired_is_written_anew(events: EventServer, start: Start) -> None:
    writer = start()
    for number, message in enumerate(("one", "two", "one")):
        if number == 2:
            events.events.clear()
        writer.put(waits(message, again=number > 0), "")
        wait_for(lambda: writer.outcomes.total() == number + 1)  # noqa: B023
    assert events.counts == {"one": 1}


def test_events_of_an_answer_that_flaps_become_rare(start: Start, events: EventServer) -> None:
    writer = start()
    began, number = time.monotonic(), 0
    while time.monotonic() < began + 1.0:
        number += 1
        writer.put(waits(f"answer {number % 2}", again=number > 1), "")
    assert len(events.events) <= 2
    # Without longer pauses, there would be one every 0.05 s.
    assert sum(events.counts.values()) <= 10


@pytest.mark.parametrize(
    ("pause", "after", "then"),
    [
        pytest.param(4.0, 4.0, 8.0, id="at once"),
        pytest.param(4.0, 7.9, 8.0, id="soon"),
        pytest.param(4.0, 8.1, 2.0, id="later"),
        pytest.param(1.0, 9.0, 1.0, id="the shortest"),
        pytest.param(200.0, 200.0, 300.0, id="the longest"),
    ],
)
def test_the_pause_after_an_event(monkeypatch: pytest.MonkeyPatch, pause: float, after: float, then: float) -> None:
    monkeypatch.setattr(event_writer, "_PAUSE", 1.0)
    monkeypatch.setattr(event_writer, "_LONGEST_PAUSE", 300.0)
    assert event_writer._Pace(100.0, pause).after(100.0 + after) == event_writer._Pace(100.0 + after, then)


def test_of_a_pod_whose_answers_change_faster_the_last_one_is_written(events: EventServer, start: Start) -> None:
    writer = start(left=lambda: 60.0)
    writer.put(waits("first"), "")
    wait_for(lambda: len(events.events) == 1)
    for i in range(20):
        writer.put(waits(f"then {i}", again=True), "")
    wait_for(lambda: "then 19" in events.notes)
    assert len(events.notes) < 20


def test_nothing_is_written_while_another_may_lead(events: EventServer, start: Start) -> None:
    writer = start(left=lambda: 0.2)
    writer.put(waits(), "")
    wait_for(lambda: writer.outcomes["dropped"] == 1)
    assert not events.written


def test_nothing_is_written_of_a_pod_that_is_gone(events: EventServer, start: Start) -> None:
    writer = start()
    writer.put(waits(uid="gone"), "")
    wait_for(lambda: writer.outcomes.total() == 1)
    writer.put(waits("another", uid="gone", again=True), "")
    writer.forget("gone")
    writer.put(waits(uid="other"), "")
    wait_for(lambda: writer.outcomes.total() == 2)
    assert "another" not in events.notes


def test_what_fails_is_tried_again(events: EventServer, start: Start) -> None:
    events.refusals += [503, 500]
    told: list[str] = []
    writer = start(told=told)
    writer.put(waits(), "")
    wait_for(lambda: writer.outcomes["written"] == 1)
    assert writer.outcomes["failed"] == 2
    assert [text.rpartition(" ")[2] for text in told[:2]] == ["503", "500"]
    assert told[2:] == ["Events are written again after 2 failed attempts"]


@pytest.mark.parametrize("status", [403, 404])
def test_what_is_refused_is_told_once_and_not_tried_again(status: int, events: EventServer, start: Start) -> None:
    events.refusals += [status] * 3
    told: list[str] = []
    writer = start(told=told)
    for i in range(3):
        writer.put(waits(uid=f"u{i}"), "")
    wait_for(lambda: writer.outcomes["failed"] == 3)
    assert len(events.written) == 3
    assert len(told) == 1
    assert told[0].startswith("an Event cannot be written: ")


def test_events_are_as_the_api_takes_them(events: EventServer, start: Start) -> None:
    start().put(waits("ü" * 2000, name=f"{'x' * 199}-{'y' * 40}"), "")
    wait_for(lambda: bool(events.events))
    (name,) = events.events
    assert len(name) <= 253
    assert "-." not in name
    assert len(events.notes[0].encode()) <= 1024
    assert events.notes[0].endswith("...")


def test_no_more_are_written_than_the_server_likes(
    events: EventServer, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_writer, "_BURST", 3)
    began = time.monotonic()
    writer = start()
    for i in range(10):
        writer.put(waits(uid=f"u{i}"), "")
    wait_for(lambda: len(events.events) == 10)
    assert time.monotonic() - began >= 0.69, "three at once, seven more at ten per second"
