"""Members of a pod group for which too little is free once the others have their nodes.

The group's own members use most of the nodes then, so who else uses them is not the point: what counts is how much more
is needed. Operators add that many nodes, free as much on the nodes that lack least, or let the group start with fewer
members.

A group with a topology constraint fits nowhere if no node has the label that the constraint names: usually the key is
mistyped, or the nodes were created without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kschedctl.common.wording import listed, similar
from kschedctl.diagnosis.diagnosis import Diagnosis
from kschedctl.diagnosis.situation import Situation, all_rows
from kschedctl.objects.resources import amount_of
from kschedctl.scheduler.cycle.pod_group_decision import PodGroupDecision, group_of

_FIT = "NodeResourcesFit"


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield a missing topology label, or the smallest shortage if shortages are all that keeps a member from a node."""
    group = group_of(situation.decision)
    if group is not None and group.group.topology_key:
        yield from _no_domain(situation, group.group.topology_key)
    if group is None or not group.n_fitting or not situation.filtered:
        return
    nodes = situation.in_reach & situation.rejected_by(_FIT)
    for plugin, rejected in situation.rejected.items():
        if plugin != _FIT:
            nodes &= ~rejected
    short = {row: missing for row in all_rows(nodes) if (missing := _missing(situation, row))}
    if not short:
        return
    least = min(short, key=lambda row: (len(short[row]), sum(short[row].values()), row))
    amounts = listed([amount_of(name, n) for name, n in short[least].items()])
    alone = len(short) > 1 and sum(missing == short[least] for missing in short.values()) == 1
    where = f" on {situation.cluster.nodes.names[least]}, where least is missing" if alone else ""
    yield Diagnosis(rule="gang-members", cause=_shortage(situation, group, amounts) + where)


def _no_domain(situation: Situation, key: str) -> Iterator[Diagnosis]:
    keys = {each for node in situation.cluster.nodes.objects for each in node.metadata.labels}
    if key not in keys and situation.release.places_groups:
        close = similar(key, sorted(keys))
        meant = f"; {listed(close, 'or')} may be meant" if close else ""
        cause = f"no node has the label {key}, which the topology constraint of its group names{meant}"
        yield Diagnosis(rule="gang-members", cause=cause)


def _shortage(situation: Situation, group: PodGroupDecision, amounts: str) -> str:
    """Return the members without a node and what they lack; only the one that was tried if the others differ."""
    n = len(group.group.unscheduled) - group.n_fitting
    if n == 1:
        return f"the other one lacks {amounts}"
    last = group.group.unscheduled[-n:]
    alike = all(each.spec == situation.pod.spec for each in last)
    return f"the other {n} lack {amounts} each" if alike else f"{situation.pod.name} lacks {amounts}"


def _missing(situation: Situation, row: int) -> Mapping[str, int]:
    """Return the missing amount per resource on a node; empty if the member would not fit on the empty node."""
    found = [operands.shortfall() for operands in situation.operands(row, _FIT)]
    if any(each is None or each.hopeless for each in found):
        return {}
    return {each.resource: each.lacking for each in found if each is not None}
