"""The document of ``explain``: the verdict, the decision behind it, and next questions with their commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kschedctl.common.wording import counted, listed
from kschedctl.questions.answers.amounts import readable
from kschedctl.questions.answers.explain import Explanation, NodeData, ReasonData, UsageData
from kschedctl.questions.answers.node_groups import NodeGroup, deciding_reasons, group_nodes, nearest_node, wording
from kschedctl.questions.answers.node_story import NodeStoryData
from kschedctl.questions.presentation.diagnosis import checks_section, diagnosis_section
from kschedctl.questions.presentation.document import (
    GAP,
    INDENT,
    Document,
    Heading,
    Paragraph,
    Question,
    Verbatim,
    table,
)
from kschedctl.questions.presentation.explain.admission import admission_section
from kschedctl.questions.presentation.explain.domains import domains_section
from kschedctl.questions.presentation.explain.preference import preference_section
from kschedctl.questions.presentation.explain.scores import scores_in_full, scores_section
from kschedctl.questions.presentation.explain.story import arithmetic_section, compared, room_section
from kschedctl.questions.presentation.explain.suggestions import suggestions_section
from kschedctl.questions.presentation.explain.withstanding import withstanding_section
from kschedctl.questions.presentation.frame import View, cautions, first_line, header, next_questions
from kschedctl.questions.presentation.pod_group import pod_group_section, whose_nodes
from kschedctl.questions.presentation.tone import Tone
from kschedctl.scheduler.cycle.decision import SearchScope
from kschedctl.scheduler.cycle.outcome import Outcome

#: The plugin column for nodes that are rejected before any filter runs.
_BEFORE_FILTERS: Final = "PreFilter"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainView(View):
    """The part of an explanation that is shown.

    Attributes
    ----------
    nodes : tuple of str
        The only nodes to show; empty for the whole cluster.
    nodes_alone : bool
        True to show nodes one by one instead of in groups.
    reasons : bool
        True to show raw and normalized scores and every reason.
    admission : bool
        True to show the changes that admission made to the pod.
    withstand : bool
        True to show the failures that the pod can withstand.
    applied : bool
        True if a suggestion was applied, which other commands cannot do.
    """

    nodes: tuple[str, ...] = ()
    nodes_alone: bool = False
    reasons: bool = False
    admission: bool = False
    withstand: bool = False
    applied: bool = False

    @property
    def every_node(self) -> bool:
        """True to show nodes one by one."""
        return self.nodes_alone or self.wide

    @property
    def why(self) -> bool:
        """True to show every reason."""
        return self.reasons or self.wide


#: The options of ``explain`` that only add output; next questions remove them.
_PLAIN: Final = dict.fromkeys(("node", "nodes", "why", "prefer", "withstand", "sampling", "show_admission"))


def _explain(text: str, explanation: Explanation, **options: object) -> Question:
    return Question(text, "explain", explanation.pod.key, {**_PLAIN, **options})


def document(explanation: Explanation, view: View) -> Document:
    """Lay out an answer."""
    if not isinstance(view, ExplainView):
        view = ExplainView(
            now=view.now, wide=view.wide, drawn=view.drawn, overview=view.overview, describe=view.describe
        )
    style = {Outcome.SCHEDULED: Tone.GOOD, Outcome.GATED: Tone.MIXED}.get(explanation.verdict.result, Tone.BAD)
    for refusal in explanation.quota_refusals:
        yield Paragraph(refusal, Tone.BAD)
    yield from first_line(explanation, explanation.verdict.summary, style)
    yield from header(explanation, view.now, explanation.pod)
    yield from diagnosis_section(explanation.diagnoses)
    if view.drawn:
        from kschedctl.questions.presentation.explain.charts import charts_section

        # The descriptions are those of the cluster without an applied suggestion.
        describe = view.describe if not view.applied else None
        yield from charts_section(explanation, view.overview, describe, view.nodes or _one_node(explanation))
    if explanation.group is not None:
        yield from pod_group_section(explanation.group, every_member=view.why)
        if explanation.nodes:
            yield from whose_nodes(explanation.group)
    yield from _decision_section(explanation, view)
    if explanation.message:
        yield Heading(f"Message of kube-scheduler{', as far as is known' if explanation.unlisted else ''}")
        yield Verbatim(explanation.message)
    if explanation.suggestions is not None and (explanation.suggestions or not explanation.schedulable):
        yield from suggestions_section(
            explanation.suggestions,
            explanation.suggestions_tried,
            exhausted=explanation.suggestions_exhausted,
            every=view.why or bool(view.nodes),
        )
    yield from checks_section(explanation.diagnoses)
    yield from cautions(explanation)
    yield from _next_section(explanation, view)


def _decision_section(explanation: Explanation, view: ExplainView) -> Document:
    if view.admission:
        yield from admission_section(explanation)
    if view.nodes:
        for node in explanation.nodes:
            if node.name in view.nodes:
                yield from _node_section(explanation, node, view)
    else:
        yield from _cluster_section(explanation, view)
    if explanation.preference is not None:
        preferred = next(node for node in explanation.nodes if node.name == explanation.preference.node)
        yield from preference_section(explanation.preference, wording(preferred.reasons))
    if view.withstand:
        yield from withstanding_section(explanation.withstanding)


def _cluster_section(explanation: Explanation, view: ExplainView) -> Document:
    if explanation.scores is not None:
        yield GAP
        if view.why and not view.drawn:
            yield from scores_in_full(explanation.scores, every_node=view.every_node)
        else:
            yield from scores_section(explanation.scores, explanation.verdict.nodes, every_node=view.every_node)
    if explanation.search is not None:
        # Small clusters have no such section.
        from kschedctl.questions.presentation.explain.search import search_section

        yield from search_section(explanation.search, every_node=view.every_node)
    rejection = explanation.pre_filter
    if rejection is not None and rejection.code != "Success":
        yield GAP
        why = ", ".join(rejection.reasons)
        by = f" ({rejection.plugin})" if rejection.plugin else ""
        yield Paragraph(f"Rejected before any node is filtered: {why}{by}")
        return
    if view.every_node and not (view.drawn and (view.overview is not None or not view.nodes_alone)):
        yield from _every_node_section(explanation)
    else:
        yield from _groups_section(explanation)
    if view.why:
        # Most answers have no such section.
        from kschedctl.questions.presentation.explain.claims import claims_section

        yield from claims_section(explanation.claims, every_node=view.every_node)


def _groups_section(explanation: Explanation) -> Document:
    groups = group_nodes(explanation.nodes)
    if not groups:
        return
    zones = _zones(explanation, groups)
    rows = []
    for group in groups:
        lines = group.why.split("\n")
        if group.closest:
            lines.append(group.closest)
        n_nodes = len(group.nodes)
        lines += [f"{'also' if n == n_nodes else f'{n} also'}: {text}" for text, n in group.also]
        rows.append((str(n_nodes), group.plugin or _BEFORE_FILTERS, lines))
    yield GAP
    if zones:
        zoned = [(n, zone, plugin, why) for zone, (n, plugin, why) in zip(zones, rows, strict=True)]
        yield table(("nodes", "zone", "plugin", "reason"), zoned, numeric=(0,))
    else:
        yield table(("nodes", "plugin", "reason"), rows, numeric=(0,))
    yield from _usage_section(explanation.usage)


def _usage_section(usage: UsageData | None) -> Document:
    if usage is None or not usage.owners:
        return
    users = [f"{o.owner} {readable(usage.resource, o.amount)} ({counted(o.pods, 'pod')})" for o in usage.owners]
    total, where = readable(usage.resource, usage.amount), counted(usage.nodes, "node")
    text = f"{total} {usage.resource} requested on {where} that could hold the pod if empty, most by {listed(users)}"
    yield Paragraph(text, Tone.FAINT, INDENT)


def _zones(explanation: Explanation, groups: Sequence[NodeGroup]) -> tuple[str, ...]:
    """Return the zones of each group; empty unless a group of several nodes is confined to one of several zones."""
    every = {node.zone for node in explanation.nodes}
    own = [sorted({node.zone for node in group.nodes}) for group in groups]
    if len(every) < 2 or not any(len(zones) == 1 and len(g.nodes) > 1 for zones, g in zip(own, groups, strict=True)):
        return ()
    return tuple("all" if set(zones) == every else listed([zone or "none" for zone in zones]) for zones in own)


def _every_node_section(explanation: Explanation) -> Document:
    totals = {n.name: n.total for n in explanation.scores.nodes} if explanation.scores is not None else {}
    best = set(explanation.verdict.nodes)
    ordered = sorted(explanation.nodes, key=lambda node: (not node.fits, -totals.get(node.name, 0)))
    zones = any(node.zone for node in ordered)
    rows: list[tuple[str | Sequence[str], ...]] = []
    tones = []
    for node in ordered:
        verdict = "best" if node.name in best else "fits" if node.fits else "no"
        why = f"score {totals[node.name]}" if node.name in totals else wording(deciding_reasons(node))
        others = [r for r in node.reasons if r.plugin != node.plugin]
        lines = [
            (node.plugin or ("" if node.fits else _BEFORE_FILTERS), why),
            *((reason.plugin, f"also: {wording((reason,))}") for reason in others),
        ]
        for i, (plugin, text) in enumerate(lines):
            head = (node.name, *((node.zone,) if zones else ()), verdict) if i == 0 else ("",) * (2 + zones)
            rows.append((*head, plugin, text.split("\n")))
            tones.append(Tone.STRONG if node.name in best else Tone.PLAIN)
    yield GAP
    headings = ("node", *(("zone",) if zones else ()), "verdict", "plugin", "reason")
    yield table(headings, rows, tones=tones, identifiers=(0,))


def _node_section(explanation: Explanation, node: NodeData, view: ExplainView) -> Document:
    zone = f" (zone {node.zone})" if node.zone else ""
    yield GAP
    if node.fits:
        end = ", and no node is better" if node.name in explanation.verdict.nodes else ""
        yield Paragraph(f"{node.name}{zone}: fits{end}.", Tone.STRONG)
    elif node.plugin:
        text = f"{node.name}{zone}: does not fit; kube-scheduler stops at {node.plugin}."
        yield Paragraph(text, Tone.STRONG)
    else:
        yield Paragraph(f"{node.name}{zone}: rejected before any filter runs.", Tone.STRONG)
        yield Paragraph(_left_by_pre_filter(explanation, node), indent=2)
        return
    story = next((story for story in explanation.stories if story.name == node.name), None)
    yield from _filters_section(explanation, node, story, every=view.why)
    if story is not None:
        yield from room_section(story)
    if explanation.scores is not None and any(scored.name == node.name for scored in explanation.scores.nodes):
        yield GAP
        yield from scores_in_full(explanation.scores, only=node.name)
    if story is not None and story.scores:
        yield from arithmetic_section(story.scores)


def _left_by_pre_filter(explanation: Explanation, node: NodeData) -> str:
    """Return the reason why the filters do not check a node."""
    why = wording(node.reasons).replace("\n", ", ")
    left = explanation.pre_filter_nodes
    return f"{why}: {_BEFORE_FILTERS} leaves {listed(left) or 'no node'}" if left is not None else why


def _filters_section(explanation: Explanation, node: NodeData, story: NodeStoryData | None, *, every: bool) -> Document:
    """Lay out the results of the filters for a node: of all filters, or of those that reject the node."""
    by_plugin: dict[str, list[ReasonData]] = {}
    for reason in node.reasons:
        by_plugin.setdefault(reason.plugin, []).append(reason)
    names = [check.plugin for check in explanation.filters if every and not check.skipped]
    names += [plugin for plugin in by_plugin if plugin not in names]
    rows = []
    for name in names:
        said = by_plugin.get(name, ())
        checks = (check for check in (story.checks if story is not None else ()) if check.plugin == name)
        rows.append((name, "no" if said else "passes", compared(said, checks)))
    if rows:
        yield table(("filter", "verdict", "reason"), rows)
    if every:
        yield from domains_section(node.reasons)
    skipped = [check.plugin for check in explanation.filters if check.skipped]
    if every and skipped:
        yield Paragraph(f"nothing to check for this pod: {', '.join(skipped)}", Tone.FAINT, indent=2)
    if every:
        from kschedctl.questions.presentation.explain.claims import node_claims_section

        yield from node_claims_section(explanation.claims, node)


def _next_section(explanation: Explanation, view: ExplainView) -> Document:
    looked_at = explanation.pre_filter is not None and explanation.pre_filter.code == "Success"
    if looked_at:
        yield from next_questions([*_about_changes(explanation, view), *_about_nodes(explanation, view)])


def _about_changes(explanation: Explanation, view: ExplainView) -> Iterator[Question]:
    if explanation.preemption is not None and explanation.preemption.nominated and not view.applied:
        yield Question("Victims", "preempt", explanation.pod.key)
    tried = [i for i, each in enumerate(explanation.suggestions or (), 1) if not each.untried]
    if tried and not explanation.schedulable and not view.applied:
        yield _explain("Try a suggestion", explanation, apply_suggestion=tried[0])
    if explanation.preference is not None and not explanation.preference.fits:
        preferred = explanation.preference.node
        yield _explain(f"{preferred} in detail", explanation, node=(preferred,), why=True)


def _about_nodes(explanation: Explanation, view: ExplainView) -> Iterator[Question]:
    if view.nodes and view.why:
        yield _explain("All nodes", explanation, nodes=True)
        return
    if view.nodes:
        yield _explain("Step by step", explanation, node=view.nodes[:1], why=True)
        return
    others = [node.name for node in explanation.nodes if not node.fits]
    if others and not explanation.schedulable:
        yield _explain("One node, step by step", explanation, node=(_next_node(explanation),), why=True)
    elif len(others) < len(explanation.nodes) and not view.why:
        yield _explain("Scores in detail", explanation, why=True)
    if not view.every_node and len(explanation.nodes) > 1:
        yield _explain("All nodes", explanation, nodes=True)
    search = explanation.search
    if search is not None and search.scope is SearchScope.SAMPLE and not search.followed:
        yield _explain("Nodes that kube-scheduler may choose", explanation, sampling=True)
    lead = explanation.scores.lead if explanation.scores is not None else None
    if view.why and explanation.schedulable and lead is not None:
        if explanation.preference is None:
            yield _explain("Changes that would move the pod", explanation, prefer=lead.over[0])
        if not view.withstand:
            yield _explain("Effect of node failures", explanation, withstand=True)


def _one_node(explanation: Explanation) -> tuple[str, ...]:
    """Return the node to look at first: the chosen one, or the nearest if the pod fits nowhere; empty without nodes."""
    if explanation.schedulable:
        return (explanation.verdict.picked or explanation.verdict.nodes[0],)
    others = any(not node.fits for node in explanation.nodes)
    return (_next_node(explanation),) if others else ()


def _next_node(explanation: Explanation) -> str:
    """Return the node to look at next: the one preemption would nominate, else the nearest."""
    if explanation.preemption is not None and explanation.preemption.nominated:
        return explanation.preemption.nominated[0]
    return nearest_node([node for node in explanation.nodes if not node.fits])
