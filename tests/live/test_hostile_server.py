"""Whatever a server does, there is an answer or a sentence, and soon."""

import gzip
import itertools
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kschedctl.common.errors import ClusterError
from kschedctl.objects.releases.choice import ChosenBy
from kschedctl.sources.live.limits import Limits
from kschedctl.sources.live.reader import LiveReader, load_live
from tests.builders import load_engine
from tests.live.hostile_server import Talk, talking
from tests.live.plain_server import discovery, page

NODES = "/api/v1/nodes"
PODS = "/api/v1/pods"
#: Far above what any of these takes, far below what the servers ask for.
SOON = 60.0


def refused(handle: Callable[[Talk], None], folder: Path, **options: float) -> str:
    """The sentence that a reading ends with."""
    began = time.monotonic()
    with talking(handle, folder) as (live, _), pytest.raises(ClusterError) as error:
        load_live(replace(live, **options))  # type: ignore[arg-type]
    assert time.monotonic() - began < SOON
    return str(error.value)


def only(path: str, answer: Callable[[Talk], None]) -> Callable[[Talk], None]:
    """A server that is like any other but for one path."""
    return lambda talk: answer(talk) if talk.path == path else talk.usual()


FEW = {"items": [{"metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "few"}}}]}
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
#: Python 3.14 limits the depth by the size of the stack: 8 MiB are enough for more than 100,000 levels.
LEVELS = 1_000_000
DEEP = b'{"items": ' + b"[" * LEVELS + b"]" * LEVELS + b"}"
DEEP_OBJECT = b'{"items": [{"metadata": {"labels": ' + b'{"a":' * LEVELS + b"1" + b"}" * LEVELS + b"}}]}"


@pytest.mark.parametrize(
    ("path", "answer", "problem"),
    [
        ("/version", lambda talk: talk.answer({"gitVersion": 7}), "does not respond like an API server"),
        ("/version", lambda talk: talk.answer({}, 410), "/version responds with status 410"),
        ("/api", lambda talk: talk.answer({}, 410), "/api responds with status 410"),
        (NODES, lambda talk: talk.answer({"message": "old\x1b[2J"}, 410), "/nodes responds with status 410: old [2J"),
        ("/version", lambda talk: talk.answer(DEEP), "does not respond like an API server"),
        ("/api", lambda talk: talk.answer(DEEP), "does not respond like an API server"),
        (NODES, lambda talk: talk.answer(DEEP), "/nodes does not respond with a list"),
        (NODES, lambda talk: talk.answer(DEEP_OBJECT), "/nodes"),
        (NODES, lambda talk: talk.answer(DEEP, 500), "/nodes responds with status 500"),
        (NODES, lambda talk: talk.answer([1]), "/nodes does not respond with a list"),
        (NODES, lambda talk: talk.answer({"items": {}}), "/nodes does not respond with a list"),
        (NODES, lambda talk: talk.answer({"items": ["x"]}), "context here, nodes, document 1, item 1"),
        (NODES, lambda talk: talk.answer({"metadata": {"continue": 7}}), "/nodes does not respond with a list"),
        (NODES, lambda talk: talk.answer({"metadata": {"remainingItemCount": 10**30}}), "does not respond with a list"),
        (NODES, lambda talk: talk.answer(FEW), "context here, nodes, document 1, item 1 (Node a): status.allocatable"),
        (NODES, lambda talk: talk.answer(b"\xff"), "/nodes does not respond with a list"),
        (NODES, lambda talk: talk.answer(b""), "/nodes does not respond with a list"),
        (NODES, lambda talk: talk.answer({}, 302, Location="http://elsewhere/"), "/nodes responds with status 302"),
        (
            NODES,
            lambda talk: talk.answer(b"hello", Content_Encoding="gzip"),
            "/nodes sends data that cannot be unpacked",
        ),
        (NODES, lambda talk: talk.answer(b"x", Content_Encoding="br"), "encoding 'br', which was not requested"),
        (NODES, lambda talk: talk.send(b"hello\r\n\r\n"), "cannot be reached"),
        (NODES, lambda talk: talk.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"), "/nodes did not respond"),
    ],
    ids=[
        "number as version",
        "version gone",
        "discovery gone",
        "every list gone",
        "deep version",
        "deep discovery",
        "deep list",
        "deep object",
        "deep refusal",
        "no object",
        "items no list",
        "item no object",
        "number as token",
        "large number",
        "no quantity",
        "no UTF-8",
        "empty",
        "elsewhere",
        "not packed",
        "packed otherwise",
        "no HTTP",
        "half an answer",
    ],
)
def test_what_is_no_answer(tmp_path: Path, path: str, answer: Callable[[Talk], None], problem: str) -> None:
    assert problem in refused(only(path, answer), tmp_path, request_seconds=2 if "did not" in problem else 60)


def test_packed_answer_is_unpacked(tmp_path: Path) -> None:
    def packed(talk: Talk) -> None:
        talk.answer(gzip.compress(b'{"items": [{"metadata": {"name": "a"}}]}'), Content_Encoding="gzip")

    with talking(only(NODES, packed), tmp_path) as (live, _):
        assert load_live(live).cluster.nodes.names == ("a",)


def test_packed_answer_that_becomes_too_large(tmp_path: Path) -> None:
    bomb = gzip.compress(b" " * 8 * 1024**2)
    answer = only(NODES, lambda talk: talk.answer(bomb, Content_Encoding="gzip"))
    assert "/nodes responds with more than 1 MiB" in refused(answer, tmp_path, max_answer=1024**2)


def test_answer_that_is_too_large(tmp_path: Path) -> None:
    def endless(talk: Talk) -> None:
        talk.send(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            talk.send(b" " * 65536)

    assert "/nodes responds with more than 1 MiB" in refused(only(NODES, endless), tmp_path, max_answer=1024**2)


def test_all_answers_together_are_limited() -> None:
    limits = Limits(0, max_reading=1024)
    limits.add(1024, "https://here")
    with pytest.raises(ClusterError, match="https://here sends more than 1 KiB"):
        limits.add(1, "https://here")


@pytest.mark.parametrize(
    ("status", "after"), [(429, "1000000"), (503, "Fri, 01 Jan 2100 00:00:00 GMT")], ids=["seconds", "date"]
)
def test_server_that_wants_to_be_left_alone(tmp_path: Path, status: int, after: str) -> None:
    problem = refused(only(NODES, lambda talk: talk.answer({}, status, Retry_After=after)), tmp_path)
    assert "/nodes is busy and asks for a retry in" in problem
    assert "--request-timeout" in problem


def test_busy_server_is_asked_again(tmp_path: Path) -> None:
    answers = iter([(429, "0"), (503, "nonsense"), (200, "")])

    def busy(talk: Talk) -> None:
        status, after = next(answers)
        talk.answer(page("a") if status == 200 else {}, status, Retry_After=after)

    with talking(only(NODES, busy), tmp_path) as (live, _):
        assert load_live(live).cluster.nodes.names == ("a",)


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/version", Talk.be_silent),
        (PODS, Talk.be_silent),
        (PODS, lambda talk: (talk.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"), talk.drip(b" "))),
        (PODS, lambda talk: (talk.send(b"HTTP/1.1 200 OK\r\nX: "), talk.drip(b"x"))),
        (PODS, lambda talk: talk.drip(b"HTTP/1.1 100 Continue\r\n\r\n")),
        (
            PODS,
            lambda talk: (
                talk.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
                talk.drip(b"1\r\n \r\n"),
            ),
        ),
    ],
    ids=["silent at once", "silent later", "drips a body", "drips a header", "continues for ever", "drips chunks"],
)
def test_server_that_takes_its_time(tmp_path: Path, path: str, answer: Callable[[Talk], None]) -> None:
    before = threads()
    problem = refused(only(path, answer), tmp_path, request_seconds=2)
    assert f"{path} did not respond" in problem
    assert "within 2 s" in problem
    until = time.monotonic() + SOON
    while threads() - before:
        assert time.monotonic() < until, "a thread is left"
        time.sleep(0.05)


@pytest.mark.parametrize("request_seconds", [0.0, 30.0])
def test_slow_server_is_waited_for(tmp_path: Path, request_seconds: float) -> None:
    """Without a limit there is none."""

    def slow(talk: Talk) -> None:
        time.sleep(1)
        talk.answer(page("a"))

    with talking(only(NODES, slow), tmp_path) as (live, _):
        assert load_live(replace(live, request_seconds=request_seconds)).cluster.nodes.names == ("a",)


@pytest.mark.parametrize(
    ("pages", "problem"),
    [
        (lambda _: page("a", "b", following="same"), "/nodes does not end: its pages contain nothing new"),
        (lambda n: page("a", "b", following=str(n)), "/nodes does not end: its pages contain nothing new"),
        (lambda n: page(following=str(n)), "/nodes does not end: its pages contain nothing new"),
        (lambda n: page(f"n{n}", following=str(n)), " within "),
    ],
    ids=["one token", "the same objects", "no objects", "more and more"],
)
def test_pages_without_end(tmp_path: Path, pages: Callable[[int], object], problem: str) -> None:
    numbers = itertools.count()

    def endless(talk: Talk) -> None:
        talk.answer(pages(next(numbers)))

    assert problem in refused(only(NODES, endless), tmp_path, request_seconds=0.3 if "within" in problem else 60)


def test_some_empty_pages_are_no_problem(tmp_path: Path) -> None:
    def sparse(talk: Talk) -> None:
        n = int(talk.query.get("continue", 0))
        talk.answer(page("a") if n == 9 else page(following=str(n + 1)))

    with talking(only(NODES, sparse), tmp_path) as (live, _):
        assert load_live(live).cluster.nodes.names == ("a",)


def test_reading_that_is_given_up_ends_its_threads(tmp_path: Path) -> None:
    before = threads()
    with talking(only(PODS, lambda talk: talk.answer({}, 500)), tmp_path) as (live, _):
        objects = iter(LiveReader(live))
        with pytest.raises(ClusterError, match="status 500"):
            next(objects)
    until = time.monotonic() + SOON
    while threads() - before:
        assert time.monotonic() < until, "a thread is left"
        time.sleep(0.05)


def threads() -> set[threading.Thread]:
    """Return the threads without those of the server, which end when it notices that its connections are closed."""
    return {thread for thread in threading.enumerate() if thread.name != "server"}


def command(*arguments: str) -> list[str]:
    script = "import sys; sys.argv[0] = 'kschedctl'; from kschedctl.cli.main import run; run()"
    return [sys.executable, "-c", script, *arguments]


ENVIRONMENT = {"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path), "TERM": "xterm", "HOME": "/none"}


def test_interrupt_ends_at_once(tmp_path: Path) -> None:
    with talking(only(PODS, Talk.be_silent), tmp_path) as (live, asked):
        arguments = command("verify", "--kubeconfig", live.kubeconfig)
        running = subprocess.Popen(arguments, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert asked.wait(SOON)
        time.sleep(0.5)
        began = time.monotonic()
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=SOON)
    assert time.monotonic() - began < SOON
    assert (running.returncode, errors) == (130, b"")


def test_terminal_hears_of_a_server_that_is_silent(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    with talking(only(PODS, Talk.be_silent), tmp_path) as (live, _):
        arguments = command("verify", "--kubeconfig", live.kubeconfig, "--request-timeout", "4")
        done = subprocess.run(
            arguments, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=theirs, timeout=SOON, check=False
        )
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert done.returncode == 3
    assert "reading here" in shown
    assert "reading here: 2 of 3 kinds, no response for " in shown
    assert "/api/v1/pods did not respond within 4 s" in shown


@pytest.mark.parametrize("version", ["banana", "v9" * 10_000, "", "v1." + "9" * 5000], ids=lambda text: text[:8])
def test_version_that_nobody_knows(tmp_path: Path, version: str) -> None:
    """Whatever a server and its kubelets say, it is no version."""

    def handle(talk: Talk) -> None:
        node = {"metadata": {"name": "a"}, "status": {"nodeInfo": {"kubeletVersion": version}}}
        match talk.path:
            case "/version":
                talk.answer({"gitVersion": version})
            case path if path == NODES:
                talk.answer({"items": [node]})
            case _:
                talk.usual()

    with talking(handle, tmp_path) as (live, _):
        assert load_engine(live=live).release_choice.chosen_by is ChosenBy.DEFAULT


def test_kinds_that_nobody_knows_are_passed_over(tmp_path: Path) -> None:
    answer = only("/apis", lambda talk: talk.answer(discovery([("a.com", [("v1", [("things", "Thing")])])])))
    with talking(answer, tmp_path) as (live, _):
        assert load_live(live).cluster.nodes.names == ()
