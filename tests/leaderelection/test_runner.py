"""A command that runs while a lease is held: its start, its signals, and its end in every case."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Thread

import pytest

from kschedctl.common.errors import InputError
from kschedctl.leaderelection import guard
from kschedctl.leaderelection.locks import LeaderElectionRecord, LockError, MemoryApi, MemoryLock
from kschedctl.leaderelection.runner import Ending, Runner, check_grace, held_for
from kschedctl.leaderelection.settings import ElectionSettings, Steps
from tests.processes import alive

NAME = "shop/report"
#: A lease that a busy machine renews in time.
TIMES = ElectionSettings(lease_duration=200.0, renew_deadline=100.0, retry_period=0.2)
#: A lease that is soon given up if it cannot be renewed, long before another candidate may have it.
SHORT = ElectionSettings(lease_duration=200.0, renew_deadline=1.2, retry_period=0.2)
#: Longer than any command here takes to end at SIGTERM.
GRACE = 60.0
#: Longer than a busy machine takes for anything here, shorter than what would go on otherwise.
SOON = 50.0


@pytest.fixture(autouse=True)
def default_signals() -> Iterator[None]:
    """Undo what nohup and shells do to commands in the background: they make them ignore signals of a terminal."""
    ignored = [n for n in (signal.SIGHUP, signal.SIGQUIT) if signal.getsignal(n) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


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

    def run(self, *command: str, times: ElectionSettings = TIMES, grace: float = GRACE) -> Ending:
        return Runner(command, times, grace, self.told.append).run(self.lock)

    def shell(self, script: str, times: ElectionSettings = TIMES, grace: float = GRACE) -> Ending:
        return self.run("sh", "-c", script, times=times, grace=grace)

    @property
    def record(self) -> LeaderElectionRecord:
        return self.api.get(NAME).record


def once(condition: Callable[[], bool], what: Callable[[], object]) -> None:
    """Do something in a thread as soon as a condition holds."""

    def play() -> None:
        wait_until(condition)
        what()

    Thread(target=play, daemon=True).start()


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


#: A process in a session of its own whose parent has ended, as daemons are.
DAEMON = "setsid sh -c 'sleep 100 & echo $! > {file}; wait' &"
RUNS = "while [ ! -s {file} ]; do sleep 0.02; done"
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has child subreapers")


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("sleep 100 & echo $! > {file}", id="in the background"),
        pytest.param(f"{DAEMON} {RUNS}", id="in a session of its own", marks=linux_only),
        pytest.param(f"({DAEMON}) & {RUNS}", id="whose parents have ended", marks=linux_only),
        pytest.param(f"{DAEMON} {RUNS}; kill -9 $$", id="of a command that is killed", marks=linux_only),
    ],
)
def test_everything_that_the_command_has_started_is_dead_when_the_lease_is_released(
    script: str, tmp_path: Path
) -> None:
    case, file = Case(), tmp_path / "pid"
    case.shell(script.format(file=file))
    assert case.record.holder_identity == ""
    assert not alive(int(file.read_text()))


#: ``leader run`` without an API server: a runner with a lease in memory, which prints its messages and its outcome.
RUN = """
import sys
from kschedctl.leaderelection.locks import MemoryApi, MemoryLock
from kschedctl.leaderelection.runner import Runner
from kschedctl.leaderelection.settings import ElectionSettings
lock = MemoryLock(MemoryApi(), "shop/report", "us")
print(Runner(sys.argv[1:], ElectionSettings(), 1.0, print).run(lock))
"""


@linux_only
@pytest.mark.parametrize(
    ("killed", "dead", "said"),
    [
        (("guard",), "command daemon", "was killed: the command is killed with it\nEnding(code=137, lost=False)"),
        (("runner",), "command daemon", "us leads"),
        (("runner", "guard"), "command", "us leads"),
    ],
    ids=lambda value: " and ".join(value) if isinstance(value, tuple) else "",
)
def test_a_kill_of_the_runner_or_its_guard_kills_the_command(
    killed: Sequence[str], dead: str, said: str, tmp_path: Path
) -> None:
    daemon, command = tmp_path / "daemon", tmp_path / "command"
    script = f"{DAEMON.format(file=daemon)} echo $$ > {command}; exec sleep 100"
    with subprocess.Popen(
        [sys.executable, "-u", "-c", RUN, "sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as runner:
        wait_until(lambda: daemon.exists() and command.exists() and bool(daemon.read_text() and command.read_text()))
        pids = {name: int((tmp_path / name).read_text()) for name in ("daemon", "command")}
        parent = Path(f"/proc/{pids['command']}/stat").read_text().rpartition(")")[2].split()[1]
        # Nothing runs between the two signals.
        for pid in [{"runner": runner.pid, "guard": int(parent)}[name] for name in killed]:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not any(alive(pids[name]) for name in dead.split()))
        if alive(pids["daemon"]):
            os.kill(pids["daemon"], signal.SIGKILL)
        assert runner.stdout is not None
        told = runner.stdout.read().decode()
    assert said in told
    assert "Traceback" not in told
    assert "lease is lost" not in told


def test_the_command_has_the_signal_handlers_of_a_program_that_a_shell_starts(tmp_path: Path) -> None:
    """Python ignores SIGPIPE, and the guard the signals of a terminal."""
    command = ["grep", "Sig[BI]", "/proc/self/status"]
    expected = subprocess.run(command, capture_output=True, check=True)
    case = Case()
    case.shell(f"grep Sig[BI] /proc/self/status > {tmp_path}/out")
    assert (tmp_path / "out").read_bytes() == expected.stdout


def test_nothing_runs_while_another_leads(tmp_path: Path) -> None:
    case = Case()
    case.api.create(NAME, LeaderElectionRecord(holder_identity="them", lease_duration_seconds=60, renew_time=1.0))
    once(lambda: bool(case.told), lambda: os.kill(os.getpid(), signal.SIGTERM))
    assert case.shell(f"touch {tmp_path}/ran") == Ending(128 + signal.SIGTERM)
    assert not (tmp_path / "ran").exists()
    assert case.record.holder_identity == "them"
    assert case.told == ["shop/report is held by them"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_signals_are_handed_on(number: signal.Signals, tmp_path: Path) -> None:
    """The command decides when it ends, and the lease is held until then."""
    case, ready = Case(), tmp_path / "ready"
    once(ready.exists, lambda: os.kill(os.getpid(), number))
    script = "import signal, time, sys; signal.signal(int(sys.argv[1]), lambda *_: (time.sleep(1.5), sys.exit(9)))\n"
    script += "open(sys.argv[2], 'w')\nwhile True: time.sleep(1)"
    assert case.run(sys.executable, "-c", script, str(int(number)), str(ready)) == Ending(9)
    assert case.record.holder_identity == ""
    assert "the lease is lost: the command gets SIGTERM" not in case.told


def test_a_signal_that_nohup_ignores_ends_neither_the_runner_nor_the_command(tmp_path: Path) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        case, ready = Case(), tmp_path / "ready"
        once(ready.exists, lambda: os.kill(os.getpid(), signal.SIGHUP))
        assert case.shell(f"touch {ready}; kill -HUP $$; sleep 0.5; exit 3") == Ending(3)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def test_handlers_of_signals_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    Case().run("true")
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("ignores", [False, True], ids=["ends at SIGTERM", "ignores SIGTERM"])
def test_a_lease_that_cannot_be_renewed_ends_the_command_in_time(ignores: bool, tmp_path: Path) -> None:
    case, ready = Case(), tmp_path / "ready"
    once(ready.exists, lambda: setattr(case.lock, "broken", True))
    trap = "''" if ignores else f"'echo term > {tmp_path}/got; exit 4'"
    script = f"trap {trap} TERM; touch {ready}; while :; do sleep 0.05; done"
    ending = case.shell(script, SHORT, 0.4 if ignores else GRACE)
    ended = time.time()
    assert ending == Ending(137 if ignores else 4, lost=True)
    assert (tmp_path / "got").exists() != ignores
    # Nobody else can lead before that.
    assert ended < case.record.renew_time + SHORT.lease_duration_seconds
    assert case.told[-1] == ("the command is killed: its deadline has passed" if ignores else _LOST)
    assert case.record.holder_identity == "us"


_LOST = "the lease is lost: the command gets SIGTERM"


def test_a_lease_that_is_taken_away_ends_the_command_at_once() -> None:
    case = Case()

    def take() -> None:
        record = LeaderElectionRecord(holder_identity="them", lease_duration_seconds=60, renew_time=5.0)
        case.api.update(NAME, record, case.api.get(NAME).resource_version)

    once(lambda: bool(case.told), take)
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


class GuardedProcess:
    """A guard of ``sleep 100``, started as a runner starts it."""

    def __init__(self, *orders: str) -> None:
        given, self.orders = os.pipe()
        self._reports, reporting = os.pipe()
        self.order(*orders)
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-I", "-S", guard.__file__),
                *map(str, (given, reporting, time.CLOCK_MONOTONIC)),
                *("sleep", "100"),
            ],
            pass_fds=[given, reporting],
        )
        os.close(given)
        os.close(reporting)

    def order(self, *lines: str) -> None:
        """Give orders at once; their times begin now."""
        self.began = time.clock_gettime(time.CLOCK_MONOTONIC)
        parts = (line.partition(" ") for line in lines)
        texts = (f"until {self.began + float(seconds)}\n" if seconds else f"{what}\n" for what, _, seconds in parts)
        os.write(self.orders, "".join(texts).encode())

    def report(self) -> str:
        return os.read(self._reports, 100).decode()

    @property
    def took(self) -> float:
        return time.clock_gettime(time.CLOCK_MONOTONIC) - self.began


@pytest.mark.parametrize(
    ("orders", "least", "code"),
    [
        pytest.param(["until 0.6"], 0.6, 1, id="the time passes"),
        pytest.param(["until 0.3", "until 1.2"], 1.2, 1, id="the time was put off"),
        pytest.param(["end"], 0.0, 1, id="the program that started it is gone"),
        pytest.param(["done"], 0.0, 0, id="it is done"),
    ],
)
def test_guard(orders: Sequence[str], least: float, code: int) -> None:
    guarded = GuardedProcess("until 100")
    started = guarded.report()
    assert started.startswith("started ")
    if orders == ["end"]:
        os.close(guarded.orders)
    else:
        guarded.order(*orders)
    assert guarded.report() == "ended 137\n"
    assert least <= guarded.took < least + SOON
    assert not alive(int(started.split()[1]))
    if code and orders != ["end"]:
        guarded.order("done")
    assert guarded.process.wait(SOON) == code


def test_the_command_waits_until_it_is_guarded() -> None:
    """The command never runs if the orders end before the first time."""
    guarded = GuardedProcess()
    os.close(guarded.orders)
    assert (guarded.process.wait(SOON), guarded.report()) == (0, "")
