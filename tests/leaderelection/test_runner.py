"""A command that runs while a lease is held: its start, its signals, and its end in every case."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread

import pytest

from kschedctl.errors import InputError
from kschedctl.leaderelection.lock import LockError
from kschedctl.leaderelection.memory import MemoryApi, MemoryLock
from kschedctl.leaderelection.record import LeaderElectionRecord
from kschedctl.leaderelection.running import guard
from kschedctl.leaderelection.running.runner import Ending, Runner, check_grace, held_for
from kschedctl.leaderelection.settings import ElectionSettings
from kschedctl.leaderelection.steps import Steps

NAME = "shop/report"
TIMES = ElectionSettings(lease_duration=3.0, renew_deadline=1.2, retry_period=0.2)
GRACE = 0.4
#: Longer than a busy machine takes for anything here, shorter than what would go on otherwise.
SOON = 50.0


class BreakingLock(MemoryLock):
    """A lock that becomes unreachable once it is broken."""

    broken = False

    def get(self, until: float) -> Steps[LeaderElectionRecord]:
        self._check()
        return (yield from super().get(until))

    def update(self, record: LeaderElectionRecord, until: float) -> Steps[None]:
        self._check()
        yield from super().update(record, until)

    def _check(self) -> None:
        if self.broken:
            raise LockError("no route to host")


class Case:
    """A run in this process, with a lease in memory."""

    def __init__(self) -> None:
        self.api, self.told = MemoryApi(), list[str]()
        self.lock = BreakingLock(self.api, NAME, "us")

    def run(self, *command: str, grace: float = GRACE) -> Ending:
        return Runner(command, TIMES, grace, self.told.append).run(self.lock)

    def shell(self, script: str) -> Ending:
        return self.run("sh", "-c", script)

    @property
    def record(self) -> LeaderElectionRecord:
        return self.api.get(NAME).record


def after(seconds: float, what: Callable[[], object]) -> None:
    def play() -> None:
        time.sleep(seconds)
        what()

    Thread(target=play, daemon=True).start()


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(what: Callable[[], bool]) -> None:
    until = time.monotonic() + SOON
    while not what():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["true"], 0),
        (["sh", "-c", "exit 7"], 7),
        (["sh", "-c", "kill -9 $$"], 137),
        (["/no/such/command"], 127),
        (["/"], 126),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_exit_code_is_handed_on_and_the_lease_given_up(command: Sequence[str], code: int) -> None:
    case = Case()
    assert case.run(*command) == Ending(code)
    assert (case.record.holder_identity, case.record.lease_duration_seconds) == ("", 1)
    assert case.told == ["shop/report is held by this candidate: us leads"]


def test_the_command_gets_its_arguments_and_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GREETING", "hello there")
    target = tmp_path / "out"
    case = Case()
    case.run("sh", "-c", 'printf "%s|%s|%s" "$GREETING" "$1" "$2" > "$0"', str(target), "a b", "--flag")
    assert target.read_text() == "hello there|a b|--flag"


def test_what_the_command_leaves_behind_is_killed_with_it(tmp_path: Path) -> None:
    case = Case()
    case.shell(f"sleep 100 & echo $! > {tmp_path}/pid")
    wait_until(lambda: not alive(int((tmp_path / "pid").read_text())))


def test_nothing_runs_while_another_leads(tmp_path: Path) -> None:
    case = Case()
    case.api.create(NAME, LeaderElectionRecord(holder_identity="them", lease_duration_seconds=60, renew_time=1.0))
    after(1.0, lambda: os.kill(os.getpid(), signal.SIGTERM))
    assert case.shell(f"touch {tmp_path}/ran") == Ending(128 + signal.SIGTERM)
    assert not (tmp_path / "ran").exists()
    assert case.record.holder_identity == "them"
    assert case.told == ["shop/report is held by them"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_signals_are_handed_on(number: signal.Signals, tmp_path: Path) -> None:
    """The command decides when it ends, and the lease is held until then."""
    case = Case()
    after(0.8, lambda: os.kill(os.getpid(), number))
    script = "import signal, time, sys; signal.signal(int(sys.argv[1]), lambda *_: (time.sleep(1.5), sys.exit(9)))\n"
    ending = case.run(sys.executable, "-c", f"{script}while True: time.sleep(1)", str(int(number)))
    assert ending == Ending(9)
    assert case.record.holder_identity == ""
    assert "the lease is lost: the command gets SIGTERM" not in case.told


def test_handlers_of_signals_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    Case().run("true")
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("ignores", [False, True], ids=["ends at SIGTERM", "ignores SIGTERM"])
def test_a_lease_that_cannot_be_renewed_ends_the_command_in_time(ignores: bool, tmp_path: Path) -> None:
    case = Case()
    after(0.5, lambda: setattr(case.lock, "broken", True))
    trap = "''" if ignores else f"'echo term > {tmp_path}/got; exit 4'"
    ending = case.shell(f"trap {trap} TERM; while :; do sleep 0.05; done")
    ended = time.time()
    assert ending == Ending(137 if ignores else 4, lost=True)
    assert (tmp_path / "got").exists() != ignores
    # Nobody else can lead before that; the request that could not be given up is waited for besides.
    assert ended < case.record.renew_time + TIMES.lease_duration_seconds + TIMES.request_timeout
    assert case.told[-1] == ("the command is killed: its deadline has passed" if ignores else _LOST)
    assert case.record.holder_identity == "us"


_LOST = "the lease is lost: the command gets SIGTERM"


def test_a_lease_that_is_taken_away_ends_the_command_at_once() -> None:
    case = Case()

    def take() -> None:
        record = LeaderElectionRecord(holder_identity="them", lease_duration_seconds=60, renew_time=5.0)
        case.api.update(NAME, record, case.api.get(NAME).resource_version)

    after(0.7, take)
    began = time.monotonic()
    ending = case.run("sleep", "100")
    assert ending == Ending(128 + signal.SIGTERM, lost=True)
    assert time.monotonic() - began < SOON
    # What is another's is not given up.
    assert case.record.holder_identity == "them"


@pytest.mark.parametrize(
    ("settings", "grace", "needed"),
    [
        (ElectionSettings(), 2.0, None),
        (ElectionSettings(), 2.5, 16),
        (ElectionSettings(), 30.0, 43),
        (ElectionSettings(lease_duration=5, renew_deadline=2, retry_period=0.5), 1.0, None),
    ],
)
def test_a_grace_period_that_is_too_long_is_refused(
    settings: ElectionSettings, grace: float, needed: int | None
) -> None:
    if needed is None:
        check_grace(settings, grace)
        return
    with pytest.raises(InputError, match=f"give --lease-duration {needed}s"):
        check_grace(settings, grace)
    longer = ElectionSettings(lease_duration=float(needed))
    check_grace(longer, grace)
    assert held_for(longer) < needed


def started_guard(group: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-I", "-S", guard.__file__, "watch", str(group), str(time.CLOCK_MONOTONIC)]
    found = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert found.stdout is not None
    assert found.stdout.readline() == b"ready\n"
    return found


@pytest.mark.parametrize(
    ("told", "ends", "kills"),
    [
        pytest.param("until 0.6 from now", False, True, id="the moment comes"),
        pytest.param("until 0.3 from now, until 1.2 from now", False, True, id="it was put off"),
        pytest.param("until 100 from now", True, True, id="who started it is gone"),
        pytest.param("until 100 from now, done", True, False, id="it is done"),
    ],
)
def test_guard(told: str, ends: bool, kills: bool) -> None:
    with subprocess.Popen(["sleep", "100"], process_group=0) as victim, started_guard(victim.pid) as watching:
        assert watching.stdin is not None
        began, last = time.clock_gettime(time.CLOCK_MONOTONIC), 0.0
        for line in told.split(", "):
            if line.startswith("until"):
                last = float(line.split()[1])
                watching.stdin.write(f"until {began + last}\n".encode())
            else:
                watching.stdin.write(f"{line}\n".encode())
        watching.stdin.flush()
        if ends:
            watching.stdin.close()
        assert watching.wait(SOON) == int(kills)
        if kills:
            assert victim.wait(SOON) == -signal.SIGKILL
            took = time.clock_gettime(time.CLOCK_MONOTONIC) - began
            assert took < SOON if ends else last <= took < last + SOON
        else:
            assert victim.poll() is None
            victim.kill()


def test_the_command_waits_until_it_is_guarded() -> None:
    """The command never runs if the pipe closes without the go-ahead."""
    go, gone = os.pipe()
    command = [sys.executable, "-I", "-S", guard.__file__, "wait", str(go), "touch", "/never/made"]
    with subprocess.Popen(command, pass_fds=[go], stderr=subprocess.PIPE) as waiting:
        os.close(go)
        os.close(gone)
        _, said = waiting.communicate(timeout=SOON)
    assert (waiting.returncode, said) == (0, b"")
