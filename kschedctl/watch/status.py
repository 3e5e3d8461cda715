"""How a watch is doing, as metrics and health checks tell it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

from kschedctl.watch.feed import Feed
from kschedctl.watch.leadership import Leadership

#: Longer than any answer takes: then the loop hangs.
_LONGEST_ROUND: Final = 120.0
#: Older than that the cache is no basis for answers; an API server tells about every minute that nothing has happened.
MOST_AGE: Final = 180.0


@dataclass(slots=True)
class Status:
    """What the loop has done so far.

    Attributes
    ----------
    feed : Feed
        What tells it of changes.
    leadership : Leadership
        Whether it may say something.
    written : callable
        How many Events were written, and what became of others.
    nodes, pods : int
        The size of the cache.
    causes : Counter
        How many pods wait, by the plugin that most nodes stop at.
    answers : Counter
        How many answers were told, by what comes of the pod.
    decisions : int
        How many decisions were made for that.
    compactions : int
        How often the cache was built anew.
    rounds : int
        How often pods were decided for after changes.
    round_seconds : float
        How long that took in all.
    answered_after : float
        How long after changes their answers were told, summed over rounds, in seconds.
    turned_at : float
        When the loop turned last, as ``time.monotonic`` tells it.
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
        """Whether it may say something."""
        return self.leadership.left > 0

    def health(self) -> dict[str, str]:
        """What only a new start would repair, by check; empty texts where nothing is wrong."""
        stuck = monotonic() - self.turned_at
        return {
            "loop": f"has not turned for {stuck:.0f} s" if stuck > _LONGEST_ROUND else "",
            "leaderElection": self.leadership.check(),
        }

    def readiness(self) -> dict[str, str]:
        """What keeps answers from being those of now, by check; empty texts where nothing does."""
        age = self.feed.age
        problems = {reach.problem for reach in self.feed.reach.values() if reach.problem}
        old = f"nothing was heard for {age:.0f} s" + "".join(f"; {problem}" for problem in sorted(problems)[:1])
        return {**self.health(), "cache": old if age > MOST_AGE else ""}
