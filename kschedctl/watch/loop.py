"""The loop: take what has changed, decide for the pods that wait, say what is new."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Final

from kschedctl.face import SchedulingCluster
from kschedctl.watch.answers import Answers, Told, Waits
from kschedctl.watch.cache import FEW_CHANGES, Cache
from kschedctl.watch.feed import Feed
from kschedctl.watch.leadership import Leadership
from kschedctl.watch.status import Status

#: How long is waited for more that belongs to a change: kinds are told of one by one.
SETTLE: Final = 0.1
_TICK: Final = 0.25
#: What is wrong with a watch is told where it lasts so long, in seconds: a server that is restarted is no news.
_PATIENCE: Final = 3.0


class Loop:
    """Says what is new of the pods that wait in a running cluster.

    Parameters
    ----------
    cluster : SchedulingCluster
        The cluster as it was listed at first, and whose rules apply.
    feed : Feed
        What tells of changes.
    answers : Answers
        What was said so far.
    leadership : Leadership
        Whether something may be said. Who may not keeps its cache up to date and decides for nobody.
    say : callable
        Is given what is new.
    tell : callable
        Is given what people may want to know besides.
    few_changes : int
        After fewer changes the cache is not built anew.

    Attributes
    ----------
    status : Status
        How it is doing.
    """

    def __init__(
        self,
        cluster: SchedulingCluster,
        feed: Feed,
        answers: Answers,
        leadership: Leadership,
        *,
        say: Callable[[Sequence[Told]], None],
        tell: Callable[[str], None],
        few_changes: int = FEW_CHANGES,
    ) -> None:
        self._scheduling = cluster
        self._cache = Cache(cluster.cluster, few_changes)
        self._compactions = 0
        self._feed = feed
        self._answers = answers
        self._leadership = leadership
        self._say = say
        self._tell = tell
        self._led = False
        #: When the first change came that nobody has decided after; ``None`` where there is none.
        self._open_since: float | None = None
        self._troubled: dict[str, float] = {}
        self._told_trouble: set[str] = set()
        self._told_left_out: set[str] = set()
        self.status = Status(feed, leadership)
        self._note_size()

    def run(self, ended: Callable[[], bool]) -> None:
        """Go on until somebody says so."""
        while not ended():
            self.turn()

    def turn(self) -> None:
        """Wait a while for changes, and say what comes of them."""
        changes = self._feed.take(_TICK, SETTLE)
        if changes and self._cache.apply(changes):
            if self._open_since is None:
                self._open_since = changes.since
            self._note_size()
        self._tell_left_out()
        self._tell_troubles()
        leads = self.status.leading
        if leads and not self._led:
            # Nothing of what another copy has said is known.
            self._answers.forget()
            self._open_since = monotonic()
        self._led = leads
        if leads and self._open_since is not None:
            self._decide(self._open_since)
            self._open_since = None
        self.status.turned_at = monotonic()

    def _decide(self, since: float) -> None:
        began = monotonic()
        if self._cache.compactions != self._compactions:
            self._compactions = self._cache.compactions
            self._scheduling = self._scheduling.over(self._cache.cluster)
        else:
            self._scheduling = self._scheduling.moved(self._cache.cluster)
        found = self._answers.round(self._scheduling)
        status = self.status
        status.causes = found.causes
        status.decisions += found.decisions
        status.round_seconds += monotonic() - began
        if found.told and not self._leadership.left:
            # Whoever leads by now says it; where that is us again, all of it.
            self._led = False
            return
        if found.told:
            self._say(found.told)
        status.rounds += 1
        status.answered_after += monotonic() - since
        status.answers.update(str(told.answer.outcome) for told in found.told if isinstance(told, Waits))

    def _note_size(self) -> None:
        status, cluster = self.status, self._cache.cluster
        status.nodes, status.pods, status.compactions = len(cluster.nodes), len(cluster.pods), self._cache.compactions

    def _tell_left_out(self) -> None:
        found = set(self._cache.left_out.values())
        for text in sorted(found - self._told_left_out):
            self._tell(f"warning: answers are without {text}")
        self._told_left_out = found

    def _tell_troubles(self) -> None:
        """Tell once what keeps a kind from being watched, and once that nothing does any more."""
        now, reach = monotonic(), self._feed.reach
        problems = {kind: each.problem for kind, each in reach.items() if each.problem}
        for kind in problems:
            self._troubled.setdefault(kind, now)
        for kind in [kind for kind in self._troubled if kind not in problems]:
            del self._troubled[kind]
        lasting = {kind for kind, since in self._troubled.items() if now - since > _PATIENCE}
        if lasting and not self._told_trouble:
            first = min(lasting)
            self._tell(f"warning: answers are of {self._feed.age:.0f} s ago: {problems[first]}")
            self._told_trouble = lasting
        elif self._told_trouble and not problems:
            self._tell("the cluster is heard of again")
            self._told_trouble = set()
