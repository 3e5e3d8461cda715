"""Cures for evictions that disruption budgets refuse: the changes with which the drain goes on, each tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kschedctl.common.wording import listed
from kschedctl.controllers.disruption import is_unready
from kschedctl.diagnosis.evictions import BlockedEviction, blocked_evictions
from kschedctl.objects.pod import Pod
from kschedctl.questions.analyses.drain import changes
from kschedctl.questions.analyses.drain.pending import after_the_drain, as_change, suggestions_during_drain
from kschedctl.questions.analyses.drain.run import DrainRun
from kschedctl.questions.analyses.drain.trials import DrainChange, Trials, cure, is_drained, newly_pending
from kschedctl.questions.analyses.pending_causes import PendingCauses
from kschedctl.questions.answers.cures import CureData
from kschedctl.trials.simulate.drain import DrainedNode, DrainOptions

#: The most suggestions of an answer.
MOST_CURES: Final = 5


def node_causes(run: DrainRun, node: DrainedNode) -> list[BlockedEviction]:
    """Return the reasons why pods of a node cannot be evicted."""
    causes = PendingCauses(run.attempts)
    return blocked_evictions(run.simulation.cluster, node.blocked, causes.of_pod)


def blocked_cures(
    trials: Trials, run: DrainRun, options: DrainOptions, first: tuple[str, ...] = ()
) -> Iterator[CureData]:
    """Yield the changes after which a drain is no longer blocked.

    Parameters
    ----------
    run : DrainRun
        The drain that is blocked.
    options : DrainOptions
        The options of that drain.
    first : tuple of str
        A summary and a command that come before the changes; empty for none.
    """
    yield from _BlockedCures(trials, run, options, first).search()


class _BlockedCures:
    """The search for changes after which a drain is no longer blocked; parameters are those of `blocked_cures`."""

    def __init__(self, trials: Trials, run: DrainRun, options: DrainOptions, first: tuple[str, ...]) -> None:
        self._trials = trials
        self._run = run
        self._end = run.simulation.cluster
        self._options = options
        self._first = first
        self._causes = PendingCauses(run.attempts)

    def search(self) -> Iterator[CureData]:
        """Yield the cures, the best first."""
        keys = [key for each in self._run.drained for key in each.blocked]
        blocked = blocked_evictions(self._end, keys, self._causes.of_pod)
        if len(blocked) == 1:
            yield from self._of_one(blocked[0])
            return
        firsts = [self._first_helpful(each) for each in blocked]
        helpful = [change for change in firsts if change is not None]
        if len(helpful) == len(blocked):
            yield from self._best([tuple(helpful)])
        for one in blocked:
            yield from _advice(one)

    def _of_one(self, blocked: BlockedEviction) -> Iterator[CureData]:
        cures = [*self._best([(change,) for change in self._changes(blocked)]), *_advice(blocked)]
        if not cures:
            found = (self._causes.decision(pod.key) for pod in blocked.pending)
            cures += [each for found_one in found if found_one for each in after_the_drain(self._trials, found_one)]
        yield from cures[:MOST_CURES]

    def _best(self, proposed: Sequence[tuple[DrainChange, ...]]) -> Iterator[CureData]:
        """Yield the changes after which no pod stays pending; else those with one node more, else the others."""
        drained = list(self._drained(proposed))
        clean = [(each, run) for each, run in drained if not newly_pending(run)]
        if not clean and proposed:
            node = changes.one_node_more(self._end, self._trials.left[0])
            more = self._drained([(node, *each) for each in proposed])
            clean = [(each, run) for each, run in more if not newly_pending(run)]
        for each, run in clean or drained:
            yield cure(each, run, self._first, self._run)

    def _drained(
        self, proposed: Sequence[tuple[DrainChange, ...]]
    ) -> Iterator[tuple[tuple[DrainChange, ...], DrainRun]]:
        """Yield the changes after which the drain finishes, each with its drain."""
        for each in proposed:
            run = self._trials.tried(self._end, each, self._options)
            if run is not None and is_drained(run):
                yield each, run

    def _first_helpful(self, blocked: BlockedEviction) -> DrainChange | None:
        """Return the first change after which these pods are no longer blocked; others may be."""
        keys = {pod.key for pod in blocked.pods}
        for candidate in self._changes(blocked):
            trial = self._trials.tried(self._end, (candidate,), self._options)
            if trial is not None and not any(key in each.blocked for each in trial.drained for key in keys):
                return candidate
        return None

    def _changes(self, blocked: BlockedEviction) -> Iterator[DrainChange]:
        if len(blocked.budgets) != 1:
            yield from changes.one_budget(self._end, blocked)
            return
        if blocked.never:
            yield from changes.scaled(self._trials.cluster, self._end, blocked)
            yield from changes.restart(self._trials, self._end, blocked)
        elif all(is_unready(pod) for pod in blocked.pods):
            yield changes.always_allow(blocked)
            return
        for pod in blocked.pending[:1]:
            decision = self._causes.decision(pod.key)
            if decision is not None:
                yield from map(as_change, suggestions_during_drain(self._trials, decision))
        if blocked.never:
            yield changes.one_may_go(self._end, blocked)


def _advice(blocked: BlockedEviction) -> Iterator[CureData]:
    """Yield the cures that cannot be tried: pods that have to become ready."""
    if blocked.unhealthy:
        names = listed([pod.key for pod in blocked.unhealthy], most=3)
        pod: Pod = blocked.unhealthy[0]
        yield CureData(
            f"repair {names}",
            "",
            (f"kubectl describe pod {pod.name} -n {pod.namespace}",),
            "the snapshot does not show why a container is not ready",
        )
