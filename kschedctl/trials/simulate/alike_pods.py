"""Pods that are tried after one that is like them: their nodes follow from its search, without a scheduling cycle.

What a pod that was bound changes for pods like it is known (``scheduler.ranking``), and so is what other pods change
that come and go between two of them, as long as nothing else changes the cluster, and no plugin has anything to do when
such a pod is bound.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

import msgspec
import numpy as np

from kschedctl.common.arrays import Int64Array, Rows
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.scheduler.cycle.decision import Decision, DeferredDecision
from kschedctl.scheduler.cycle.ranking import SEARCH_POINTS, Ranking, effect_of_copies, likeness_of
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.cycle_state import NotModelled
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import PluginError
from kschedctl.scheduler.framework.runtime import Framework
from kschedctl.scheduler.framework.scoring import Scores, run_score
from kschedctl.scheduler.framework.status import Code

_POINTS: Final = (*SEARCH_POINTS, ExtensionPoint.PERMIT, ExtensionPoint.BIND, ExtensionPoint.POST_BIND)
#: The maximum number of kinds of pods of which the nodes are ranked; the least recent one is dropped first.
_MOST_KINDS: Final = 64
_encode = msgspec.msgpack.Encoder().encode
#: Results are computed for this many nodes together at first, and later for as many as pods have been bound.
_FIRST: Final = 8


class RankedDecision(DeferredDecision):
    """A decision for a pod that fits, of which the best nodes are known.

    Args:
        framework: The profile over the cluster before the pods like it were bound.
        not_modelled: Features that are not modelled and may change the answer.
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

    needs_cycles: True if each of them needs a scheduling cycle.

    Args:
        decision: The decision for the first pod, which ended without an error.
    """

    def __init__(self, decision: Decision) -> None:
        self.needs_cycles = False
        self._first = decision
        self._ranking: Ranking | None = None
        self._follows = False
        #: The cluster for which the ranking holds.
        self._cluster = decision.cluster
        self._after: Scheduler | None = None
        self._node = ""
        self._n_bound = 0
        self._ended = False

    def bound(self, node: str, after: Scheduler) -> None:
        """Record that the pod of the last search was bound to a node.

        Args:
            after: The scheduler over the cluster with the pod, and nothing else that is new but changed disruption
                budgets.
        """
        self._node, self._after = node, after
        self._n_bound += 1

    def search(self, scheduler: Scheduler, pod: Pod) -> RankedDecision | None:
        """Return the decision for the next pod; ``None`` if a scheduling cycle has to decide.

        Args:
            scheduler: The scheduler over the cluster as it is now.
            pod: A pod that is like the first one.
        """
        if self._ended or self.needs_cycles or self._after is None:
            return None
        ranking = self._after_copy() if scheduler is self._after else self._after_pods(scheduler)
        if ranking is None or not len(ranking.rows):
            self._ended = True
            return None
        self._ranking, self._cluster = ranking, scheduler.cluster
        first = self._first
        return RankedDecision(lambda: scheduler.decide(pod), pod, first.framework, ranking, first.not_modelled)

    def _after_copy(self) -> Ranking | None:
        """Return the ranking after the pod that was bound last, since when nothing has changed."""
        ranking = self._ranking or self._ranking_of_first(any_pods=False)
        row = self._first.framework.cluster.nodes.row[self._node]
        return ranking if ranking is not None and ranking.take(row, max(self._n_bound, _FIRST)) else None

    def _after_pods(self, scheduler: Scheduler) -> Ranking | None:
        """Return the ranking after all pods that have come and gone."""
        first = self._first
        before, after = self._cluster.versions, scheduler.cluster.versions
        if before.nodes != after.nodes or first.not_modelled:
            return None
        if before.kinds is not after.kinds:
            kinds = {*before.kinds, *after.kinds} - {PodDisruptionBudget}
            if any(before.kinds.get(kind) != after.kinds.get(kind) for kind in kinds):
                return None
        ranking = self._ranking
        if not self._follows:
            ranking, self._cluster = self._ranking_of_first(any_pods=True), first.cluster
            self._follows = True
        framework = scheduler.framework(first.pod.spec.scheduler_name)
        return ranking if ranking is not None and ranking.follow(framework, self._cluster) else None

    def _ranking_of_first(self, *, any_pods: bool) -> Ranking | None:
        first = self._first
        # A nominated pod leaves its nomination behind; without scores the first pod had no choice.
        if first.pod.status.nominated_node_name or first.scores is None:
            return None
        effect = effect_of_copies(first, _POINTS, any_pods=any_pods)
        names = () if effect is None else (*effect.own_node, *effect.related)
        plugins = [first.framework.plugin(name) for name in names]
        reads = [each for plugin in plugins for each in (plugin.reads, plugin.prepares_from) if each is not None]
        # The status of disruption budgets follows from the pods bound.
        if effect is not None and not any(PodDisruptionBudget in each.kinds for each in reads):
            with suppress(PluginError):
                return Ranking(first, effect)
        self.needs_cycles = not any_pods
        return None


class KindsOfPods:
    """The pods that were bound most recently, by their likeness."""

    def __init__(self) -> None:
        self._kinds: OrderedDict[bytes, AlikePods] = OrderedDict()

    def of(self, pod: Pod) -> AlikePods | None:
        """Return the pods like a pod; ``None`` if none was bound recently."""
        return self._kinds.get(_encode(likeness_of(pod)))

    def begin(self, decision: Decision) -> AlikePods:
        """Return the pods like one that fits, of which that is the first."""
        key = _encode(likeness_of(decision.pod))
        self._kinds[key] = alike = AlikePods(decision)
        self._kinds.move_to_end(key)
        if len(self._kinds) > _MOST_KINDS:
            self._kinds.popitem(last=False)
        return alike


class RejectedDecision(DeferredDecision):
    """A decision for a pod that fits nowhere, as one like it, in the same cluster.

    Args:
        not_modelled: Features that are not modelled and may change the answer.
    """

    best: Final = ()

    def __init__(self, decide: Callable[[], Decision], pod: Pod, not_modelled: tuple[NotModelled, ...]) -> None:
        super().__init__(decide)
        self.pod = pod
        self.not_modelled = not_modelled


#: The PostFilter plugins without an effect on a pod for which they find nothing to do.
_PREEMPTION: Final = frozenset(("DefaultPreemption", "DynamicResources"))


class Rejection(msgspec.Struct, frozen=True):
    """The failure of a pod, which pods like it share for as long as nothing changes."""

    #: The scheduler over the cluster in which the pod failed.
    scheduler: Scheduler
    likeness: Hashable
    decision: Decision
    #: The plugins that rejected the pod, and those of them that wait for an event.
    plugins: tuple[frozenset[str], frozenset[str]]

    @classmethod
    def of(cls, scheduler: Scheduler, decision: Decision, plugins: tuple[set[str], set[str]]) -> "Rejection | None":
        """Return the failure of a pod that evicts no other; ``None`` if pods like it may not share it."""
        pod = decision.pod
        own = decision.framework.profile.plugins.get(ExtensionPoint.POST_FILTER, ())
        if decision.error or pod.status.nominated_node_name or not _PREEMPTION.issuperset(own):
            return None
        # Plugins whose results depend on the pod's name, such as those of its own claims, state no reach.
        if effect_of_copies(decision, _POINTS) is None:
            return None
        return cls(scheduler, likeness_of(pod), decision, (frozenset(plugins[0]), frozenset(plugins[1])))

    def of_alike(self, scheduler: Scheduler, pod: Pod) -> RejectedDecision | None:
        """Return the decision for the next pod; ``None`` if a scheduling cycle has to decide."""
        if scheduler is not self.scheduler or likeness_of(pod) != self.likeness:
            return None
        return RejectedDecision(lambda: scheduler.decide(pod), pod, self.decision.not_modelled)


# Opportunistic batching (KEP-5598): consecutive pods with the same signature are placed by the scores of the first.
#
# Upstream: ``framework/runtime/batch.go``. The result differs from scoring each pod only if the cached scores differ
# from fresh ones: the remaining nodes keep their scores, although the node with the highest raw score may be gone.

GATE: Final = "OpportunisticBatching"
_LONGEST: Final = timedelta(milliseconds=500)


class _Kept(msgspec.Struct, frozen=True):
    """The cached nodes that remain after a pod was placed, with their scores."""

    signature: Hashable
    #: The remaining nodes and their total scores.
    rows: Int64Array
    total: Int64Array
    since: datetime


class OpportunisticBatch:
    """The opportunistic batch of one profile."""

    def __init__(self) -> None:
        self._kept: _Kept | None = None
        self._last_cycle = -1
        self._last_node = ""

    def hint(
        self, search: Decision | RankedDecision, signature: Hashable | None, cycle: int, now: datetime
    ) -> tuple[str, ...]:
        """Return the best cached nodes, one of which the pod is to take; empty if the pod must be scored.

        Args:
            search: The decision for the pod, which fits, without the batch.
            signature: The pod's signature; ``None`` if it cannot be batched.
            now: The time; scores are used for at most 500 milliseconds.
        """
        kept = self._kept
        if kept is None or not len(kept.rows) or cycle != self._last_cycle + 1:
            return ()
        framework = search.framework
        rescores = framework.release.queue.batch_rescores
        if signature is None or signature != kept.signature or now > kept.since + _LONGEST:
            return ()
        if rescores and search.pod.status.nominated_node_name:
            return ()
        row = framework.cluster.nodes.row.get(self._last_node)
        if row is None:
            return ()
        code = code_of(search, row)
        if code is Code.SUCCESS and rescores:
            # The cached nodes together with the node chosen last, all of them scored again.
            rows = np.insert(kept.rows, np.searchsorted(kept.rows, row), row)
            scores = _total_scores(search)
            if scores is not None and np.array_equal(rows, scores.rows):
                total = scores.total.copy()
            else:
                decision = search if isinstance(search, Decision) else search.decision
                total = run_score(decision.framework, decision.state, decision.pod, rows).total
            self._kept = kept = _Kept(kept.signature, rows, total, kept.since)
        elif not code.rejected:
            return ()
        best = kept.rows[kept.total == kept.total.max()]
        return tuple(sorted(framework.cluster.nodes.names[row] for row in best.tolist()))

    def take(self, framework: Framework, hinted: str) -> None:
        """Remove the node that is hinted to a pod from the cache."""
        if self._kept is not None:
            self._kept = _without_row(self._kept, framework.cluster.nodes.row[hinted])

    def store(
        self,
        search: Decision | RankedDecision,
        signature: Hashable | None,
        hinted: str,
        chosen: str,
        cycle: int,
        now: datetime,
    ) -> None:
        """Cache the result of a scheduling cycle.

        Args:
            hinted: The node that was hinted to the pod; empty if there was no hint.
        """
        self._last_cycle, self._last_node = cycle, chosen
        if hinted == chosen:
            return
        self._kept = None
        scores = _total_scores(search)
        alone = search.pod.status.nominated_node_name == chosen
        if signature is not None and scores is not None and len(scores.rows) > 1 and not alone:
            everything = _Kept(signature, scores.rows, scores.total, now)
            self._kept = _without_row(everything, search.framework.cluster.nodes.row[chosen])


def _total_scores(search: Decision | RankedDecision) -> Scores | RankedDecision | None:
    """Return the feasible nodes and their total scores; ``None`` if nothing was scored."""
    return search if isinstance(search, RankedDecision) else search.scores


def _without_row(kept: _Kept, row: int) -> _Kept:
    left = kept.rows != row
    return _Kept(kept.signature, kept.rows[left], kept.total[left], kept.since)
