"""Pods that are tried after one that is like them: their nodes follow from its search, without a scheduling cycle.

A pod that was bound changes nothing for pods like it but the results for its own node (``scheduler.ranking``). This
holds as long as nothing else changes the cluster, and no plugin has anything to do when such a pod is bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from kschedctl.common.arrays import Int64Array, Rows
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.scheduler.cycle.decision import Decision, DeferredDecision
from kschedctl.scheduler.cycle.ranking import SEARCH_POINTS, Ranking, likeness_of, reaches_of_copies
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.cycle_state import NotModelled
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.runtime import Framework
from kschedctl.scheduler.framework.status import Code

_POINTS: Final = (*SEARCH_POINTS, ExtensionPoint.PERMIT, ExtensionPoint.BIND, ExtensionPoint.POST_BIND)
#: Results are computed for this many nodes together at first, and later for as many as pods have been bound.
_FIRST: Final = 8


class RankedDecision(DeferredDecision):
    """A decision for a pod that fits, of which the best nodes are known.

    Parameters
    ----------
    decide : callable
        Makes the decision.
    pod : Pod
        The pod.
    framework : Framework
        The profile over the cluster before the pods like it were bound.
    ranking : Ranking
        The feasible nodes.
    not_modelled : tuple of NotModelled
        Features that are not modelled and may change the answer.

    Attributes
    ----------
    best : tuple of str
        The best nodes, by name.
    """

    def __init__(
        self,
        decide: Callable[[], Decision],
        pod: Pod,
        framework: Framework,
        ranking: Ranking,
        not_modelled: tuple[NotModelled, ...],
    ) -> None:
        super().__init__(decide)
        self.pod = pod
        self.framework = framework
        self.best = ranking.best
        self._ranking = ranking
        self.not_modelled = not_modelled

    @property
    def rows(self) -> Rows:
        """The feasible nodes, ascending; valid only until the pod is bound, and so is ``total``."""
        return self._ranking.rows

    @property
    def total(self) -> Int64Array:
        """The total scores of the feasible nodes."""
        return self._ranking.total


def code_of(search: Decision | RankedDecision, row: int) -> Code:
    """Return the status code of a node, for a pod that fits."""
    if isinstance(search, RankedDecision):
        return Code.SUCCESS if row in search.rows else Code.UNSCHEDULABLE
    assert search.statuses is not None
    return Code(int(search.statuses.code[row]))


class AlikePods:
    """A pod that was bound after a scheduling cycle, and the pods after it that are alike.

    Parameters
    ----------
    decision : Decision
        The decision for the first pod, which ended without an error.
    """

    def __init__(self, decision: Decision) -> None:
        self._first = decision
        self._likeness = likeness_of(decision.pod)
        self._ranking: Ranking | None = None
        self._after: Scheduler | None = None
        self._node = ""
        self._n_bound = 0
        self._ended = False
        self._is_related = False

    def bound(self, node: str, after: Scheduler) -> None:
        """Record that the pod of the last search was bound to a node.

        Parameters
        ----------
        after : Scheduler
            The scheduler over the cluster with the pod, and nothing else that is new but changed disruption budgets.
        """
        self._node, self._after = node, after
        self._n_bound += 1

    def search(self, scheduler: Scheduler, pod: Pod) -> RankedDecision | None:
        """Return the decision for the next pod; ``None`` if a scheduling cycle has to decide.

        Parameters
        ----------
        scheduler : Scheduler
            The scheduler over the cluster as it is now.
        """
        if self._ended or scheduler is not self._after or likeness_of(pod) != self._likeness:
            return None
        ranking = self._ranking or self._rank()
        row = self._first.framework.cluster.nodes.row[self._node]
        if ranking is None or not ranking.take(row, max(self._n_bound, _FIRST)) or not len(ranking.rows):
            self._ended = True
            return None
        self._ranking = ranking
        first = self._first
        return RankedDecision(lambda: scheduler.decide(pod), pod, first.framework, ranking, first.not_modelled)

    def excludes(self, pod: Pod) -> bool:
        """Report whether a pod is like these and needs a scheduling cycle, as plugins relate them to each other."""
        return self._is_related and likeness_of(pod) == self._likeness

    def _rank(self) -> Ranking | None:
        first = self._first
        # A nominated pod leaves its nomination behind; without scores the first pod had no choice.
        if first.pod.status.nominated_node_name or first.scores is None:
            return None
        reaches = reaches_of_copies(first.framework, first.pod, _POINTS)
        if reaches is None or _reads_budgets(first.framework, reaches):
            self._is_related = True
            return None
        return Ranking(first.framework, first, first.scores, reaches)


def _reads_budgets(framework: Framework, names: Iterable[str]) -> bool:
    """Report whether one of some plugins depends on disruption budgets, whose status follows from the pods bound."""
    plugins = [framework.plugin(name) for name in names]
    reads = [each for plugin in plugins for each in (plugin.reads, plugin.prepares_from) if each is not None]
    return any(PodDisruptionBudget in each.kinds for each in reads)
