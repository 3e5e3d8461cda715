"""Elections on a real API server: kschedctl's candidates and kube-schedulers contend for one Lease."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, Final

import pytest

from kschedctl.common.clock import RealClock
from kschedctl.leaderelection.bounds import Conditions, bounds
from kschedctl.leaderelection.elector import Callbacks, LeaderElector
from kschedctl.leaderelection.locks import ConflictError, LeaseLock
from kschedctl.leaderelection.settings import Actor, ElectionSettings, Steps, T
from kschedctl.sources.live.api_server import ObjectClient
from kschedctl.sources.live.kubeconfig import LiveContext
from tests.live.cable import Cable
from tests.live.control_plane import ControlPlane

pytestmark = pytest.mark.live

#: Short, so that tests are; a renewal per second, as records tell no smaller times apart.
TIMES: Final = ElectionSettings(lease_duration=4.0, renew_deadline=2.0, retry_period=1.0)
#: The extra time for a machine under load, in seconds.
SLACK: Final = 1.5
FLAGS: Final = (
    "--leader-elect-lease-duration=4s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=1s",
)
RUN_TIMES: Final = ("--lease-duration", "4s", "--renew-deadline", "1.5s", "--retry-period", "500ms")
ENTRY: Final = "import sys; sys.argv[0] = 'kschedctl'; from kschedctl.cli.main import run; run()"
#: A command that writes when it begins and ends.
WORK: Final = """
import os, signal, sys, time
def note(what):
    with open(sys.argv[1], "a") as file:
        file.write(f"{what} {os.getpid()} {time.time()}\\n")
def end(*_):
    note("end")
    os._exit(5)
signal.signal(signal.SIGTERM, end if len(sys.argv) < 3 else signal.SIG_IGN)
note("begin")
while True:
    time.sleep(60)
"""


def wait_for(what: Callable[[], Any], name: str, seconds: float = 30.0) -> Any:
    """Wait until a function returns a true value, and return the value."""
    until = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < until, f"waited in vain for {name}"
        time.sleep(0.02)
    return found


class History:
    """The states of a Lease, polled continuously."""

    def __init__(self, plane: ControlPlane, name: str) -> None:
        self._client = ObjectClient(LiveContext(kubeconfig=str(plane.kubeconfig)))
        self._lock = LeaseLock(self._client, "kube-system", name, "nobody", RealClock())
        self.states: list[tuple[float, str, int, float, float]] = []
        self._ended = False
        self._thread = Thread(target=self._read, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._ended = True
        self._thread.join()

    @property
    def holder(self) -> str:
        return self.states[-1][1] if self.states else ""

    def holder_but(self, before: str) -> str:
        """Return the leader, or an empty text if the leader is still ``before``."""
        return self.holder if self.holder != before else ""

    @property
    def transitions(self) -> int:
        return self.states[-1][2]

    def last_renewal(self, holder: str) -> float:
        return max(renewed for _, name, _, _, renewed in self.states if name == holder)

    def acquired(self, holder: str) -> float:
        return max(acquired for _, name, _, acquired, _ in self.states if name == holder)

    def _read(self) -> None:
        while not self._ended:
            with suppress(Exception):
                found = answer(self._lock.get(time.time() + 5))
                state = found.holder_identity, found.leader_transitions, found.acquire_time, found.renew_time
                if not self.states or self.states[-1][1:] != state:
                    self.states.append((time.time(), *state))
            time.sleep(0.02)


def answer(steps: Steps[T]) -> T:
    """Return the result of steps that do not wait."""
    try:
        next(steps)
    except StopIteration as ended:
        found: T = ended.value
        return found
    raise AssertionError("it waits")


class Run:
    """A process of ``kschedctl leader run``."""

    def __init__(
        self,
        kubeconfig: Path,
        lease: str,
        identity: str,
        folder: Path,
        *more: str,
        options: tuple[str, ...] = RUN_TIMES,
    ) -> None:
        self.identity = identity
        self.notes = folder / f"{lease}.txt"
        words = ["leader", "run", "--lease", f"kube-system/{lease}", "--identity", identity, *options]
        words += ["--grace-period", "500ms", "--kubeconfig", str(kubeconfig), "--"]
        self._log = folder / f"{identity}.log"
        with open(self._log, "wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", ENTRY, *words, sys.executable, "-c", WORK, str(self.notes), *more],
                stdout=log,
                stderr=log,
            )

    def waits(self) -> bool:
        """Report whether the candidate takes part in the election."""
        return b"waiting" in self._log.read_bytes()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def notes(path: Path) -> list[tuple[str, int, float]]:
    """Return the events that commands wrote: event, process ID and time."""
    if not path.exists():
        return []
    return [(what, int(pid), float(at)) for what, pid, at in (line.split() for line in path.read_text().splitlines())]


def alive(pid: int) -> bool:
    """Report whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def logged(plane: ControlPlane, name: str, text: str) -> float | None:
    """Return the time at which a kube-scheduler first logged a text, in seconds since the Unix epoch."""
    for line in plane.log(name).splitlines():
        found = re.match(r"[IWE](\d{2})(\d{2}) (\d{2}:\d{2}:\d{2}\.\d{6})", line)
        if text in line and found is not None:
            year = datetime.now(UTC).year
            local = datetime.fromisoformat(f"{year}-{found[1]}-{found[2]}T{found[3]}").astimezone()
            return local.timestamp()
    return None


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[list[Run]]:
    started: list[Run] = []
    yield started
    for run in started:
        run.process.send_signal(signal.SIGCONT)
        run.kill()


@pytest.fixture
def contenders(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    names = ("contender-1", "contender-2")
    yield control_plane
    control_plane.stop(*names)


def test_whoever_is_killed_the_next_takes_over_in_time(
    contenders: ControlPlane, tmp_path: Path, runs: list[Run]
) -> None:
    """Two kube-schedulers and kschedctl contend; the leader is killed with SIGKILL twice, so that each leads once."""
    lease = "contended"
    flags = (*FLAGS, f"--leader-elect-resource-name={lease}")
    history = History(contenders, lease)
    options = ("--lease-duration", "4s", "--renew-deadline", "1.4s", "--retry-period", "1s")
    runs.append(Run(contenders.kubeconfig, lease, "ours", tmp_path, options=options))
    wait_for(lambda: history.holder == "ours", "us to lead")
    contenders.start_contender("contender-1", *flags)
    contenders.start_contender("contender-2", *flags)
    for name in ("contender-1", "contender-2"):
        wait_for(partial(logged, contenders, name, "Attempting to acquire leader lease"), f"{name} to wait")
    (_, pid, _), *_ = wait_for(lambda: notes(runs[0].notes), "the command to run")
    promised = bounds(TIMES, Conditions(drift=0.0, request=0.5))
    led = ["ours"]
    for count in (1, 2):
        before = history.holder
        # The leader is well into its term.
        time.sleep(1.5)
        if before == "ours":
            runs[0].kill()
        else:
            contenders.stop(led[-1])
        now = wait_for(partial(history.holder_but, before), "the next leader")
        gone_for = history.acquired(now) - history.last_renewal(before)
        assert promised.earliest - SLACK <= gone_for <= promised.latest + SLACK
        assert history.transitions == count
        assert not alive(pid)
        (name,) = [
            name
            for name in ("contender-1", "contender-2")
            if name not in led and logged(contenders, name, "Successfully acquired lease")
        ]
        led.append(name)
        acquired = logged(contenders, name, "Successfully acquired lease")
        assert acquired is not None
        assert acquired >= history.last_renewal(before) + promised.earliest - SLACK
    history.end()
    assert sorted(led) == ["contender-1", "contender-2", "ours"]


def test_we_take_over_from_a_kube_scheduler(contenders: ControlPlane, tmp_path: Path, runs: list[Run]) -> None:
    lease = "taken-over"
    history = History(contenders, lease)
    contenders.start_contender("contender-1", *FLAGS, f"--leader-elect-resource-name={lease}")
    first = wait_for(lambda: history.holder, "kube-scheduler to lead")
    runs.append(Run(contenders.kubeconfig, lease, "ours", tmp_path))
    time.sleep(3)
    assert notes(runs[0].notes) == []
    contenders.stop("contender-1")
    wait_for(lambda: history.holder == "ours", "us to lead")
    (_, _, began), *_ = wait_for(lambda: notes(runs[0].notes), "the command to run")
    history.end()
    # Its renewals are a second apart, ours would be looked for twice a second.
    assert 4 - 0.1 <= began - history.last_renewal(first) <= 4 + 4 * 0.55 * 2 + SLACK
    assert history.transitions == 1


def test_an_upgrade_hands_over_without_waiting_for_the_end_of_the_lease(
    control_plane: ControlPlane, tmp_path: Path, runs: list[Run]
) -> None:
    """Two replicas are replaced one after the other: a new one starts, then an old one gets SIGTERM."""
    lease = "upgraded"
    runs += [Run(control_plane.kubeconfig, lease, f"old-{n}", tmp_path) for n in (1, 2)]
    path = runs[0].notes
    wait_for(lambda: notes(path), "somebody to lead")
    for n in (1, 2):
        runs.append(Run(control_plane.kubeconfig, lease, f"new-{n}", tmp_path))
        wait_for(runs[-1].waits, "the new one to wait")
        time.sleep(1)
        runs[n - 1].process.terminate()
        # The command's own exit code, or that of a signal where it never ran.
        assert runs[n - 1].process.wait(10) in (5, 128 + signal.SIGTERM)
    told = wait_for(
        lambda: notes(path)[-1][0] == "begin" and len(notes(path)) >= 3 and notes(path), "a new one to lead"
    )
    for (ended, _, at), (began, _, then) in zip(told[1::2], told[2::2], strict=False):
        assert (ended, began) == ("end", "begin")
        assert 0 <= then - at < 4


@pytest.mark.parametrize("stubborn", [False, True], ids=["ends at SIGTERM", "ignores SIGTERM"])
def test_the_command_is_dead_before_another_can_lead(
    control_plane: ControlPlane, tmp_path: Path, runs: list[Run], stubborn: bool
) -> None:
    """The API server is unreachable for longer than the deadline; the other candidate reaches it all the time."""
    lease = f"cut-off-{stubborn}".lower()
    cable = Cable(control_plane.kubeconfig, tmp_path / "over-cable")
    try:
        runs.append(Run(tmp_path / "over-cable", lease, "cut-off", tmp_path, *(["x"] if stubborn else [])))
        (_, pid, _), *_ = wait_for(lambda: notes(runs[0].notes), "the command to run")
        runs.append(Run(control_plane.kubeconfig, lease, "rival", tmp_path))
        time.sleep(2)
        cable.cut()
        wait_for(lambda: not alive(pid), "the command to end")
        died = time.time()
        assert runs[0].process.wait(20) == 3
        told = wait_for(lambda: [one for one in notes(runs[1].notes) if one[1] != pid], "the rival to lead")
    finally:
        cable.close()
    assert died < told[0][2]
    log = (tmp_path / "cut-off.log").read_text()
    assert "the lease is lost: the command gets SIGTERM" in log
    assert ("the command is killed: its deadline has passed" in log) == stubborn
    assert f"error: the command was stopped, as Lease kube-system/{lease} was lost" in log


def test_a_short_cut_is_borne(control_plane: ControlPlane, tmp_path: Path, runs: list[Run]) -> None:
    cable = Cable(control_plane.kubeconfig, tmp_path / "over-cable")
    options = ("--lease-duration", "8s", "--renew-deadline", "5s", "--retry-period", "500ms")
    try:
        runs.append(Run(tmp_path / "over-cable", "borne", "cut-off", tmp_path, options=options))
        (_, pid, _), *_ = wait_for(lambda: notes(runs[0].notes), "the command to run")
        cable.cut()
        time.sleep(3)
        cable.mend()
        time.sleep(6)
        assert alive(pid)
        assert runs[0].process.poll() is None
    finally:
        cable.close()


@pytest.mark.parametrize("fate", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_whatever_becomes_of_us_the_command_is_dead_before_another_can_lead(
    control_plane: ControlPlane, tmp_path: Path, runs: list[Run], fate: signal.Signals
) -> None:
    lease = f"fate-{fate.name.lower()}"
    runs.append(Run(control_plane.kubeconfig, lease, "first", tmp_path))
    (_, pid, _), *_ = wait_for(lambda: notes(runs[0].notes), "the command to run")
    runs.append(Run(control_plane.kubeconfig, lease, "rival", tmp_path))
    time.sleep(2)
    runs[0].process.send_signal(fate)
    wait_for(lambda: not alive(pid), "the command to end")
    died = time.time()
    told = wait_for(lambda: [n for n in notes(runs[1].notes) if n[1] != pid], "the rival to lead")
    assert died < told[0][2]
    if fate is signal.SIGSTOP:
        runs[0].process.send_signal(signal.SIGCONT)
        assert runs[0].process.wait(20) == 3


def test_a_child_in_a_session_of_its_own_is_dead_before_the_lease_is_released(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    lease, file = "daemon", tmp_path / "pid"
    history = History(control_plane, lease)
    words = [
        "leader",
        "run",
        "--lease",
        f"kube-system/{lease}",
        "--identity",
        "us",
        *RUN_TIMES,
        "--grace-period",
        "500ms",
    ]
    script = f"setsid sh -c 'echo $$ > {file}; exec sleep 100' & exec sleep 100"
    command = [*words, "--kubeconfig", str(control_plane.kubeconfig), "--", "sh", "-c", script]
    with subprocess.Popen([sys.executable, "-c", ENTRY, *command]) as run:
        pid = int(wait_for(lambda: file.exists() and file.read_text(), "the child to run"))
        wait_for(lambda: history.holder == "us", "us to lead")
        run.terminate()
        wait_for(lambda: history.holder == "", "the release of the lease")
        assert not alive(pid)
        assert run.wait(10) == 128 + signal.SIGTERM
    history.end()


def test_an_update_conflict_is_overcome(control_plane: ControlPlane) -> None:
    """A client labels the Lease between two renewals: the leader reads it and continues."""
    clock = RealClock()
    client = ObjectClient(LiveContext(kubeconfig=str(control_plane.kubeconfig)))
    lock = LeaseLock(client, "kube-system", "labelled", "ours", clock)
    elector = LeaderElector(lock, TIMES, clock)
    assert answer(elector.try_acquire_or_renew())
    acquired = answer(lock.get(clock.now() + 5)).acquire_time
    control_plane.kubectl("label", "lease", "labelled", "-n", "kube-system", "a=b")
    stale = LeaseLock(client, "kube-system", "labelled", "other", clock)
    record = answer(stale.get(clock.now() + 5))
    assert answer(elector.try_acquire_or_renew())
    with pytest.raises(ConflictError, match="the object has been modified"):
        answer(stale.update(record, clock.now() + 5))
    kept = answer(lock.get(clock.now() + 5))
    assert (kept.acquire_time, kept.leader_transitions, kept.holder_identity) == (acquired, 0, "ours")
    (lease,) = [one for one in control_plane.get("leases") if one["metadata"]["name"] == "labelled"]
    assert lease["metadata"]["labels"] == {"a": "b"}


def test_what_the_simulation_says_of_kube_scheduler_is_so(contenders: ControlPlane, tmp_path: Path) -> None:
    """A disconnected kube-scheduler runs until its release times out, when the lease may be another candidate's."""
    lease, times = "overlapping", ElectionSettings(lease_duration=4.0, renew_deadline=3.0, retry_period=1.0)
    cable = Cable(contenders.kubeconfig, tmp_path / "over-cable")
    flags = ("--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=1s")
    clock = RealClock()
    client = ObjectClient(LiveContext(kubeconfig=str(contenders.kubeconfig)))
    # One that looks often sees the end of the lease soon.
    eager = ElectionSettings(lease_duration=4.0, renew_deadline=3.0, retry_period=0.05)
    led: list[float] = []
    elector = LeaderElector(
        LeaseLock(client, "kube-system", lease, "eager", clock),
        eager,
        clock,
        callbacks=Callbacks(started_leading=lambda: led.append(time.time())),
    )
    try:
        contenders.start_contender(
            "contender-1", *flags, f"--leader-elect-resource-name={lease}", kubeconfig=tmp_path / "over-cable"
        )
        wait_for(lambda: logged(contenders, "contender-1", "Successfully acquired lease"), "kube-scheduler to lead")
        actor = Actor(clock, elector.run())
        thread = Thread(target=clock.run, daemon=True)
        thread.start()
        time.sleep(2)
        cable.cut()
        wait_for(lambda: led, "the rival to lead")
        lost = wait_for(lambda: logged(contenders, "contender-1", "Leaderelection lost"), "kube-scheduler to end")
        clock.schedule(clock.now(), actor.cancel)
        thread.join(10)
    finally:
        cable.close()
    promised = bounds(times, Conditions())
    assert not promised.exclusive
    assert 0 < lost - led[0] <= promised.overlap + SLACK


def test_the_overview_of_a_running_cluster(control_plane: ControlPlane, tmp_path: Path, runs: list[Run]) -> None:
    """``leader`` reads the elector's record, and does not request the Leases of nodes."""
    runs.append(Run(control_plane.kubeconfig, "shown", "somebody_1", tmp_path))
    wait_for(lambda: notes(runs[0].notes), "the command to run")
    command = [sys.executable, "-c", ENTRY, "leader", "--kubeconfig", str(control_plane.kubeconfig), "-o", "name"]
    environment = {key: value for key, value in os.environ.items() if key != "KSCHEDCTL_SNAPSHOT"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert "kube-system/shown somebody_1" in done.stdout.splitlines(), done.stderr
