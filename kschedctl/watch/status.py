"""The status of a watch, for metrics and health checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

from kschedctl.watch.feed import Feed
from kschedctl.watch.leadership import Leadership

#: After this many seconds without a turn the loop counts as stuck; no round takes as long.
_LONGEST_ROUND: Final = 120.0
#: The age in seconds beyond which the cache is too old for answers; an API server sends a bookmark about every minute.
MOST_AGE: Final = 180.0


@dataclass(slots=True)
class LoopStatus:
    """The status of a watch's loop.

    Attributes
    ----------
    feed : Feed
        The source of changes.
    leadership : Leadership
        The right to report.
    written : callable
        Returns the number of Events by outcome.
    nodes, pods : int
        The size of the cache.
    causes : Counter
        The number of pending pods, by the plugin that rejects most nodes.
    answers : Counter
        The number of reported answers, by outcome.
    decisions : int
        The number of decisions made for the answers.
    compactions : int
        The number of times that the cache was rebuilt.
    rounds : int
        The number of rounds: of times that pods were decided for after changes.
    round_seconds : float
        The total duration of rounds, in seconds.
    answered_after : float
        The time from the first change of a round to its answers, summed over rounds, in seconds.
    turned_at : float
        The time of the loop's last turn, by ``time.monotonic``.
    """

    feed: Feed
    leadership: Leadership
    written: Callable[[], Counter[str]] = Counter
    nodes: int = 0
    pods: int = 0
    causes: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    decisions: int = 0
    compactions: int = 0
    rounds: int = 0
    round_seconds: float = 0.0
    answered_after: float = 0.0
    turned_at: float = field(default_factory=monotonic)

    @property
    def leading(self) -> bool:
        """True if this replica is allowed to report."""
        return self.leadership.left > 0

    def health(self) -> dict[str, str]:
        """Return the problems that only a restart repairs, by check; empty texts for passed checks."""
        stuck = monotonic() - self.turned_at
        return {
            "loop": f"no round for {stuck:.0f} s" if stuck > _LONGEST_ROUND else "",
            "leaderElection": self.leadership.check(),
        }

    def readiness(self) -> dict[str, str]:
        """Return the problems that keep answers from being current, by check; empty texts for passed checks."""
        age = self.feed.age
        trouble = self.feed.trouble
        old = f"no response of the API server for {age:.0f} s" + (f"; {trouble.problem}" if trouble else "")
        return {**self.health(), "cache": old if age > MOST_AGE else ""}
