"""The document of ``diff``: one row per change, with the pods that change in this way."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from kschedctl.common.wording import counted, listed
from kschedctl.questions.answer import merged_envelope
from kschedctl.questions.charts import Bar, Bars, Kind, Segment, zone_bars
from kschedctl.questions.diff.answer import (
    AnswerPart,
    Diff,
    NodeChangeData,
    NodeOutcomeData,
    PodChangeData,
    ReleaseRuleData,
    SideData,
    SideOutcome,
)
from kschedctl.questions.document import (
    GAP,
    Document,
    Heading,
    Lines,
    Paragraph,
    Provenance,
    Question,
    Tone,
    Verbatim,
    table,
)
from kschedctl.questions.frame import (
    View,
    basis,
    cautions,
    cures_section,
    each_alone,
    first_line,
    group_losses_section,
    next_questions,
    provenance,
)
from kschedctl.questions.node_map import NodeChange, by_node, changes_map, pods_line
from kschedctl.questions.nodes.answer import NodesOverview

# Charts of a comparison: the changes by number of pods, the nodes whose results change, and pods per zone.

#: The number of changes that are drawn, and of pods that are named per line.
_MOST_CHANGES: Final = 30
_DIFF_CHARTS_MOST_NAMED: Final = 5
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
    """Lay out the charts; without ``overview``, nodes and zones are not drawn."""
    if diff.pods > 1:
        counts = Counter(_kind_of_change(pod) for pod in diff.changed)
        counts[_UNCHANGED] = diff.pods - len(diff.changed)
        segments = (
            Segment(i, counts[kind], counted(counts[kind], "pod")) for i, kind in enumerate(_CHANGES) if counts[kind]
        )
        yield Bars(
            title="Compared pods",
            measure="pods",
            headings=("which", "pods"),
            kinds=_CHANGES,
            rows=(Bar(("all", counted(diff.pods, "pod")), tuple(segments), diff.pods),),
        )
    if len(groups) < sum(map(len, groups)):
        shown = groups[:_MOST_CHANGES]
        most = max(map(len, shown))
        rows = (
            Bar(
                ("; ".join(group[0].summary), counted(len(group), "pod")),
                (Segment(_CHANGES.index(_kind_of_change(group[0])), len(group), counted(len(group), "pod")),),
                most,
            )
            for group in shown
        )
        left = len(groups) - len(shown)
        yield Bars(
            title="Changes",
            measure="pods",
            headings=("change", "pods"),
            kinds=_CHANGES,
            rows=tuple(rows),
            note=f"left out: {counted(left, 'change')} of fewer or less important pods" if left else "",
            numbers=False,
        )
    if overview is None or not diff.changed:
        return
    changes = _node_changes(diff)
    if changes:
        yield changes_map(overview, changes)
    places = [(_node_on_side(pod, first=True), _node_on_side(pod, first=False)) for pod in diff.changed]
    if any(before != after for before, after in places):
        first, second = zip(*places, strict=True)
        yield zone_bars("Pods that change, by zone", ("before", "after"), first, second, overview)


def _kind_of_change(pod: PodChangeData) -> Kind:
    if pod.worse:
        return _WORSE
    if pod.before.outcome is not SideOutcome.SCHEDULED and pod.after.outcome is SideOutcome.SCHEDULED:
        return _BETTER
    return _OUTCOME if pod.changes_outcome else _DETAILS


def _node_on_side(pod: PodChangeData, *, first: bool) -> str:
    """Return the node of a pod on a side: that on which it runs, else the first one that it can be scheduled to."""
    side = pod.before if first else pod.after
    return side.node_name or next(iter(side.nodes), "")


def _node_changes(diff: Diff) -> dict[str, NodeChange]:
    """Return the changes of nodes, with the pods that they are about."""
    found: dict[str, dict[Kind, list[str]]] = {}
    for pod in diff.changed:
        for change in pod.nodes or ():
            before, after = change.before, change.after
            # Nodes of one side only are listed by the answer.
            if before is not None and after is not None:
                same = (before.plugin, before.reasons) == (after.plugin, after.reasons)
                kind = _SCORES if same else _REASONS
                if before.fits != after.fits:
                    kind = _FITS_NOW if after.fits else _FITS_NO_MORE
                found.setdefault(change.name, {}).setdefault(kind, []).append(pod.key)
    for kind, names in ((_GONE, diff.nodes_gone), (_NEW, diff.nodes_new)):
        for name in names:
            found.setdefault(name, {})[kind] = []
    moved = [(_node_on_side(pod, first=True), _node_on_side(pod, first=False), pod.key) for pod in diff.changed]
    leave = by_node((before, key) for before, after, key in moved if before != after)
    arrive = by_node((after, key) for before, after, key in moved if before != after)
    for kind, places in ((_LOSES, leave), (_GETS, arrive)):
        for name in places:
            found.setdefault(name, {}).setdefault(kind, [])
    changes = {
        name: NodeChange(
            min(kinds, key=_NODE_KINDS.index),
            (
                *(f"{kind.name}: {listed(pods, most=_DIFF_CHARTS_MOST_NAMED)}" for kind, pods in kinds.items() if pods),
                *pods_line("arrive", arrive.get(name, ())),
                *pods_line("leave", leave.get(name, ())),
            ),
        )
        for name, kinds in found.items()
    }
    return dict(sorted(changes.items(), key=lambda item: _NODE_KINDS.index(item[1].kind)))


_MOST_NAMED: Final = 3
#: The rules behind a change that its row names.
_MOST_RULES: Final = 6
#: The parts of an answer, most important first.
_IMPORTANCE: Final = tuple(AnswerPart)


class DiffView(View, frozen=True, kw_only=True):
    """The part of a comparison that is shown."""

    #: The options that select the second side, by name, as far as they differ from those of the first.
    other: Mapping[str, object] = msgspec.field(default_factory=dict)
    #: True to list pods for which only reasons, scores or messages change.
    details: bool = False

    def shows(self, diff: Diff, pod: PodChangeData) -> bool:
        """Report whether the change of a pod has a row; of several pods, changes of details only on request."""
        return self.wide or self.details or diff.pods == 1 or pod.changes_outcome


def document(diff: Diff, view: View) -> Document:
    """Lay out a comparison."""
    if not isinstance(view, DiffView):
        view = DiffView(now=view.now, wide=view.wide, details=True, drawn=view.drawn, overview=view.overview)
    worse = any(pod.worse for pod in diff.changed)
    both = merged_envelope((diff.before, diff.after))
    yield from first_line(
        both, diff.summary, Tone.BAD if worse else Tone.GOOD if diff.yes else Tone.MIXED, ("Comparison",)
    )
    before, after = diff.before, diff.after
    yield from _page_header(before, after, view)
    yield from _side_section("before", _basis(before, view), before)
    rules, *rest = _basis(after, view)
    if after.rules == before.rules:
        rules = "the same rules"
    if (after.snapshot.paths, after.snapshot.written_at) == (before.snapshot.paths, before.snapshot.written_at):
        size, snapshot = after.snapshot, "the same snapshot"
        if (size.nodes, size.pods) != (before.snapshot.nodes, before.snapshot.pods):
            snapshot += f", changed to {counted(size.nodes, 'node')}, {counted(size.pods, 'pod')}"
        basis = [rules, snapshot, *_configuration(after)]
    else:
        basis = [rules, *rest]
    yield from _side_section("after", basis, after)
    for what, names in (("only before", diff.nodes_gone), ("only after", diff.nodes_new)):
        if names:
            yield Paragraph(f"{what}: {'node' if len(names) == 1 else 'nodes'} {listed(names)}")
    yield from cures_section(diff.suggestions, every=view.wide)
    shown = [pod for pod in diff.changed if view.shows(diff, pod)]
    groups = group_alike(shown)
    if view.drawn:
        yield from charts_section(diff, groups, view.overview)
    if groups:
        rows = [_row(group, wide=view.wide) for group in groups]
        yield from (GAP, table(("pods", "names", "changes"), rows, numeric=(0,)))
        if diff.pods > 1:
            lose = [pod for pod in diff.changed if pod.before.node_name and not pod.after.node_name]
            if len(lose) < 2:
                yield from each_alone(indent=2)
            else:
                told = "pods that lose their node are scheduled one after another, the most important first"
                others = "; every other pod is decided independently" if diff.pods > len(lose) else ""
                yield Paragraph(told + others, Tone.FAINT, indent=2)
        if more := len(diff.changed) - len(shown):
            text = f"and {counted(more, 'pod')} with other reasons, scores or messages only: -o wide"
            yield Paragraph(text, Tone.FAINT, 2)
    yield from _rules_section(diff.rules)
    yield from group_losses_section(diff.groups)
    if view.wide:
        for group in groups:
            yield from _in_full_section(group)
    yield from cautions(both)
    yield from next_questions(_next_questions(diff, view))


def _next_questions(diff: Diff, view: DiffView) -> Iterator[Question]:
    if diff.changed and not view.wide:
        yield Question("Node by node", "diff", options={"output": "wide"})
    ordered = sorted(diff.changed, key=lambda pod: not pod.changes_outcome)
    there = next((pod for pod in ordered if pod.after.outcome is not SideOutcome.ABSENT), None)
    if there is not None:
        yield Question("Second side in detail", "explain", there.key, view.other)


def group_alike(changed: Sequence[PodChangeData]) -> list[list[PodChangeData]]:
    """Group pods with the same changes by the same rules: lost nodes first, then by importance and number of pods."""
    groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[PodChangeData]] = {}
    for pod in changed:
        groups.setdefault((pod.summary, pod.rules), []).append(pod)

    def rank(group: list[PodChangeData]) -> tuple[bool, int, int]:
        return not group[0].worse, _IMPORTANCE.index(group[0].parts[0]), -len(group)

    return sorted(groups.values(), key=rank)


def _page_header(before: SideData, after: SideData, view: View) -> Document:
    """Name the clusters and states of both sides for the header of a page."""
    if not view.drawn:
        return
    found = (provenance(before, view.now), provenance(after, view.now))
    clusters = dict.fromkeys(each.cluster for each in found)
    states = {each.state: each.age for each in found if each.state}
    aged = " and ".join(dict.fromkeys(states.values()))
    yield Provenance((), (), cluster=" and ".join(clusters), state=" and ".join(states), age=aged)


def _basis(side: SideData, view: View) -> list[str]:
    return [*basis(side, view), *_configuration(side)]


def _configuration(side: SideData) -> list[str]:
    return [f"configuration {side.config}"] if side.config else []


def _side_section(name: str, texts: Sequence[str], side: SideData) -> Document:
    yield Provenance((), (f"{name + ':':7} {texts[0]}", *texts[1:]), side.snapshot.changes)


def _row(group: Sequence[PodChangeData], *, wide: bool) -> tuple[Lines, Lines, Lines]:
    names = [pod.key for pod in group]
    shown = tuple(names) if wide else (listed(names, most=_MOST_NAMED),)
    return (str(len(group)),), shown, (*group[0].summary, *_rules_line(group[0]))


def _rules_line(pod: PodChangeData) -> Iterator[str]:
    """Yield the rules behind a change, for a cell; nothing without rules."""
    if len(pod.rules) == 1:
        yield f"rule: {pod.rules[0]}"
    elif pod.rules:
        how = "only together" if pod.rules_together else "each is needed"
        yield f"rules: {listed(pod.rules, most=_MOST_RULES)} ({how})"


def _rules_section(rules: Sequence[ReleaseRuleData]) -> Document:
    """Lay out the rules behind the changes, with what to do; nothing if there are none."""
    if not rules:
        return
    yield Heading("Rules behind the changes")
    rows = []
    for rule in rules:
        told = (f"before: {rule.before}", f"after: {rule.after}", *([f"to do: {rule.advice}"] if rule.advice else ()))
        since = f"since {rule.since}" if rule.since else "feature gate"
        rows.append((str(rule.pods), (rule.name, since), told))
    yield table(("pods", "rule", "behaviour"), rows, numeric=(0,))


def _in_full_section(group: Sequence[PodChangeData]) -> Document:
    """Lay out every node and message of a change, for the first pod of the group; the others change alike."""
    pod = next((one for one in group if one.nodes is not None), group[0])
    others = f", and {counted(len(group) - 1, 'more pod')} with the same changes" if len(group) > 1 else ""
    messages = [(side, text) for side, text in (("before", pod.before.message), ("after", pod.after.message)) if text]
    nodes = pod.nodes or ()
    if not nodes and pod.before.message == pod.after.message:
        return
    yield Heading(f"{pod.key}{others}")
    if nodes:
        rows = [(node.name, *_said(node, pod.before.nodes, pod.after.nodes)) for node in nodes]
        yield table(("node", "before", "after"), rows, identifiers=(0,))
    if pod.before.message != pod.after.message:
        for side, text in messages:
            yield Verbatim(f"{side + ':':7} {text}")


def _said(change: NodeChangeData, best_before: Sequence[str], best_after: Sequence[str]) -> tuple[Lines, Lines]:
    """Return the results for a node on both sides, with the scores that differ."""
    old, new = change.before, change.after
    plugins: list[str] = []
    if old is not None and new is not None and old.fits and new.fits:
        every = dict.fromkeys((*old.scores, *new.scores))
        plugins = [plugin for plugin in every if old.scores.get(plugin, 0) != new.scores.get(plugin, 0)]
    sides = ((old, change.name in best_before), (new, change.name in best_after))
    before, after = (tuple(_lines(node, plugins, best=best)) for node, best in sides)
    return before, after


def _lines(node: NodeOutcomeData | None, plugins: Sequence[str], *, best: bool) -> Iterator[str]:
    if node is None:
        yield "absent"
    elif not node.fits:
        reasons = ", ".join(node.reasons) or "not evaluated"
        yield f"{node.plugin}: {reasons}" if node.plugin else reasons
    else:
        score = "" if node.score is None else f", score {node.score}"
        yield f"{'best' if best else 'fits'}{score}"
        yield from (f"{plugin} {node.scores.get(plugin, 0)}" for plugin in plugins)
