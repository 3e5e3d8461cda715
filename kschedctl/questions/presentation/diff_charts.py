"""Charts of a comparison: the changes by number of pods, the nodes whose results change, and pods per zone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from kschedctl.common.wording import counted, listed
from kschedctl.questions.answers.diff import Diff, NodeChangeData, NodeOutcomeData, PodChangeData, SideOutcome
from kschedctl.questions.answers.nodes import NodesOverview
from kschedctl.questions.presentation.changes_map import NodeChange, by_node, changes_map, pods_line
from kschedctl.questions.presentation.charts import Bar, Bars, Kind, Segment
from kschedctl.questions.presentation.document import Document
from kschedctl.questions.presentation.tone import Tone
from kschedctl.questions.presentation.zone_bars import zone_bars

#: The number of changes that are drawn, and of pods that are named per line.
_MOST_CHANGES: Final = 30
_MOST_NAMED: Final = 5
_WORSE: Final = Kind("pods lose their node", Tone.BAD)
_BETTER: Final = Kind("pods get a node", Tone.GOOD)
_OUTCOME: Final = Kind("another node, outcome or victim")
_DETAILS: Final = Kind("other reasons, scores or messages only", Tone.FAINT)
_UNCHANGED: Final = Kind("no change")
_CHANGES: Final = (_WORSE, _BETTER, _OUTCOME, _DETAILS, _UNCHANGED)

_GONE: Final = Kind("only before", Tone.CAUTION)
_NEW: Final = Kind("only after")
_FITS_NO_MORE: Final = Kind("pods fit no more", Tone.BAD)
_FITS_NOW: Final = Kind("pods fit now", Tone.GOOD)
_LOSES: Final = Kind("pods leave", Tone.MIXED)
_GETS: Final = Kind("pods arrive")
_REASONS: Final = Kind("other reasons")
_SCORES: Final = Kind("other scores")
#: The kinds of nodes: the first that applies counts.
_NODE_KINDS: Final = (_GONE, _NEW, _FITS_NO_MORE, _FITS_NOW, _LOSES, _GETS, _REASONS, _SCORES)


def charts_section(diff: Diff, groups: Sequence[Sequence[PodChangeData]], overview: NodesOverview | None) -> Document:
    """Lay out the charts; without ``overview``, nodes and zones are not drawn.

    Parameters
    ----------
    groups : sequence of sequence of PodChangeData
        The pods with the same changes.
    """
    if diff.pods > 1:
        yield _pod_bars(diff)
    if len(groups) < sum(map(len, groups)):
        yield _change_bars(groups)
    if overview is None or not diff.changed:
        return
    changes = _node_changes(diff)
    if changes:
        yield changes_map(overview, changes)
    places = [(_place(pod, first=True), _place(pod, first=False)) for pod in diff.changed]
    if any(before != after for before, after in places):
        first, second = zip(*places, strict=True)
        yield zone_bars("Pods that change, by zone", ("before", "after"), first, second, overview)


def _pod_bars(diff: Diff) -> Bars:
    """Return all compared pods by the kind of their change."""
    counts = Counter(_kind(pod) for pod in diff.changed)
    counts[_UNCHANGED] = diff.pods - len(diff.changed)
    segments = (
        Segment(i, counts[kind], counted(counts[kind], "pod")) for i, kind in enumerate(_CHANGES) if counts[kind]
    )
    return Bars(
        title="Compared pods",
        measure="pods",
        headings=("which", "pods"),
        kinds=_CHANGES,
        rows=(Bar(("all", counted(diff.pods, "pod")), tuple(segments), diff.pods),),
    )


def _change_bars(groups: Sequence[Sequence[PodChangeData]]) -> Bars:
    shown = groups[:_MOST_CHANGES]
    most = max(map(len, shown))
    rows = (
        Bar(
            ("; ".join(group[0].summary), counted(len(group), "pod")),
            (Segment(_CHANGES.index(_kind(group[0])), len(group), counted(len(group), "pod")),),
            most,
        )
        for group in shown
    )
    left = len(groups) - len(shown)
    return Bars(
        title="Changes",
        measure="pods",
        headings=("change", "pods"),
        kinds=_CHANGES,
        rows=tuple(rows),
        note=f"left out: {counted(left, 'change')} of fewer or less important pods" if left else "",
        numbers=False,
    )


def _kind(pod: PodChangeData) -> Kind:
    if pod.worse:
        return _WORSE
    if pod.before.outcome is not SideOutcome.SCHEDULED and pod.after.outcome is SideOutcome.SCHEDULED:
        return _BETTER
    return _OUTCOME if pod.changes_outcome else _DETAILS


def _place(pod: PodChangeData, *, first: bool) -> str:
    """Return the node of a pod on a side: that on which it runs, else the first one that it can be scheduled to."""
    side = pod.before if first else pod.after
    return side.node_name or next(iter(side.nodes), "")


def _node_changes(diff: Diff) -> dict[str, NodeChange]:
    """Return the changes of nodes, with the pods that they are about."""
    found: dict[str, dict[Kind, list[str]]] = {}
    for pod in diff.changed:
        for name, kind in _kinds(pod):
            found.setdefault(name, {}).setdefault(kind, []).append(pod.key)
    for kind, names in ((_GONE, diff.nodes_gone), (_NEW, diff.nodes_new)):
        for name in names:
            found.setdefault(name, {})[kind] = []
    moved = [(_place(pod, first=True), _place(pod, first=False), pod.key) for pod in diff.changed]
    leave = by_node((before, key) for before, after, key in moved if before != after)
    arrive = by_node((after, key) for before, after, key in moved if before != after)
    for kind, places in ((_LOSES, leave), (_GETS, arrive)):
        for name in places:
            found.setdefault(name, {}).setdefault(kind, [])
    changes = {
        name: NodeChange(
            min(kinds, key=_NODE_KINDS.index),
            (
                *(f"{kind.name}: {listed(pods, most=_MOST_NAMED)}" for kind, pods in kinds.items() if pods),
                *pods_line("arrive", arrive.get(name, ())),
                *pods_line("leave", leave.get(name, ())),
            ),
        )
        for name, kinds in found.items()
    }
    return dict(sorted(changes.items(), key=lambda item: _NODE_KINDS.index(item[1].kind)))


def _kinds(pod: PodChangeData) -> Iterator[tuple[str, Kind]]:
    for change in pod.nodes or ():
        kind = _node_kind(change)
        if kind is not None:
            yield change.name, kind


def _node_kind(change: NodeChangeData) -> Kind | None:
    before, after = change.before, change.after
    if before is None or after is None:
        # Nodes of one side only are listed by the answer.
        return None
    if before.fits != after.fits:
        return _FITS_NOW if after.fits else _FITS_NO_MORE
    return _SCORES if _rejection(before) == _rejection(after) else _REASONS


def _rejection(node: NodeOutcomeData) -> tuple[object, ...]:
    return node.fits, node.plugin, node.reasons
