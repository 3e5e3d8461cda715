"""Streams that are closed, full or poor in characters, and progress on a terminal."""

import io
import json
import os
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import msgspec
import pytest

from kschedctl.cli import progress
from tests.builders import make_node, make_pod
from tests.cli.in_process import run
from tests.cli.transcript import SHOP

SCRIPTS = sysconfig.get_path("scripts")
FULL = "error: cannot write: No space left on device\n"
ENVIRONMENT = {"PATH": f"{SCRIPTS}:/usr/bin:/bin", "LANG": "C.UTF-8", "KSCHEDCTL_SNAPSHOT": str(SHOP)}


def shell(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    folder = Path(__file__).parent / "inputs"
    return subprocess.run(
        ["sh", "-c", command], cwd=folder, env=ENVIRONMENT | environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("command", "code", "told"),
    [
        ("kschedctl --help > /dev/full", 2, FULL),
        ("kschedctl explain --help > /dev/full", 2, FULL),
        ("kschedctl snapshot info --help > /dev/full", 2, FULL),
        ("kschedctl --version > /dev/full", 2, FULL),
        ("kschedctl explain shop/web-7 > /dev/full", 2, FULL),
        ("kschedctl explain shop/web-7 -o json > /dev/full", 2, FULL),
        ("kschedctl batch cases.jsonl > /dev/full", 2, FULL),
        ("kschedctl --help >&-", 2, "error: cannot write: standard output is closed\n"),
        ("kschedctl explain shop/web-7 >&-", 2, "error: cannot write: standard output is closed\n"),
        ("kschedctl explain - <&-", 2, "error: standard input: cannot be read: it is closed\n"),
        ("kschedctl explain -f - <&-", 2, "error: standard input: cannot be read: it is closed\n"),
        ("kschedctl batch <&-", 2, "error: standard input: cannot be read: it is closed\n"),
        ("kschedctl explain nobody/web-7 2> /dev/full", 2, ""),
        ("kschedctl explain nobody/web-7 2>&-", 2, ""),
        ("kschedctl explain --nonsense 2> /dev/full", 2, ""),
        ("kschedctl --nonsense 2>&-", 2, ""),
        ("kschedctl 2> /dev/full", 2, ""),
        ("kschedctl explain shop/web-7 > /dev/full 2>&1", 2, ""),
        ("kschedctl --version <&- >&- 2>&-", 2, ""),
    ],
)
def test_unwritable_and_unreadable_streams(command: str, code: int, told: str) -> None:
    done = shell(command)
    assert (done.returncode, done.stderr) == (code, told)


@pytest.mark.parametrize("redirection", ["2> /dev/full", "2>&-"])
def test_lost_notes_leave_the_answer(redirection: str) -> None:
    command = "kschedctl explain -f chart.yaml -o name"
    told = shell(command)
    assert told.stderr.startswith("note: ")
    lost = shell(f"{command} {redirection}")
    assert (lost.returncode, lost.stdout) == (told.returncode, told.stdout)
    assert lost.stdout


def test_what_an_encoding_lacks_is_escaped(tmp_path: Path) -> None:
    pod = msgspec.to_builtins(make_pod("web"))
    pod["metadata"]["name"] = "wéb🙂"
    path = tmp_path / "cluster.json"
    node = {"apiVersion": "v1", "kind": "Node", **msgspec.to_builtins(make_node("a", cpu="2"))}
    items = [node, {"apiVersion": "v1", "kind": "Pod", **pod}]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    ascii_only = {"PYTHONIOENCODING": "ascii", "KSCHEDCTL_SNAPSHOT": str(path), "COLUMNS": "200"}
    text = shell("kschedctl explain -A", **ascii_only).stdout
    assert text.isascii()
    assert "?" not in text
    assert r"default/w\u00e9b\ud83d\ude42 fits on" in text
    assert "requests nothing | priority 0 | profile default-scheduler" in text
    for form in ("json", "yaml"):
        printed = run("explain", "-A", "-o", form, "--snapshot", str(path), encoding="ascii").out
        assert printed.isascii()
        assert _parsed(printed, form)["items"][0]["pod"]["name"] == "wéb🙂"


def _parsed(text: str, form: str) -> dict[str, list[dict[str, dict[str, str]]]]:
    import yaml

    parsed: dict[str, list[dict[str, dict[str, str]]]] = json.loads(text) if form == "json" else yaml.safe_load(text)
    return parsed


@pytest.mark.parametrize(
    ("arguments", "environment", "colours"),
    [
        ("", {}, False),
        ("--color auto", {}, False),
        ("--color=always", {}, True),
        ("--color=always", {"NO_COLOR": "1"}, True),
        ("--color=always", {"TERM": "dumb"}, True),
        ("--color=never", {"FORCE_COLOR": "1", "TERM": "xterm"}, False),
        ("--no-color", {"FORCE_COLOR": "1", "TERM": "xterm"}, False),
        ("", {"FORCE_COLOR": "1", "TERM": "xterm"}, True),
        ("", {"FORCE_COLOR": "1", "TERM": "xterm", "NO_COLOR": "1"}, False),
    ],
)
def test_colours(arguments: str, environment: dict[str, str], colours: bool) -> None:
    done = run("explain", "shop/web-7", *arguments.split(), environment=ENVIRONMENT | environment)
    assert done.code == 0
    assert ("\x1b[" in done.out) is colours


def test_colours_are_asked_for_once() -> None:
    done = run("explain", "shop/web-7", "--color", "always", "--no-color", environment=ENVIRONMENT)
    assert (done.code, done.out) == (2, "")
    assert "--no-color is given, too" in done.err


INTERRUPTED_IMPORT = """
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
from kschedctl.cli.start import run
run()
"""


def test_interrupt_while_starting() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED_IMPORT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("n_answers", [0, 1], ids=["workers start", "workers work"])
def test_interrupt_in_batch(n_answers: int) -> None:
    node = {"apiVersion": "v1", "kind": "Node", **msgspec.to_builtins(make_node("a", cpu="2"))}
    pod = msgspec.to_builtins(make_pod())
    case = msgspec.json.encode({"id": "case", "objects": [node], "pod": pod}) + b"\n"
    pipe = subprocess.PIPE
    command = [f"{SCRIPTS}/kschedctl", "batch", "-j", "2"]
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)
    assert process.stdin is not None
    assert process.stdout is not None
    # As many as are handed out before the first answer is waited for; the end of the input does not come.
    process.stdin.write(case * 80)
    process.stdin.flush()
    for _ in range(n_answers):
        process.stdout.readline()
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    # One keeps track of what is shared, the others decide.
    while not n_answers and len(children.read_text().split()) < 2:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (130, b"")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def working(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch, *, patience: float, until: str) -> str:
    """Return the text written during a busy period that lasts until a word appears, or 0.2 seconds without a word."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "_PATIENCE", patience)
    with progress.TerminalHandle().busy("reading the snapshot"):
        end = time.monotonic() + (60 if until else 0.2)
        while time.monotonic() < end and not (until and until in stream.getvalue()):
            time.sleep(0.01)
    return stream.getvalue()


def test_a_terminal_is_told_what_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "reading the snapshot" in working(Terminal(), monkeypatch, patience=0.0, until="reading the snapshot")


def test_what_is_over_soon_needs_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    assert working(Terminal(), monkeypatch, patience=1000.0, until="") == ""


def test_a_pipe_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert working(io.StringIO(), monkeypatch, patience=0.0, until="") == ""


def test_an_interrupted_word_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)

    def interrupted() -> None:
        with progress.TerminalHandle().busy("reading"):
            end = time.monotonic() + 60
            while "reading" not in terminal.getvalue() and time.monotonic() < end:
                time.sleep(0.01)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    # The cursor is shown again.
    assert terminal.getvalue().rindex("\x1b[?25h") > terminal.getvalue().rindex("reading")
