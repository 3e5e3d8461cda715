"""The loop of a watch: take the changes, decide for the pending pods, report the new answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from time import monotonic
from typing import Final

from kschedctl.questions.face import SchedulingCluster
from kschedctl.watch.cache import FEW_CHANGES, Cache, LeftOut
from kschedctl.watch.feed import Feed
from kschedctl.watch.leadership import Leadership
from kschedctl.watch.pod_answers import PendingReport, PodAnswers, PodReport
from kschedctl.watch.standstill import Standstill, StandstillMonitor
from kschedctl.watch.status import LoopStatus

#: The seconds to wait for further changes after a first one, as each kind is watched separately.
SETTLE: Final = 0.1
#: The longest wait for a first change, in seconds.
_TICK: Final = 0.25


class Loop:
    """The loop that reports new answers for the pending pods of a running cluster.

    Parameters
    ----------
    cluster : SchedulingCluster
        The cluster as first listed, with the rules that apply.
    feed : Feed
        The source of changes.
    answers : PodAnswers
        The answers reported so far.
    leadership : Leadership
        The right to report. Without it, the cache is kept up to date, but no pod is decided for.
    say : callable
        Receives the new answers.
    tell : callable
        Receives other messages for users.
    led : callable
        Called when this replica begins to lead.
    stand_still : callable
        Receives the news about a standstill, after ``tell``.
    few_changes : int
        The number of changes up to which the cache is not rebuilt.
    left_out : dict, optional
        The invalid objects that the cluster was built without, as in `Cache`.

    Attributes
    ----------
    status : LoopStatus
        The status of the loop.
    """

    def __init__(
        self,
        cluster: SchedulingCluster,
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
        self._tell_left_out()
        self._tell_standstill()
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

    def _tell_left_out(self) -> None:
        found = self._feed.unreadable | set(self._cache.left_out.values())
        for text in sorted(found - self._told_left_out):
            self._tell(f"warning: not in the answers: {text}")
        self._told_left_out = found

    def _tell_standstill(self) -> None:
        """Report that kinds cannot be watched, each cause once, and the end of that."""
        news = self._monitor.news()
        if news is not None:
            self._tell(str(news))
            self._stand_still(news)
