"""A placement put through the real filters, pod by pod, in an order that works, if there is one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from kschedctl.api.pod import Pod
from kschedctl.framework.effects import changed_objects
from kschedctl.framework.status import Code
from kschedctl.optimum.goals import Placement
from kschedctl.optimum.question import Question
from kschedctl.scheduler.binding import bind
from kschedctl.scheduler.scheduler import Scheduler
from kschedctl.simulate.pods import on_node, pod_at
from kschedctl.simulate.world import running
from kschedctl.whatif.pods import move_pods
from kschedctl.workloads.replacement import fresh_pod

#: So many pods are tried in the search for an order before it is given up.
_MOST_TRIES: Final = 3_000
#: Of more pods than this not all orders are tried.
_MOST_IN_SEARCH: Final = 60
#: The filters by which it matters in which order others are placed.
OF_OTHERS: Final = frozenset({"InterPodAffinity", "PodTopologySpread"})
#: Those that go by the pods of the node alone, and never turn away fewer pods for more of them.
OF_THE_NODE: Final = frozenset({"NodeResourcesFit", "NodePorts", "NodeVolumeLimits"})


@dataclass(frozen=True, slots=True)
class Step:
    """A pod that is placed.

    Attributes
    ----------
    pod : Pod
        The pod as it waits.
    kind : int
        Its kind.
    node : str
        Where it goes.
    again : bool
        Whether it comes instead of one that left.
    """

    pod: Pod
    kind: int
    node: str
    again: bool = False


@dataclass(frozen=True, slots=True)
class Proof:
    """A placement that the real filters let pass.

    Attributes
    ----------
    steps : tuple of Step
        In an order in which every pod passes.
    left : tuple of Pod
        Who left before, with the node.
    after : Scheduler
        Over the cluster in the end.
    """

    steps: tuple[Step, ...]
    left: tuple[Pod, ...]
    after: Scheduler


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why no order works.

    Attributes
    ----------
    kind, row : int
        A pod that finds no place, and where it was to go.
    plugins : frozenset of str
        Which filters turn it away.
    certain : bool
        Whether all orders were tried.
    """

    kind: int
    row: int
    plugins: frozenset[str]
    certain: bool


@dataclass(slots=True)
class _Search:
    """The search for an order."""

    question: Question
    tries: int = 0
    failed: set[frozenset[tuple[tuple[int, int], int]]] = field(default_factory=set)
    refusing: set[str] = field(default_factory=set)
    refusal: Refusal | None = None


def prove(question: Question, placement: Placement, first: list[tuple[int, int]] | None = None) -> Proof | Refusal:
    """Put a placement through the real filters.

    Parameters
    ----------
    first : list of (int, int)
        Kinds and node rows in the order in which they are tried first; by default as kinds suggest.
    """
    start, left = _after_leaving(question, placement)
    search = _Search(question)
    names = _names(question, placement, left)
    items = Counter({key: n for key, n in placement.placed.items() if n})
    steps: list[Step] = []
    after = _place(search, start, items, names, steps, first or _suggested(question, items))
    if after is not None:
        return Proof(tuple(steps), tuple(left), after)
    assert search.refusal is not None
    return search.refusal


def put(scheduler: Scheduler, pod: Pod, node: str) -> Scheduler | frozenset[str]:
    """Place a pod on a node, through filters and binding; the plugins that turn it away, where some do."""
    # Nobody is evicted for it: who leaves has left.
    asked = replace(pod, spec=replace(pod.spec, preemption_policy="Never"))
    decision = scheduler.explain(asked)
    row = scheduler.cluster.nodes.row[node]
    statuses = decision.statuses
    searched = statuses is not None and bool((decision.searched == row).any())
    if decision.error or statuses is None or not searched or statuses.code[row]:
        pre_filter = decision.pre_filter.status.plugin if decision.pre_filter is not None else ""
        said = {name for name, _ in statuses.reasons(row)} if statuses is not None and searched else set()
        return frozenset((said | {pre_filter}) - {""})
    binding = bind(decision, node)
    if binding.status.code not in (Code.SUCCESS, Code.WAIT):
        return frozenset({binding.status.plugin})
    cluster = scheduler.cluster.with_pods(added=[running(on_node(pod, node))])
    changes = list(decision.state.effects)
    if changes:
        cluster = cluster.with_added(changed_objects(changes))
    return scheduler.moved(cluster)


def _after_leaving(question: Question, placement: Placement) -> tuple[Scheduler, list[Pod]]:
    cluster = question.start.cluster
    indices = [index for o, n in sorted(placement.leaving.items()) for index in sorted(question.occupants[o].pods)[:n]]
    left = [pod_at(cluster, index) for index in indices]
    return question.start.moved(move_pods(cluster, removed=indices).cluster) if indices else question.start, left


def _names(question: Question, placement: Placement, left: list[Pod]) -> dict[int, list[tuple[Pod, bool]]]:
    """The pods of each kind that are placed, the last first: those that wait before those that come again."""
    again: dict[int, list[Pod]] = {}
    position = 0
    for o, n in sorted(placement.leaving.items()):
        again.setdefault(question.occupants[o].kind, []).extend(left[position : position + n])
        position += n
    out = {}
    for k, kind in enumerate(question.kinds):
        fresh = [fresh_pod(replace(pod, spec=replace(pod.spec, node_name=""))) for pod in again.get(k, ())]
        out[k] = [*((pod, False) for pod in kind.pods), *((pod, True) for pod in fresh)][::-1]
    return out


def _suggested(question: Question, items: Counter[tuple[int, int]]) -> list[tuple[int, int]]:
    """An order that is likely to work: those that others need before them, and constraints by turns of domains."""

    def depth(k: int) -> tuple[int, int]:
        affinity = question.kinds[k].sifted.affinity
        wants = affinity.affinity if affinity is not None else ()
        return int(bool(wants)) + int(bool(wants) and affinity is not None and not affinity.matches_itself), k

    turns: list[tuple[int, tuple[int, int], tuple[int, int]]] = []
    for (k, row), n in items.items():
        turns += [(turn, depth(k), (k, row)) for turn in range(n)]
    by_kind = sorted(turns, key=lambda each: (each[1], each[0], _even(question, each[2]), each[2]))
    return [item for _, _, item in by_kind]


def _even(question: Question, item: tuple[int, int]) -> int:
    """How many pods are in the domain already that the kind is spread over."""
    k, row = item
    return sum(int(d.counts[d.column.codes[row]]) for d in question.kinds[k].sifted.spread)


def _place(
    search: _Search,
    scheduler: Scheduler,
    items: Counter[tuple[int, int]],
    names: dict[int, list[tuple[Pod, bool]]],
    steps: list[Step],
    order: list[tuple[int, int]],
) -> Scheduler | None:
    """Place all: in the order given, those that find no place yet after the others; where that ends, otherwise."""
    current, left = _in_turn(search, scheduler, names, steps, order)
    if not left:
        return current
    stuck = left[0]
    said = _try(search, current, stuck, names, steps)
    search.refusing |= said if not isinstance(said, Scheduler) else frozenset()
    _undo(names, steps, 0)
    # Those that the kind has nothing to do with come after it, in any order.
    near = related(search.question, stuck[0]) if search.refusing <= OF_OTHERS else set(range(len(names)))
    own = Counter({item: n for item, n in items.items() if item[0] in near})
    found = _searched(search, scheduler, own, names, steps) if own.total() <= _MOST_IN_SEARCH else None
    if found is not None:
        rest = [item for item in order if item[0] not in near]
        found, left = _in_turn(search, found, names, steps, rest)
        if not left:
            return found
        stuck = left[0]
    certain = own.total() <= _MOST_IN_SEARCH and search.tries < _MOST_TRIES and found is None
    search.refusal = Refusal(*stuck, frozenset(search.refusing), certain)
    return None


def _in_turn(
    search: _Search,
    scheduler: Scheduler,
    names: dict[int, list[tuple[Pod, bool]]],
    steps: list[Step],
    order: list[tuple[int, int]],
) -> tuple[Scheduler, list[tuple[int, int]]]:
    """Place pods in an order, and again those that found no place, for as long as some do; who is left."""
    left = list(order)
    while left:
        later: list[tuple[int, int]] = []
        for item in left:
            if item in later:
                later.append(item)
                continue
            said = _try(search, scheduler, item, names, steps)
            if isinstance(said, Scheduler):
                scheduler = said
            else:
                later.append(item)
        if len(later) == len(left):
            break
        left = later
    return scheduler, left


def related(question: Question, kind: int) -> set[int]:
    """The kinds that affinity and spread constraints bring together with one, over any number of others."""
    reach, todo = {kind}, [kind]
    while todo:
        k = todo.pop()
        for r, other in enumerate(question.kinds):
            if r not in reach and (
                _counts(question, k, other.class_id) or _counts(question, r, question.kinds[k].class_id)
            ):
                reach.add(r)
                todo.append(r)
    return reach


def _counts(question: Question, k: int, class_id: int) -> bool:
    """Whether pods of a class count for where a kind may go."""
    sifted = question.kinds[k].sifted
    affinity = sifted.affinity
    terms = (*affinity.affinity, *affinity.anti_affinity, *affinity.existing) if affinity is not None else ()
    return any(counts.per_class[class_id] for counts in terms) or any(d.moved[class_id] for d in sifted.spread)


def _searched(
    search: _Search,
    scheduler: Scheduler,
    items: Counter[tuple[int, int]],
    names: dict[int, list[tuple[Pod, bool]]],
    steps: list[Step],
) -> Scheduler | None:
    """Try all orders, depth first; what is left is what matters, so that no such state is tried twice."""
    if not items:
        return scheduler
    state = frozenset(items.items())
    if state in search.failed or search.tries >= _MOST_TRIES:
        return None
    for item in sorted(items):
        search.tries += 1
        said = _try(search, scheduler, item, names, steps)
        if not isinstance(said, Scheduler):
            search.refusing |= said
            continue
        rest = items.copy()
        rest[item] -= 1
        found = _searched(search, said, +rest, names, steps)
        if found is not None:
            return found
        _undo(names, steps, len(steps) - 1)
    search.failed.add(state)
    return None


def _try(
    search: _Search,
    scheduler: Scheduler,
    item: tuple[int, int],
    names: dict[int, list[tuple[Pod, bool]]],
    steps: list[Step],
) -> Scheduler | frozenset[str]:
    k, row = item
    pod, again = names[k][-1]
    node = scheduler.cluster.nodes.names[row]
    there = (pod.namespace, pod.name) in scheduler.cluster.pods.index
    before = scheduler if there or not again else scheduler.moved(move_pods(scheduler.cluster, added=[pod]).cluster)
    said = put(before, _as_there(before, pod), node)
    if isinstance(said, Scheduler):
        names[k].pop()
        steps.append(Step(pod, k, node, again))
    return said


def _as_there(scheduler: Scheduler, pod: Pod) -> Pod:
    pods = scheduler.cluster.pods
    return pods.pod(pods.index[pod.namespace, pod.name])


def _undo(names: dict[int, list[tuple[Pod, bool]]], steps: list[Step], down_to: int) -> None:
    for step in _popped(steps, down_to):
        names[step.kind].append((step.pod, step.again))


def _popped(steps: list[Step], down_to: int) -> Iterator[Step]:
    while len(steps) > down_to:
        yield steps.pop()
