"""Bars of a node: what each workload requests of its resources, what is free, and what a pod asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kschedctl.common.wording import counted
from kschedctl.objects.resources import CPU, MEMORY, PODS
from kschedctl.objects.resources import amount_of as with_unit
from kschedctl.questions.answers.amounts import amount_of
from kschedctl.questions.answers.explain import PodData
from kschedctl.questions.answers.nodes import NodeAmountsData, NodeDescription
from kschedctl.questions.presentation.charts import Bar, Bars, Kind, Segment
from kschedctl.questions.presentation.tone import Tone

#: The number of workloads with a colour of their own; the others share one.
_MOST_OWNERS: Final = 8
_OTHERS: Final = "others"
_NOMINATED: Final = "nominated pods"
_ASKED: Final = "this pod"
_FREE: Final = "free"
#: The kinds after the workloads.
_KINDS: Final = (
    Kind(_OTHERS, Tone.FAINT),
    Kind(_NOMINATED, Tone.MIXED),
    Kind(_ASKED, Tone.CAUTION),
    Kind(_FREE, Tone.GOOD, weak=True),
)


@dataclass(frozen=True, slots=True)
class _User:
    """A workload on the node: its number of pods, and the amounts that they request, in the scheduler's units."""

    name: str
    pods: int
    amounts: dict[str, int]


def node_bars(description: NodeDescription, pod: PodData | None = None) -> Bars:
    """Return a bar per resource of a node, divided by the workloads that request it.

    Parameters
    ----------
    description : NodeDescription
        The node.
    pod : PodData or None
        A pod to schedule: its requests are drawn after those of the others, even if they exceed what is free. If the
        pod is on the node already, its requests are not counted as those of its workload.
    """
    asked = _amounts(pod) if pod is not None else {}
    users = tuple(_users(description, pod, asked))
    own = pod is not None and any(pod.key in owner.pods for owner in description.owners)
    resources = [each for each in description.node.resources if each.resource in asked or _is_shown(each)]
    largest = _largest(users, resources)
    kinds = (*(Kind(user.name) for user in largest), *_KINDS)
    position = {kind.name: i for i, kind in enumerate(kinds)}
    rows = []
    for each in resources:
        name, wanted = each.resource, asked.get(each.resource, 0)
        offered = amount_of(name, each.allocatable)
        taken = amount_of(name, each.requested) - (wanted if own else 0)
        parts = tuple(_parts(each, taken, wanted, largest))
        segments = tuple(Segment(position[kind], size, text) for kind, size, text in parts)
        numbers = (offered, taken, *((wanted,) if asked else ()), max(offered - taken, 0))
        mark = offered if sum(segment.size for segment in segments) > offered else None
        rows.append(Bar((name, *(with_unit(name, number) for number in numbers)), segments, offered, mark))
    used = sorted({segment.kind for row in rows for segment in row.segments})
    return Bars(
        title=f"Resources of {description.node.name}",
        headings=("resource", "allocatable", "requested", *((_ASKED,) if asked else ()), _FREE),
        kinds=tuple(kinds[i] for i in used),
        rows=tuple(_renumbered(row, used) for row in rows),
        note="; ".join(_notes(rows, nominated=bool(asked) and position[_NOMINATED] in used)),
    )


def _notes(rows: Sequence[Bar], *, nominated: bool) -> Iterator[str]:
    if any(row.mark is not None for row in rows):
        yield "the line marks the allocatable amount"
    if nominated:
        yield f"what {_NOMINATED} request is kept from pods of lower priority"


def _amounts(pod: PodData) -> dict[str, int]:
    return {**{name: amount_of(name, quantity) for name, quantity in pod.requests.items()}, PODS: 1}


def _is_shown(amounts: NodeAmountsData) -> bool:
    """Report whether a resource has a bar although the pod does not ask for it."""
    offered = amounts.allocatable != "0" and (amounts.resource in (CPU, MEMORY, PODS) or "/" in amounts.resource)
    return offered or amounts.requested != "0"


def _users(description: NodeDescription, pod: PodData | None, asked: dict[str, int]) -> Iterator[_User]:
    """Yield the workloads with pods on the node, without the pod itself."""
    for owner in description.owners:
        amounts = {name: amount_of(name, quantity) for name, quantity in owner.requests.items()}
        amounts[PODS] = len(owner.pods)
        if pod is not None and pod.key in owner.pods:
            amounts = {name: number - asked.get(name, 0) for name, number in amounts.items()}
        if amounts[PODS]:
            yield _User(owner.owner, amounts[PODS], amounts)


def _largest(users: Sequence[_User], resources: Sequence[NodeAmountsData]) -> tuple[_User, ...]:
    """Return the workloads that request the largest share of any resource but pods, largest first."""
    offered = {each.resource: amount_of(each.resource, each.allocatable) for each in resources}

    def share(user: _User) -> float:
        shares = (user.amounts.get(name, 0) / number for name, number in offered.items() if number and name != PODS)
        return max(shares, default=0.0)

    return tuple(sorted(users, key=lambda user: -share(user))[:_MOST_OWNERS])


def _parts(each: NodeAmountsData, taken: int, wanted: int, largest: Sequence[_User]) -> Iterator[tuple[str, int, str]]:
    """Yield the parts of the bar of a resource from left to right: kind, amount in the scheduler's units, and text."""
    name = each.resource
    rest = taken
    for user in largest:
        number = user.amounts.get(name, 0)
        if number:
            of_pods = "" if name == PODS else f" ({counted(user.pods, 'pod')})"
            yield user.name, number, f"{with_unit(name, number)}{of_pods}"
        rest -= number
    if rest > 0:
        yield _OTHERS, rest, with_unit(name, rest)
    nominated = amount_of(name, each.nominated)
    if nominated:
        yield _NOMINATED, nominated, with_unit(name, nominated)
    free = amount_of(name, each.allocatable) - taken - nominated - wanted
    if wanted:
        excess = f", {with_unit(name, min(-free, wanted))} too much" if free < 0 else ""
        yield _ASKED, wanted, f"{with_unit(name, wanted)}{excess}"
    if free > 0:
        yield _FREE, free, with_unit(name, free)


def _renumbered(bar: Bar, used: Sequence[int]) -> Bar:
    """Return a bar whose kinds are positions among the kinds that are used."""
    segments = tuple(Segment(used.index(each.kind), each.size, each.text) for each in bar.segments)
    return Bar(bar.cells, segments, bar.total, bar.mark)
