"""The loop of a watch: take the changes, decide for the pending pods, report the new answers."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic
from typing import Final

from kschedctl.common.wording import counted
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.watch.cache import FEW_CHANGES, Cache, LeftOut
from kschedctl.watch.feed import Feed
from kschedctl.watch.leadership import Leadership
from kschedctl.watch.pod_answers import PendingReport, PodAnswers, PodReport

# The standstills of a watch: times at which kinds cannot be watched, so that answers can be out of date.

#: A problem of a watch is reported if it lasts longer than this, in seconds: a server's restart is not reported.
PATIENCE: Final = 3.0


@dataclass(frozen=True, slots=True)
class Standstill:
    """The news about a standstill."""

    #: The time since the stalest kind was last up to date; at the end, the duration of the standstill.
    seconds: float
    #: The cause of the last failure; empty at the end.
    problem: str
    #: The number of kinds that cannot be watched.
    kinds: int
    #: The number of failed requests since the beginning.
    failures: int

    def __str__(self) -> str:
        if not self.problem:
            return (
                f"the API server answers again after {self.seconds:.0f} s ({counted(self.failures, 'failed request')})"
            )
        kinds = counted(self.kinds, "kind")
        return f"warning: the cluster state is {self.seconds:.0f} s old, {kinds} cannot be watched: {self.problem}"


class StandstillMonitor:
    """An observer of a feed, which reports the beginning of a standstill, each further cause once, and the end."""

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


# The status of a watch, for metrics and health checks.

#: After this many seconds without a turn the loop counts as stuck; no round takes as long.
_LONGEST_ROUND: Final = 120.0
#: The age in seconds beyond which the cache is too old for answers; an API server sends a bookmark about every minute.
MOST_AGE: Final = 180.0


@dataclass(slots=True)
class LoopStatus:
    """The status of a watch's loop."""

    #: The source of changes.
    feed: Feed
    #: The right to report.
    leadership: Leadership
    #: Returns the number of Events by outcome.
    written: Callable[[], Counter[str]] = Counter
    #: The size of the cache.
    nodes: int = 0
    pods: int = 0
    #: The number of pending pods, by the plugin that rejects most nodes.
    causes: Counter[str] = field(default_factory=Counter)
    #: The number of reported answers, by outcome.
    answers: Counter[str] = field(default_factory=Counter)
    #: The number of decisions made for the answers.
    decisions: int = 0
    #: The number of times that the cache was rebuilt.
    compactions: int = 0
    #: The number of rounds: of times that pods were decided for after changes.
    rounds: int = 0
    #: The total duration of rounds, in seconds.
    round_seconds: float = 0.0
    #: The time from the first change of a round to its answers, summed over rounds, in seconds.
    answered_after: float = 0.0
    #: The time of the loop's last turn, by ``time.monotonic``.
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


#: The seconds to wait for further changes after a first one, as each kind is watched separately.
SETTLE: Final = 0.1
#: The longest wait for a first change, in seconds.
_TICK: Final = 0.25


class Loop:
    """The loop that reports new answers for the pending pods of a running cluster.

    Args:
        cluster: The cluster as first listed, with the rules that apply.
        answers: The answers reported so far.
        leadership: The right to report. Without it, the cache is kept up to date, but no pod is decided for.
        say: Receives the new answers.
        tell: Receives other messages for users.
        led: Called when this replica begins to lead.
        stand_still: Receives the news about a standstill, after ``tell``.
        few_changes: The number of changes up to which the cache is not rebuilt.
        left_out: The invalid objects that the cluster was built without, as in `Cache`.
    """

    def __init__(
        self,
        cluster: LoadedCluster,
        feed: Feed,
        answers: PodAnswers,
        leadership: Leadership,
        *,
        say: Callable[[Sequence[PodReport]], None],
        tell: Callable[[str], None],
        led: Callable[[], None] = lambda: None,
        stand_still: Callable[[Standstill], None] = lambda news: None,
        few_changes: int = FEW_CHANGES,
        left_out: LeftOut | None = None,
    ) -> None:
        self._scheduling = cluster
        self._cache = Cache(cluster.cluster, few_changes, left_out)
        self._compactions = 0
        self._feed = feed
        self._answers = answers
        self._leadership = leadership
        self._say = say
        self._tell = tell
        self._begin_term = led
        self._stand_still = stand_still
        self._led = False
        #: The time of the first change after the last round; ``None`` if there is none.
        self._open_since: float | None = None
        self._monitor = StandstillMonitor(feed)
        self._told_left_out: set[str] = set()
        self.status = LoopStatus(feed, leadership)
        self._note_size()

    def run(self, ended: Callable[[], bool]) -> None:
        """Run until ``ended`` returns true."""
        while not ended():
            self.turn()

    def turn(self) -> None:
        """Wait up to 0.25 seconds for changes, and report the answers that they change."""
        changes = self._feed.take(_TICK, SETTLE)
        if changes and self._cache.apply(changes):
            if self._open_since is None:
                self._open_since = changes.since
            self._note_size()
        found = self._feed.unreadable | set(self._cache.left_out.values())
        for text in sorted(found - self._told_left_out):
            self._tell(f"warning: not in the answers: {text}")
        self._told_left_out = found
        news = self._monitor.news()
        if news is not None:
            self._tell(str(news))
            self._stand_still(news)
        leads = self.status.leading
        if leads and not self._led:
            # The answers that another replica has reported are not known.
            self._answers.forget()
            self._begin_term()
            self._open_since = monotonic()
        self._led = leads
        if leads and self._open_since is not None:
            self._decide(self._open_since)
            self._open_since = None
        self.status.turned_at = monotonic()

    def _decide(self, since: float) -> None:
        began = monotonic()
        cluster = self._cache.cluster.at(datetime.now(UTC))
        if self._cache.compactions != self._compactions:
            self._compactions = self._cache.compactions
            self._scheduling = self._scheduling.over(cluster)
        else:
            self._scheduling = self._scheduling.moved(cluster)
        found = self._answers.round(self._scheduling)
        status = self.status
        status.causes = found.causes
        status.decisions += found.decisions
        status.round_seconds += monotonic() - began
        if found.told and not self._leadership.left:
            # The new leader reports the answers; if it is this replica again, all of them.
            self._led = False
            return
        if found.told:
            self._say(found.told)
        status.rounds += 1
        status.answered_after += monotonic() - since
        status.answers.update(str(told.answer.outcome) for told in found.told if isinstance(told, PendingReport))

    def _note_size(self) -> None:
        status, cluster = self.status, self._cache.cluster
        status.nodes, status.pods, status.compactions = len(cluster.nodes), len(cluster.pods), self._cache.compactions
