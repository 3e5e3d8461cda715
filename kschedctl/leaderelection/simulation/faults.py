"""Faults of a simulated election, and the scenario that contains them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Final

#: The targets of a fault besides the number of a candidate, which counts from 1.
LEADER: Final = "leader"
ALL: Final = "all"


@dataclass(frozen=True, slots=True)
class Crash:
    """A crash: a candidate ends at once, as with SIGKILL, and loses its state.

    Attributes
    ----------
    at, until : float
        The times of the crash and of the restart, in seconds; an infinite ``until`` means no restart.
    who : str
        The candidate: its number, ``leader`` or ``all``.
    """

    at: float
    until: float = inf
    who: str = LEADER


@dataclass(frozen=True, slots=True)
class Partition:
    """A network partition between a candidate and the API server; data in transit is delivered later, as by TCP.

    Attributes
    ----------
    at, until : float
        The beginning and the end, in seconds.
    who : str
        The candidate: its number, ``leader`` or ``all``.
    """

    at: float
    until: float = inf
    who: str = LEADER


@dataclass(frozen=True, slots=True)
class SlowApi:
    """A period of slow requests.

    Attributes
    ----------
    seconds : float
        The maximum duration of a request, in seconds, divided between request and response in any proportion.
    at, until : float
        The beginning and the end, in seconds.
    who : str
        The candidate with slow requests: its number, ``leader`` or ``all``.
    """

    seconds: float
    at: float = 0.0
    until: float = inf
    who: str = ALL


@dataclass(frozen=True, slots=True)
class Upgrade:
    """A rolling update of a Deployment: a new pod starts, then an old pod gets SIGTERM, one pod at a time.

    Attributes
    ----------
    at : float
        The beginning, in seconds.
    start_up : float
        The time from the start of a new pod until it contends for the lease, in seconds.
    """

    at: float
    start_up: float = 5.0


Fault = Crash | Partition | SlowApi | Upgrade


def as_option(fault: Fault) -> tuple[str, str]:
    """Return the option of ``leader simulate`` for a fault, and the option's value."""
    if isinstance(fault, Upgrade):
        return "--upgrade", _time(fault.at)
    window = _time(fault.at) + (f"-{_time(fault.until)}" if isfinite(fault.until) else "")
    if isinstance(fault, SlowApi):
        when = f"@{window}" if fault.at or isfinite(fault.until) else ""
        return "--slow-api", f"{_time(fault.seconds)}{when}={fault.who}"
    return "--crash" if isinstance(fault, Crash) else "--partition", f"{window}={fault.who}"


def _time(seconds: float) -> str:
    return f"{seconds:.9f}".rstrip("0").rstrip(".") + "s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """The parameters of a simulation besides the candidates' settings.

    Attributes
    ----------
    candidates : int
        The number of candidates.
    duration : float
        The simulated time, in seconds.
    faults : tuple of Fault
        The faults.
    clock_skew : float
        The maximum offset of a candidate's clock, in seconds, in either direction.
    clock_drift : float
        The maximum error of a clock's rate, as a fraction, in either direction.
    request : float
        The maximum duration of a request without a ``SlowApi`` fault, in seconds.
    restart_after : float
        The time until a candidate that ended because it lost the lease is restarted, in seconds.
    seed : int
        The seed of the random numbers. The same seed produces the same simulation.
    """

    candidates: int = 3
    duration: float = 120.0
    faults: tuple[Fault, ...] = field(default=())
    clock_skew: float = 0.0
    clock_drift: float = 0.0
    request: float = 0.02
    restart_after: float = 5.0
    seed: int = 0

    @property
    def longest_request(self) -> float:
        """The maximum duration of a successful request, including slow ones, in seconds."""
        return max([self.request, *(fault.seconds for fault in self.faults if isinstance(fault, SlowApi))])
