"""A spread constraint counts a domain that can take no pod, and so keeps the minimum low everywhere.

A hard spread constraint compares each domain with the one that has the fewest matching pods. By default the domains of
tainted nodes count, such as the control plane. If no node of the domain with the fewest pods can take the pod, no other
domain may have more than maxSkew above it. Operators set ``nodeTaintsPolicy: Honor`` in the constraint, so that nodes
whose taints the pod does not tolerate do not count. They do not tolerate the taint of the control plane. If there are
fewer domains than minDomains, the minimum counts as 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.common.wording import counted, listed
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis
from kschedctl.diagnosis.new_nodes import nodes_like
from kschedctl.diagnosis.rules.obstacles import obstacles_on
from kschedctl.diagnosis.situation import SELECTION, Situation
from kschedctl.objects.well_known import HOSTNAME
from kschedctl.scheduler.framework.remedy import Remedy, Risk, add_operation
from kschedctl.scheduler.plugins.pod_topology_spread.filtering import DO_NOT_SCHEDULE, DomainCounts
from kschedctl.scheduler.plugins.pod_topology_spread.plugin import PodTopologySpread

_SPREAD: Final = "PodTopologySpread"
_TAINTED: Final = ("TaintToleration", "NodeUnschedulable")
_HONOR: Final = "Honor"
#: At most 3 domains are named.
_MOST: Final = 3


@dataclass(frozen=True, slots=True)
class _Blocked:
    """A constraint whose domains with the fewest pods can take no pod.

    Attributes
    ----------
    counts : DomainCounts
        The counts of the constraint.
    index : int
        The position of the constraint in the pod; -1 for a default constraint of the profile.
    domains : ndarray of int64, shape (n_blocked,)
        The codes of the domains.
    fewest : int
        The number of matching pods in each of them.
    nodes : ndarray of bool, shape (n_nodes,)
        The nodes in these domains that count.
    """

    counts: DomainCounts
    index: int
    domains: Int64Array
    fewest: int
    nodes: Mask


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the constraints whose minimum is kept low, by a domain that can take no pod or by minDomains."""
    if not situation.filtered:
        return
    usable, refused = _usable(situation), refused_by_spread(situation)
    # If a node that the spread allows could hold the pod, this is not the cause.
    if not refused.any() or (usable & ~refused).any():
        return
    for index, counts in hard_constraints(situation):
        yield from _too_few_domains(situation, index, counts, refused)
        blocked = _blocked(index, counts, usable)
        if blocked is not None:
            yield _diagnosis(situation, blocked, refused)


def _usable(situation: Situation) -> Mask:
    return ~situation.rejected_by(*(plugin for plugin in situation.rejected if plugin != _SPREAD))


def refused_by_spread(situation: Situation) -> Mask:
    """Return the nodes that nothing but the spread keeps from holding the pod: bool, shape (n_nodes,)."""
    return _usable(situation) & situation.rejected_by(_SPREAD)


def hard_constraints(situation: Situation) -> Iterator[tuple[int, DomainCounts]]:
    """Yield the hard constraints with their position in the pod; -1 for the defaults of the profile."""
    plugin = situation.decision.framework.plugin(_SPREAD)
    if not isinstance(plugin, PodTopologySpread):
        return
    constraints = situation.pod.spec.topology_spread_constraints
    places = [i for i, each in enumerate(constraints) if each.when_unsatisfiable == DO_NOT_SCHEDULE]
    for number, counts in enumerate(plugin.hard_domains(situation.pod)):
        yield places[number] if places else -1, counts


def _blocked(index: int, counts: DomainCounts, usable: Mask) -> _Blocked | None:
    """Return the domains with the fewest pods, if none of them has a usable node and other domains have one."""
    domains = np.flatnonzero(counts.exists)
    if not len(domains) or len(domains) < counts.constraint.min_domains:
        return None
    has_usable = np.zeros(len(counts.exists), dtype=np.bool_)
    codes = counts.column.codes[usable & counts.column.present]
    has_usable[codes] = True
    fewest = int(counts.counts[domains].min())
    low = domains[counts.counts[domains] == fewest]
    others = has_usable & counts.exists
    # A minimum that a usable domain shares would be the same without the blocked ones.
    if has_usable[low].any() or not others.any():
        return None
    nodes = counts.included & np.isin(counts.column.codes, low)
    return _Blocked(counts, index, low, fewest, nodes)


def _diagnosis(situation: Situation, blocked: _Blocked, refused: Mask) -> Diagnosis:
    constraint, values = blocked.counts.constraint, blocked.counts.column.values
    names = [values[code] for code in blocked.domains.tolist()]
    pods = counted(blocked.fewest, "matching pod")
    each = f"{pods} each" if len(names) > 1 else pods
    most = blocked.fewest + constraint.max_skew
    could = f"{counted(int(refused.sum()), 'other node')} could hold the pod"
    return Diagnosis(
        rule="blocked-domain",
        cause=f"the spread over {constraint.topology_key} counts {listed(names, most=_MOST)} ({each}), where no pod "
        f"can go: {_why(situation, blocked)}; {could}, but may have {most} per domain (maxSkew {constraint.max_skew})",
        remedies=tuple(_remedies(situation, blocked)),
    )


def _why(situation: Situation, blocked: _Blocked) -> str:
    """Return the reasons why no node of the blocked domains can take the pod."""
    excluded = blocked.nodes & situation.rejected_by(*SELECTION)
    phrases = []
    if excluded.any():
        names = situation.names(excluded)
        phrases.append(f"the pod's node selection excludes {listed(names, most=_MOST)} (nodeAffinityPolicy is Ignore)")
    rest = blocked.nodes & ~excluded
    if rest.any():
        phrases.append(obstacles_on(situation, rest))
    return "; ".join(phrases)


def _remedies(situation: Situation, blocked: _Blocked) -> Iterator[Remedy]:
    """Yield the inclusion policies that leave the blocked domains out."""
    if blocked.index < 0:
        return
    constraint = blocked.counts.constraint
    tainted = bool((blocked.nodes & situation.rejected_by(*_TAINTED)).any()) and not constraint.honor_taints
    excluded = bool((blocked.nodes & situation.rejected_by(*SELECTION)).any()) and not constraint.honor_affinity
    full = blocked.nodes & situation.rejected_by("NodeResourcesFit") & ~situation.rejected_by(*_TAINTED, *SELECTION)
    if full.any() and constraint.topology_key != HOSTNAME:
        # A new node of another domain does not help.
        yield nodes_like(situation.cluster, situation.names(full)[0], 1, within=-1)
    fields = [*(["nodeTaintsPolicy"] if tainted else []), *(["nodeAffinityPolicy"] if excluded else [])]
    if fields:
        at = ("spec", "topologySpreadConstraints", blocked.index)
        yield situation.context().pod_patch(
            f"{' and '.join(f'{field}: {_HONOR}' for field in fields)} in the spread constraint over "
            f"{constraint.topology_key}",
            *(add_operation(_HONOR, *at, field) for field in fields),
            risk=Risk.POD,
            family="inclusion policy",
        )


def _too_few_domains(situation: Situation, index: int, counts: DomainCounts, refused: Mask) -> Iterator[Diagnosis]:
    """Yield a constraint with fewer domains than minDomains, so that the minimum counts as 0."""
    wanted, number = counts.constraint.min_domains, int(counts.exists.sum())
    if index < 0 or not 0 < number < wanted:
        return
    key, skew = counts.constraint.topology_key, counts.constraint.max_skew
    yield Diagnosis(
        rule="too-few-domains",
        cause=f"the spread over {key} has minDomains {wanted}, and {counted(number, 'domain')} "
        f"{'counts' if number == 1 else 'count'}: until there are {wanted}, each may have {skew} matching "
        f"{'pod' if skew == 1 else 'pods'}, and {counted(int(refused.sum()), 'node')} would exceed that",
        remedies=(
            situation.context().pod_patch(
                f"minDomains {number} instead of {wanted} in the spread constraint over {key}",
                add_operation(number, "spec", "topologySpreadConstraints", index, "minDomains"),
                risk=Risk.REDUCED,
                family="minDomains",
                within=-1,
            ),
        ),
        advice=(
            Advice(
                summary=f"add a node in another {key}: {wanted} are wanted, and there "
                f"{'is' if number == 1 else 'are'} {number}",
                risk=Risk.CAPACITY,
                untried="the snapshot has no such node to copy",
            ),
        )
        if key != HOSTNAME
        else (),
    )
