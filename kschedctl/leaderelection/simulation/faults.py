"""What goes wrong in a simulated election, and when."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Final

#: Of whom a fault is, besides the number of a candidate, from 1.
LEADER: Final = "leader"
ALL: Final = "all"


@dataclass(frozen=True, slots=True)
class Crash:
    """A candidate is gone at once, as with SIGKILL; its clock and what it knew are lost.

    Attributes
    ----------
    at, until : float
        When, and when it is started anew; never where that is infinite.
    who : str
        Which candidate.
    """

    at: float
    until: float = inf
    who: str = LEADER


@dataclass(frozen=True, slots=True)
class Partition:
    """A candidate and the API server do not reach each other; what was sent is delivered once they do, as TCP does.

    Attributes
    ----------
    at, until : float
        From when to when.
    who : str
        Which candidate.
    """

    at: float
    until: float = inf
    who: str = LEADER


@dataclass(frozen=True, slots=True)
class SlowApi:
    """Requests take long.

    Attributes
    ----------
    seconds : float
        How long at most; there and back take any part of it.
    at, until : float
        From when to when.
    who : str
        Whose requests.
    """

    seconds: float
    at: float = 0.0
    until: float = inf
    who: str = ALL


@dataclass(frozen=True, slots=True)
class Upgrade:
    """A Deployment replaces its pods: a new one is started, and once it is up an old one gets SIGTERM; and so on.

    Attributes
    ----------
    at : float
        When it begins.
    start_up : float
        How long a new pod takes until it takes part, in seconds.
    """

    at: float
    start_up: float = 5.0


Fault = Crash | Partition | SlowApi | Upgrade


def as_option(fault: Fault) -> tuple[str, str]:
    """Return the option of ``leader simulate`` that a fault is given with, and its value."""
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
    """What is simulated besides the candidates' settings.

    Attributes
    ----------
    candidates : int
        How many there are.
    duration : float
        For how long, in seconds.
    faults : tuple of Fault
        What goes wrong.
    clock_skew : float
        How much candidates' clocks show too much or too little at most, in seconds.
    clock_drift : float
        How much they run too fast or too slow at most, as a part of one.
    request : float
        How long a request takes at most while nothing is slow, in seconds.
    restart_after : float
        How long it takes until a candidate that has ended because it lost the lease is started anew, in seconds.
    seed : int
        What chance is made of: the same one has everything happen alike.
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
        """How long a request takes at most where it works, in seconds."""
        return max([self.request, *(fault.seconds for fault in self.faults if isinstance(fault, SlowApi))])
