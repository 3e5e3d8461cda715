"""An explanation as text: the answer first, then what it rests on, and the next question's command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from kschedctl.api.wording import counted, listed
from kschedctl.report.amounts import readable
from kschedctl.report.document import GAP, INDENT, Document, Paragraph, Tone, Verbatim, table
from kschedctl.report.explain.admission import admission_section, refusals
from kschedctl.report.explain.claims import claims_section, node_claims_section
from kschedctl.report.explain.data import Explanation, NodeData, ReasonData, UsageData
from kschedctl.report.explain.domains import domains_section
from kschedctl.report.explain.preference import preference_section
from kschedctl.report.explain.scores import scores_in_full, scores_section
from kschedctl.report.explain.story_data import NodeStoryData
from kschedctl.report.explain.story_text import arithmetic_section, compared, room_section
from kschedctl.report.explain.suggestions import suggestions_section
from kschedctl.report.explain.withstanding import withstanding_section
from kschedctl.report.frame import cautions, header, next_questions
from kschedctl.report.groups import Group, deciding_reasons, group_nodes, wording
from kschedctl.scheduler.decision import Outcome

#: What stands for the plugin where nodes are out before any filter runs.
_BEFORE_FILTERS: Final = "PreFilter"


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What of an explanation is shown.

    Attributes
    ----------
    now : datetime
        The time that ages are counted to.
    command : callable
        The command that asks for this answer, with the words that it is given behind it.
    preempt_command : str
        The command that asks who would be evicted.
    nodes : tuple of str
        Single nodes to show; none for the whole cluster.
    every_node : bool
        Whether nodes are shown one by one instead of in groups.
    why : bool
        Whether raw and normalised scores and every reason are shown.
    admission : bool
        Whether it is shown what admission changed.
    suggest : tuple of str
        The option that says how many suggestions are looked for; empty where it is not given.
    withstand : bool
        Whether it is shown what failures the pod can stand.
    """

    now: datetime
    command: Callable[..., str]
    preempt_command: str
    nodes: tuple[str, ...] = ()
    every_node: bool = False
    why: bool = False
    admission: bool = False
    suggest: tuple[str, ...] = ()
    withstand: bool = False


def document(explanation: Explanation, view: View) -> Document:
    """Lay out an answer.

    Parameters
    ----------
    explanation : Explanation
        The answer.
    view : View
        What of it is shown.
    """
    style = {Outcome.SCHEDULED: Tone.GOOD, Outcome.GATED: Tone.MIXED}.get(explanation.verdict.result, Tone.BAD)
    for refusal in refusals(explanation):
        yield Paragraph(refusal, Tone.BAD)
    yield Paragraph(explanation.verdict.summary, style)
    yield from header(explanation, view.now, explanation.pod)
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
    if explanation.message:
        yield GAP
        yield Paragraph("What kube-scheduler writes", Tone.STRONG)
        yield Verbatim(explanation.message)
    if explanation.suggestions is not None and not explanation.schedulable:
        yield from suggestions_section(
            explanation.suggestions,
            explanation.suggestions_tried,
            exhausted=explanation.suggestions_exhausted,
            every=view.why or bool(view.nodes),
        )
    yield from cautions(explanation)
    yield from _next_section(explanation, view)


def _cluster_section(explanation: Explanation, view: View) -> Document:
    if explanation.scores is not None:
        yield GAP
        if view.why:
            yield from scores_in_full(explanation.scores, every_node=view.every_node)
        else:
            yield from scores_section(explanation.scores, explanation.verdict.nodes, every_node=view.every_node)
    rejection = explanation.pre_filter
    if rejection is not None and rejection.code != "Success":
        yield GAP
        why = ", ".join(rejection.reasons)
        by = f" ({rejection.plugin})" if rejection.plugin else ""
        yield Paragraph(f"No node is looked at: {why}{by}")
        return
    if view.every_node:
        yield from _every_node_section(explanation)
    else:
        yield from _groups_section(explanation)
    if view.why:
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
        yield table(("nodes", "zone", "plugin", "why not"), zoned, numeric=(0,))
    else:
        yield table(("nodes", "plugin", "why not"), rows, numeric=(0,))
    yield from _usage_section(explanation.usage)


def _usage_section(usage: UsageData | None) -> Document:
    if usage is None or not usage.owners:
        return
    users = [f"{o.owner} {readable(usage.resource, o.amount)} ({counted(o.pods, 'pod')})" for o in usage.owners]
    total, where = readable(usage.resource, usage.amount), counted(usage.nodes, "node")
    text = f"of {total} {usage.resource} requested on {where} that could hold it empty, most is used by {listed(users)}"
    yield Paragraph(text, Tone.FAINT, INDENT)


def _zones(explanation: Explanation, groups: Sequence[Group]) -> tuple[str, ...]:
    """The zones of each group; nothing where no group of several nodes is in one zone of several alone."""
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
    headings = ("node", *(("zone",) if zones else ()), "verdict", "plugin", "why")
    yield table(headings, rows, tones=tones, identifiers=(0,))


def _node_section(explanation: Explanation, node: NodeData, view: View) -> Document:
    zone = f" (zone {node.zone})" if node.zone else ""
    yield GAP
    if node.fits:
        end = ", and no node is better" if node.name in explanation.verdict.nodes else ""
        yield Paragraph(f"{node.name}{zone}: fits{end}.", Tone.STRONG)
    elif node.plugin:
        text = f"{node.name}{zone}: does not fit; kube-scheduler stops at {node.plugin}."
        yield Paragraph(text, Tone.STRONG)
    else:
        yield Paragraph(f"{node.name}{zone}: does not come into question.", Tone.STRONG)
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
    """Why the filters do not look at a node."""
    why = wording(node.reasons).replace("\n", ", ")
    left = explanation.pre_filter_nodes
    return f"{why}: {_BEFORE_FILTERS} leaves {listed(left) or 'no node'}" if left is not None else why


def _filters_section(explanation: Explanation, node: NodeData, story: NodeStoryData | None, *, every: bool) -> Document:
    """Lay out what the filters say of a node: all of them, or those that turn it away."""
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
        yield table(("filter", "verdict", "why"), rows)
    if every:
        yield from domains_section(node.reasons)
    skipped = [check.plugin for check in explanation.filters if check.skipped]
    if every and skipped:
        yield Paragraph(f"nothing to check for this pod: {', '.join(skipped)}", Tone.FAINT, indent=2)
    if every:
        yield from node_claims_section(explanation.claims, node)


def _next_section(explanation: Explanation, view: View) -> Document:
    questions: list[tuple[str, str]] = []
    fits = [node.name for node in explanation.nodes if node.fits]
    others = [node.name for node in explanation.nodes if not node.fits]
    looked_at = explanation.pre_filter is not None and explanation.pre_filter.code == "Success"
    if not looked_at:
        return
    if explanation.preemption is not None and explanation.preemption.nominated:
        questions.append(("Who would be evicted", view.preempt_command))
    if explanation.suggestions and not explanation.schedulable:
        questions.append(("As if a change were made", view.command(*view.suggest, "--apply-suggestion", "1")))
    if explanation.preference is not None and not explanation.preference.fits:
        preferred = explanation.preference.node
        questions.append((f"What stops it on {preferred}", view.command("--node", preferred, "--why")))
    if not view.nodes:
        if others and not explanation.schedulable:
            node = _next_node(explanation, others)
            questions.append(("One node, step by step", view.command("--node", node, "--why")))
        elif fits and not view.why:
            questions.append(("Why these scores", view.command("--why")))
        if not view.every_node and len(explanation.nodes) > 1:
            questions.append(("Every node", view.command("--nodes")))
        lead = explanation.scores.lead if explanation.scores is not None else None
        if view.why and explanation.schedulable and lead is not None:
            if explanation.preference is None:
                questions.append(("What would move it", view.command("--prefer", lead.over[0])))
            if not view.withstand:
                questions.append(("What it can stand", view.command("--withstand")))
    elif not view.why:
        questions.append(("Step by step", view.command("--node", view.nodes[0], "--why")))
    else:
        questions.append(("All nodes", view.command("--nodes")))
    yield from next_questions(questions)


def _next_node(explanation: Explanation, others: list[str]) -> str:
    """The node that is worth a closer look: the one preemption would take, else the closest, else the first."""
    if explanation.preemption is not None and explanation.preemption.nominated:
        return explanation.preemption.nominated[0]
    closest = (group.closest_node for group in group_nodes(explanation.nodes) if group.closest_node)
    return next(closest, others[0])
