"""Victims by chance: pods of equal priority and start time are reprieved in the order of kube-scheduler's cache.

kube-scheduler sorts the pods of a node by priority and start time (``MoreImportantPod``). Kubelets write start times in
whole seconds, so that pods often tie. The order of tied pods is that of the scheduler's cache, which a snapshot does
not show. Every order of tied pods that differ to the scheduler is tried here; equal pods are interchangeable.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby, islice, product
from math import comb, factorial, prod
from random import Random
from typing import Final, TypeAlias

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import PodsInWorlds
from kschedctl.common.arrays import Rows
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import Release
from kschedctl.objects.releases.rules import VictimTies
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.interface import PluginsRunner
from kschedctl.scheduler.preemption.budgets import Budget, violated_budgets
from kschedctl.scheduler.preemption.dry_run_preemption import DryRun, lower_priority_pods

#: The number of orders of tied pods that are tried on a node; of more orders, as many random ones.
_MOST_ORDERS: Final = 120
#: The number of sets up to which they are counted.
MOST_COUNTED: Final = 1000
#: The number of sets that are returned in full.
_MOST_SETS: Final = 10

#: Pods that tie and are equal to the scheduler, by ascending index.
_Alike: TypeAlias = tuple[int, ...]
#: The number of victims in each group of equal pods, by the number of the group.
_Outcome: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PossibleVictims:
    """The sets of victims that the order of tied pods decides between."""

    #: The number of possible sets, at most 1000.
    n_sets: int
    #: True if all orders were tried, so that there are no more sets.
    complete: bool
    #: The first 10 sets, each as indices into ``Cluster.pods``.
    sets: tuple[tuple[int, ...], ...]
    #: The pods in any of the sets, and those in all of them.
    possible: frozenset[int]
    certain: frozenset[int]


def possible_victims(framework: PluginsRunner, state: CycleState, pod: Pod, run: DryRun, row: int) -> PossibleVictims:
    """Return the sets of victims on a candidate's node over the orders of tied pods.

    Args:
        framework: The pod's profile.
        state: The state after PreFilter.
        run: The dry run; victims that an extender has returned are certain.
        row: The row of the candidate's node.
    """
    cluster = framework.cluster
    world = int(np.flatnonzero(run.victims.rows == row)[0])
    known = tuple(run.victims.pods[list(run.victims.entries(world))].tolist())
    rows = np.array([row], dtype=np.int64)
    ties = _ties(cluster, run.release, run.budgets, lower_priority_pods(cluster, run.release, pod, rows).pods.tolist())
    alike = tuple(group for tie in ties for group in tie)
    if run.counted is not None or all(len(tie) == len(tie[0]) == 1 for tie in ties):
        return PossibleVictims(1, True, (known,), frozenset(known), frozenset(known))
    number = {index: i for i, group in enumerate(alike) for index in group}
    orders = prod(factorial(sum(map(len, tie))) // prod(factorial(len(group)) for group in tie) for tie in ties)
    outcomes = {_victims_per_group(known, number, len(alike)): None}
    reprieves = _Reprieves(framework, state, pod, rows, run.budgets, number)
    for order in _orders(ties) if orders <= _MOST_ORDERS else _random_orders(ties):
        outcomes.setdefault(_victims_per_group(reprieves.victims(order), number, len(alike)))
    n_sets = sum(prod(comb(len(group), n) for group, n in zip(alike, counts, strict=True)) for counts in outcomes)
    sets = (chosen for counts in outcomes for chosen in _sets(alike, counts))
    both = [(group, [counts[i] for counts in outcomes]) for i, group in enumerate(alike)]
    return PossibleVictims(
        min(n_sets, MOST_COUNTED),
        orders <= _MOST_ORDERS,
        tuple(islice(sets, _MOST_SETS)),
        frozenset(index for group, counts in both if max(counts) for index in group),
        frozenset(index for group, counts in both if min(counts) == len(group) for index in group),
    )


class _Reprieves:
    """The victims on a node for one order of its pods after another, as ``select_victims_on_node`` finds them.

    Whether the preemptor fits with some pods put back follows from their number by group, as equal pods are
    interchangeable; so each such state is filtered once.

    Args:
        rows: The row of the node, where the preemptor fits without pods of lower priority.
        number: The number of the group of each pod of lower priority.
    """

    def __init__(
        self,
        framework: PluginsRunner,
        state: CycleState,
        pod: Pod,
        rows: Rows,
        budgets: tuple[Budget, ...],
        number: Mapping[int, int],
    ) -> None:
        self._framework, self._state, self._pod = framework, state, pod
        self._rows, self._budgets = rows, budgets
        # The numbers by group as the digits of one integer: the value of a pod is that of the digit of its group.
        self._digit = {index: (len(number) + 1) ** group for index, group in number.items()}
        self._fits: dict[int, bool] = {}
        self._emptied = framework.overlay_with_nominated_pods(pod, rows)
        every = np.array(list(number), dtype=np.int64)
        self._emptied.remove(np.zeros_like(every), every)

    def victims(self, order: Sequence[int]) -> list[int]:
        """Return the victims if the pods of lower priority come in an order."""
        lower = PodsInWorlds(self._rows, np.zeros(len(order), dtype=np.int64), np.array(order, dtype=np.int64))
        up_to_first = self._framework.handle.release.counts_up_to_violated_budget
        violated = violated_budgets(self._framework.cluster, self._budgets, lower, up_to_first=up_to_first)
        violating = np.logical_or.reduce(violated)
        counts = 0
        spared: list[int] = []
        victims: list[int] = []
        for index in (*lower.pods[violating].tolist(), *lower.pods[~violating].tolist()):
            after = counts + self._digit[index]
            fits = self._fits.get(after)
            if fits is None:
                fits = self._fits[after] = self._fits_with([*spared, index])
            if fits:
                spared.append(index)
                counts = after
            else:
                victims.append(index)
        return victims

    def _fits_with(self, spared: Sequence[int]) -> bool:
        pods = np.array(spared, dtype=np.int64)
        self._emptied.add(np.zeros_like(pods), pods)
        fits = self._framework.passing_with_nominated_pods(self._state, self._pod, self._emptied)
        self._emptied.remove(np.zeros_like(pods), pods)
        return bool(fits[0])


def _ties(cluster: Cluster, release: Release, budgets: Sequence[Budget], lower: Sequence[int]) -> list[list[_Alike]]:
    """Return the ties in order of importance, each as groups of pods that the scheduler treats alike."""
    pods = cluster.pods

    def kind(index: int) -> tuple[int, ...]:
        at = np.array([index], dtype=np.int64)
        return int(pods.class_id[index]), *(int(budget.covers(cluster, at)[0]) for budget in budgets)

    def rank(index: int) -> tuple[int, int, str]:
        uid = pods.records[index].metadata.uid if release.victim_ties is VictimTies.BY_UID else ""
        return int(pods.priority[index]), int(pods.start_time[index]), uid

    ties = []
    for _, members in groupby(lower, key=rank):
        groups: dict[tuple[int, ...], list[int]] = {}
        for index in members:
            groups.setdefault(kind(index), []).append(index)
        ties.append([tuple(group) for group in groups.values()])
    return ties


def _orders(ties: Sequence[Sequence[_Alike]]) -> Iterator[list[int]]:
    """Yield every order of pods that differs to the scheduler; none if there is only the known one."""
    if all(len(tie) == 1 for tie in ties):
        return
    for parts in product(*(list(_arrangements(tie)) for tie in ties)):
        yield [index for part in parts for index in part]


def _arrangements(tie: Sequence[_Alike]) -> Iterator[tuple[int, ...]]:
    if not any(tie):
        yield ()
    for i, group in enumerate(tie):
        if group:
            yield from ((group[0], *later) for later in _arrangements([*tie[:i], group[1:], *tie[i + 1 :]]))


def _random_orders(ties: Sequence[Sequence[_Alike]]) -> Iterator[list[int]]:
    source = Random(0)
    for _ in range(_MOST_ORDERS):
        order = []
        for tie in ties:
            members = [index for group in tie for index in group]
            source.shuffle(members)
            order += members
        yield order


def _victims_per_group(victims: Sequence[int], number: dict[int, int], n_groups: int) -> _Outcome:
    counts = Counter(number[index] for index in victims)
    return tuple(counts[i] for i in range(n_groups))


def _sets(alike: Sequence[_Alike], counts: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the sets with a number of pods of each group, one by one: there may be many millions."""
    if not alike:
        yield ()
        return
    for chosen in combinations(alike[0], counts[0]):
        yield from ((*chosen, *others) for others in _sets(alike[1:], counts[1:]))
