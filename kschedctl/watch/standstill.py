"""The standstills of a watch: times at which kinds cannot be watched, so that answers can be out of date."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import Final

from kschedctl.common.wording import counted
from kschedctl.watch.feed import Feed

#: A problem of a watch is reported if it lasts longer than this, in seconds: a server's restart is not reported.
PATIENCE: Final = 3.0


@dataclass(frozen=True, slots=True)
class Standstill:
    """The news about a standstill.

    Attributes
    ----------
    seconds : float
        The time since the stalest kind was last up to date; at the end, the duration of the standstill.
    problem : str
        The cause of the last failure; empty at the end.
    kinds : int
        The number of kinds that cannot be watched.
    failures : int
        The number of failed requests since the beginning.
    """

    seconds: float
    problem: str
    kinds: int
    failures: int

    def __str__(self) -> str:
        if not self.problem:
            return (
                f"the API server answers again after {self.seconds:.0f} s ({counted(self.failures, 'failed request')})"
            )
        kinds = counted(self.kinds, "kind")
        return f"warning: the cluster state is {self.seconds:.0f} s old, {kinds} cannot be watched: {self.problem}"


class StandstillMonitor:
    """An observer of a feed, which reports the beginning of a standstill, each further cause once, and the end.

    Parameters
    ----------
    feed : Feed
        The feed.
    """

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._since: dict[str, float] = {}
        self._causes: set[str] = set()
        self._began = 0.0
        self._failures_before = 0

    def news(self) -> Standstill | None:
        """Return what has changed since the last call; ``None`` if there is nothing to report."""
        now, reach = monotonic(), self._feed.reach
        failing = {kind: each for kind, each in reach.items() if each.problem}
        failures = sum(each.failures for each in reach.values())
        self._since = {kind: self._since.get(kind, now) for kind in failing}
        trouble = self._feed.trouble
        if trouble is None:
            causes, self._causes = self._causes, set()
            before, self._failures_before = self._failures_before, failures
            return Standstill(now - self._began, "", 0, failures - before) if causes else None
        lasting = any(now - since > PATIENCE for since in self._since.values())
        if not lasting or trouble.cause in self._causes:
            return None
        if not self._causes:
            self._began = min(each.heard_at for each in failing.values())
        self._causes.add(trouble.cause)
        return Standstill(self._feed.age, trouble.problem, len(failing), failures - self._failures_before)
