"""Verification of a placement: an order in which the real filters accept every pod, or the reason for a refusal."""

from collections import Counter
from dataclasses import dataclass
from typing import Final, TypeAlias

from msgspec.structs import replace

from kschedctl.cluster.placed_pods import on_node, pod_at
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.cycle import bind
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.events import changed_objects
from kschedctl.scheduler.framework.runtime import run_pre_bind
from kschedctl.scheduler.framework.status import Code
from kschedctl.scheduler.plugins.gang_scheduling import GangScheduling
from kschedctl.trials.optimum.kinds import Placement
from kschedctl.trials.optimum.question import PlacementQuestion, as_pending
from kschedctl.trials.simulate.world import running
from kschedctl.trials.whatif.pods import move_pods

#: The number of pods that the search for an order tries before it gives up.
_MOST_TRIES: Final = 3_000
#: The number of pods above which not all orders are tried.
_MOST_IN_SEARCH: Final = 60
#: Filters whose result depends on the order in which other pods are placed.
OF_OTHERS: Final = frozenset({"InterPodAffinity", "PodTopologySpread"})
#: Filters that depend on the pods of the node alone, and accept a subset of any pods that they accept.
OF_THE_NODE: Final = frozenset({"NodeResourcesFit", "NodePorts", "NodeVolumeLimits"})

#: A pod of a kind on a node row.
_Item: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class PlacementStep:
    """A pod that is placed."""

    #: The pending pod.
    pod: Pod
    #: The pod's kind.
    kind: int
    #: The node that the pod is bound to.
    node: str
    #: True if the pod replaces an evicted one.
    again: bool = False


@dataclass(frozen=True, slots=True)
class Proof:
    """A placement that the real filters accept."""

    #: The placed pods, in an order in which every pod is accepted.
    steps: tuple[PlacementStep, ...]
    #: The pods evicted before, each with its node.
    left: tuple[Pod, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why no order is accepted."""

    #: A rejected pod's kind, and the node it was to be placed on.
    kind: int
    row: int
    #: The filters that reject the pod.
    plugins: frozenset[str]
    #: True if all orders were tried.
    certain: bool


def prove(question: PlacementQuestion, placement: Placement) -> Proof | Refusal:
    """Verify a placement with the real filters."""
    cluster, start = question.start.cluster, question.start
    broken = next((gang for gang in question.gangs if not gang.is_kept(placement, question.occupants)), None)
    if broken is not None:
        item = next(key for key, n in placement.placed.items() if n and key[0] in broken.kinds)
        return Refusal(*item, frozenset({GangScheduling.name}), certain=True)
    evicted = [
        (index, question.occupants[o].kind)
        for o, n in sorted(placement.leaving.items())
        for index in sorted(question.occupants[o].pods)[:n]
    ]
    left = [(pod_at(cluster, index), kind) for index, kind in evicted]
    if evicted:
        start = start.moved(move_pods(cluster, removed=[index for index, _ in evicted]).cluster)
    search = _Search(question, left)
    result = search.place(start, Counter({key: n for key, n in placement.placed.items() if n}))
    if isinstance(result, Refusal):
        return result
    return Proof(tuple(search.steps), tuple(pod for pod, _ in left))


def place(scheduler: Scheduler, pod: Pod, node: str) -> Scheduler | frozenset[str]:
    """Place a pod on a node, through filters and binding; return the plugins that reject the pod, if any do."""
    # No pod is preempted: the evicted pods have already left.
    decision = scheduler.decide(replace(pod, spec=replace(pod.spec, preemption_policy="Never")))
    row = scheduler.cluster.nodes.row[node]
    statuses = decision.statuses
    searched = statuses is not None and bool((decision.searched == row).any())
    if decision.error or statuses is None or not searched or statuses.code[row]:
        pre_filter = decision.pre_filter.status.plugin if decision.pre_filter is not None else ""
        rejecting = {name for name, _ in statuses.reasons(row)} if statuses is not None and searched else set()
        return frozenset((rejecting | {pre_filter}) - {""})
    binding = bind(decision, node)
    if binding.status.code not in (Code.SUCCESS, Code.WAIT):
        return frozenset({binding.status.plugin})
    if binding.status.code is Code.WAIT:
        # It waits for the other members of its group, and is bound then.
        run_pre_bind(decision.framework, decision.state, decision.pod, node)
    cluster = scheduler.cluster.with_pods(added=[running(on_node(pod, node))])
    changes = list(decision.state.effects)
    return scheduler.moved(cluster.with_added(changed_objects(changes)) if changes else cluster)


def related_kinds(question: PlacementQuestion, kind: int) -> set[int]:
    """Return the kinds that affinity and spread constraints relate to a kind, directly or through other kinds."""

    def depends(k: int, r: int) -> bool:
        filters, other = question.kinds[k].filters, question.kinds[r].class_id
        terms = (*filters.attractions, *filters.exclusions)
        return any(counts.per_class[other] for counts in terms) or any(d.moved[other] for d in filters.spread)

    reach, todo = {kind}, [kind]
    while todo:
        k = todo.pop()
        new = [r for r in range(len(question.kinds)) if r not in reach and (depends(k, r) or depends(r, k))]
        reach.update(new)
        todo += new
    return reach


class _Search:
    """The search for an order.

    steps: The pods placed so far.
    """

    def __init__(self, question: PlacementQuestion, left: list[tuple[Pod, int]]) -> None:
        self.question = question
        self.steps: list[PlacementStep] = []
        self._tries = 0
        self._failed: set[frozenset[tuple[_Item, int]]] = set()
        self._rejecting: set[str] = set()
        # Pods per kind, the last one placed first: pending pods before those that replace evicted ones.
        again = [(as_pending(question.start, pod), kind) for pod, kind in reversed(left)]
        self._unplaced = [
            [*((pod, True) for pod, of in again if of == k), *((p, False) for p in kind.pods[::-1])]
            for k, kind in enumerate(question.kinds)
        ]

    def place(self, scheduler: Scheduler, items: Counter[_Item]) -> Scheduler | Refusal:
        """Place all pods in a likely order; if a pod is rejected, try all orders of the pods that relate to it."""

        # Kinds with affinity come last, and the pods of a kind alternating between domains.
        def rank(turn: int, item: _Item) -> tuple[int, int, int, int, _Item]:
            k, row = item
            filters = self.question.kinds[k].filters
            depth = 0
            if filters.affinity is not None and filters.attractions:
                depth = 1 if filters.affinity.matches_itself else 2
            return depth, k, turn, sum(int(d.counts[d.column.codes[row]]) for d in filters.spread), item

        order = [place[-1] for place in sorted(rank(turn, item) for item, n in items.items() for turn in range(n))]
        current, left = self._in_turn(scheduler, order)
        if not left:
            return current
        stuck = left[0]
        rejected = self._try(current, stuck)
        self._rejecting |= rejected if not isinstance(rejected, Scheduler) else frozenset()
        self._undo(0)
        # Unrelated kinds come later, in any order.
        every = set(range(len(self.question.kinds)))
        near = related_kinds(self.question, stuck[0]) if self._rejecting <= OF_OTHERS else every
        own = Counter({item: n for item, n in items.items() if item[0] in near})
        found = self._any_order(scheduler, own) if own.total() <= _MOST_IN_SEARCH else None
        if found is not None:
            after, left = self._in_turn(found, [item for item in order if item[0] not in near])
            if not left:
                return after
            stuck = left[0]
        certain = own.total() <= _MOST_IN_SEARCH and self._tries < _MOST_TRIES and found is None
        return Refusal(*stuck, frozenset(self._rejecting), certain)

    def _in_turn(self, scheduler: Scheduler, order: list[_Item]) -> tuple[Scheduler, list[_Item]]:
        """Place pods in an order, and retry rejected ones as long as some are accepted; return the rejected rest."""
        left = list(order)
        while left:
            later: list[_Item] = []
            for item in left:
                placed = None if item in later else self._try(scheduler, item)
                if isinstance(placed, Scheduler):
                    scheduler = placed
                else:
                    later.append(item)
            if len(later) == len(left):
                break
            left = later
        return scheduler, left

    def _any_order(self, scheduler: Scheduler, items: Counter[_Item]) -> Scheduler | None:
        """Try all orders, depth first; each set of remaining items is tried once, because only that set matters."""
        if not items:
            return scheduler
        state = frozenset(items.items())
        if state in self._failed or self._tries >= _MOST_TRIES:
            return None
        for item in sorted(items):
            self._tries += 1
            placed = self._try(scheduler, item)
            if not isinstance(placed, Scheduler):
                self._rejecting |= placed
                continue
            found = self._any_order(placed, items - Counter([item]))
            if found is not None:
                return found
            self._undo(len(self.steps) - 1)
        self._failed.add(state)
        return None

    def _try(self, scheduler: Scheduler, item: _Item) -> Scheduler | frozenset[str]:
        k, row = item
        pod, again = self._unplaced[k][-1]
        node = scheduler.cluster.nodes.names[row]
        key = pod.namespace, pod.name
        if again and key not in scheduler.cluster.pods.index:
            scheduler = scheduler.moved(move_pods(scheduler.cluster, added=[pod]).cluster)
        pods = scheduler.cluster.pods
        placed = place(scheduler, pods.pod(pods.index[key]), node)
        if isinstance(placed, Scheduler):
            self._unplaced[k].pop()
            self.steps.append(PlacementStep(pod, k, node, again))
        return placed

    def _undo(self, n_steps: int) -> None:
        """Undo all steps but the first `n_steps`."""
        while len(self.steps) > n_steps:
            step = self.steps.pop()
            self._unplaced[step.kind].append((step.pod, step.again))
