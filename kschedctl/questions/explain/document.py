"""The document of ``explain``: the verdict, the decision behind it, and next questions with their commands."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from kschedctl.common.wording import counted, listed
from kschedctl.questions.answer import AnswerStream, Envelope, merged_envelope, readable
from kschedctl.questions.answer_parts import ExpansionData
from kschedctl.questions.document import (
    GAP,
    INDENT,
    Document,
    Heading,
    Paragraph,
    Provenance,
    Question,
    Tone,
    Verbatim,
    and_more,
    table,
)
from kschedctl.questions.explain.analysis import running_in_words
from kschedctl.questions.explain.answer import (
    DaemonSetExplanation,
    Explanation,
    ExplanationSummary,
    NodeData,
    ReasonData,
    SearchData,
    SuggestionData,
    WithstandingData,
    outcomes_in_words,
)
from kschedctl.questions.explain.document_of_nodes import (
    arithmetic_section,
    compared,
    domains_section,
    preference_section,
    room_section,
    scores_in_full,
    scores_section,
)
from kschedctl.questions.frame import (
    EACH_ALONE,
    View,
    cautions,
    checks_section,
    cures_section,
    diagnosis_section,
    each_alone,
    first_line,
    header,
    heading,
    next_questions,
    numbered_changes,
    one_by_one,
    pod_group_section,
    provenance,
    untried_or,
    whose_nodes,
)
from kschedctl.questions.node_groups import NodeGroup, deciding_reasons, group_nodes, nearest_node, wording
from kschedctl.scheduler.cycle.outcome import Outcome, SearchScope

# The section about the changes that admission made to a pod.


def admission_section(explanation: Explanation) -> Document:
    """Lay out the changes of admission, field by field."""
    changes = explanation.admission.changes
    yield GAP
    if not changes:
        yield Paragraph("Admission changes nothing in this pod.", Tone.STRONG)
        return
    yield Paragraph("Changes by admission", Tone.STRONG)
    rows = [
        (change.plugin, f"{change.path}: {_manifest_value(change.before)} -> {_manifest_value(change.after)}")
        for change in changes
    ]
    yield table(("plugin", "field: before -> after"), rows)


def _manifest_value(value: Any) -> str:
    """Format a value as in a manifest, on one line."""
    if value is None:
        return "not set"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


# The section about the autoscaler of nodes.


def autoscaler_section(found: ExpansionData, *, every: bool) -> Document:
    """Lay out what each node group says, where the first line has no room for it.

    Args:
        every: True to show the autoscaler's own words.
    """
    if len(found.groups) < _FEW_GROUPS and not every:
        return
    yield GAP
    rows = [(each.group, each.answer, each.said) if every else (each.group, each.answer) for each in found.groups]
    headings = ("node group", f"answer of {found.autoscaler}", "in its words")
    yield table(headings if every else headings[:2], rows)
    if found.source:
        yield Paragraph(f"known from {found.source}", Tone.FAINT, INDENT)


# The section about changes with which a pod would fit.


def suggestions_section(
    suggestions: tuple[SuggestionData, ...],
    tried: int,
    *,
    exhausted: bool,
    every: bool,
    lowered: bool = False,
    trial: Question | None = None,
) -> Document:
    """Lay out the changes with which a pod would fit.

    Args:
        suggestions: The changes that were found.
        exhausted: True if the search did not stop at its limit of tries.
        every: True to show the commands that make the changes.
        lowered: True if lower requests were among the changes.
        trial: The question about the pod to which a suggestion is applied; ``None`` if none can be.
    """
    yield heading(untried=any(one.untried for one in suggestions))
    if not suggestions:
        told = "none"
        if tried:
            told = f"none helps: {counted(tried, 'change')} {'was' if tried == 1 else 'were'} tried, alone or in pairs"
            told += "; requests were lowered by 20 % at most" if lowered else ""
        yield Paragraph(told if exhausted else f"{told}; not all were tried", indent=INDENT)
        return
    rows = []
    for one in suggestions:
        then = f"is scheduled to {'one of ' if len(one.then.nodes) > 1 else ''}{listed(one.then.nodes)}"
        if one.then.members is not None:
            then = f"{counted(one.then.members, 'member')} {'is' if one.then.members == 1 else 'are'} scheduled"
        if one.evicts:
            then = f"evicts {listed(one.evicts)}, then {then}"
        if one.violates:
            then += f"; violates disruption budget {listed(one.violates)}"
        rows.append((one.summary, untried_or(one.untried, "; ".join((then, *one.consequences))), one.commands))
    trials = [
        None if one.untried or trial is None else replace(trial, options={**trial.options, "apply_suggestion": number})
        for number, one in enumerate(suggestions, 1)
    ]
    yield from numbered_changes(rows, every=every, trials=trials)


# The section of ``--withstand``: the number of failures that the pod can withstand.

#: The number of nodes that are named in a set whose loss leaves no feasible node.
_WITHSTANDING_MOST_NAMED: Final = 8


def withstanding_section(found: WithstandingData | None) -> Document:
    """Lay out the failures that the pod can withstand; ``None`` if it fits nowhere even without any."""
    yield GAP
    if found is None:
        yield Paragraph("The pod withstands no failure: it fits on no node even without one.", Tone.STRONG)
        return
    yield Paragraph(_nodes(found), Tone.STRONG)
    fatal = [zone.zone for zone in found.zones if not zone.left]
    if fatal:
        yield Paragraph(f"Zones: the loss of {listed(fatal, 'or')} leaves the pod without a node.", Tone.STRONG)
    elif found.zones:
        yield Paragraph(f"Zones: the pod withstands the loss of any one of {len(found.zones)}.", Tone.STRONG)
    if found.zones:
        rows = [
            (zone.zone, str(zone.nodes), str(zone.feasible_nodes), str(zone.left) if zone.left else "none")
            for zone in found.zones
        ]
        headings = ("lost zone", "nodes", "feasible", "feasible after")
        tones = [Tone.PLAIN if zone.left else Tone.BAD for zone in found.zones]
        yield table(headings, rows, numeric=(1, 2, 3), tones=tones)
    if found.across:
        can = f"{listed(found.across)} can reject a node after the loss of others"
        tried = f"so losses were simulated: {counted(found.tried, 'cluster')} evaluated"
        yield Paragraph(f"{can}, {tried}", Tone.FAINT, INDENT)
    text = "the pods of a lost node are lost, too; their replacements stay pending and take no capacity before this pod"
    yield Paragraph(text, Tone.FAINT, INDENT)


def _nodes(found: WithstandingData) -> str:
    """Return the result for node failures in words."""
    fits = counted(len(found.feasible), "node")
    if found.exact and found.stands and set(found.last) == set(found.feasible):
        return f"Nodes: the pod withstands the loss of any {found.stands} of {fits}."
    named = listed(found.last, most=_WITHSTANDING_MOST_NAMED) if found.last else ""
    loss = f"the loss of {named} leaves the pod without a node" if named else ""
    if found.exact and not found.stands:
        return f"Nodes: the pod fits on {fits}; {loss}."
    if found.exact:
        return f"Nodes: the pod withstands the loss of any {found.stands}; {loss}."
    parts = [f"it withstands the loss of any {found.stands}"] if found.stands else []
    parts.append(
        f"{loss}, and the search for a smaller loss that does was not finished"
        if loss
        else "the search for a loss that leaves the pod without a node was not finished"
    )
    return f"Nodes: the pod fits on {fits}; {'; '.join(parts)}."


#: With so many node groups, their answers are a table.
_FEW_GROUPS: Final = 2
#: The plugin whose shortages are met by lower requests.
_FIT: Final = "NodeResourcesFit"
#: The plugin column for nodes that are rejected before any filter runs.
_BEFORE_FILTERS: Final = "PreFilter"


class ExplainView(View, frozen=True, kw_only=True):
    """The part of an explanation that is shown."""

    #: The only nodes to show; empty for the whole cluster.
    nodes: tuple[str, ...] = ()
    #: True to show nodes one by one instead of in groups.
    nodes_alone: bool = False
    #: True to show raw and normalized scores and every reason.
    reasons: bool = False
    #: True to show the changes that admission made to the pod.
    admission: bool = False
    #: True to show the failures that the pod can withstand.
    withstand: bool = False
    #: True if a suggestion was applied, which other commands cannot do.
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


#: The state of a pod in the heading of a page.
_STATES: Final = {
    Outcome.SCHEDULED: "Fits",
    Outcome.UNSCHEDULABLE: "Pending",
    Outcome.GATED: "Gated",
    Outcome.ERROR: "Error",
    Outcome.OTHER_SCHEDULER: "Another scheduler",
}


def _heading(explanation: Explanation) -> tuple[str, str]:
    """Return the subject and its state."""
    workload = explanation.workload
    state = _STATES[explanation.verdict.result] if explanation.admitted else "Refused"
    if workload is not None and len(workload.pods) != 1:
        return f"{workload.kind} {workload.namespace}/{workload.name}", state
    return f"Pod {explanation.pod.key}", state


def document(explanation: Explanation, view: View) -> Document:
    """Lay out an answer."""
    if not isinstance(view, ExplainView):
        view = ExplainView(
            now=view.now, wide=view.wide, drawn=view.drawn, overview=view.overview, describe=view.describe
        )
    style = {Outcome.SCHEDULED: Tone.GOOD, Outcome.GATED: Tone.MIXED}.get(explanation.verdict.result, Tone.BAD)
    for refusal in explanation.quota_refusals:
        yield Paragraph(refusal, Tone.BAD)
    yield from first_line(explanation, explanation.verdict.summary, style, _heading(explanation))
    yield from header(explanation, view.now, explanation.pod)
    yield from diagnosis_section(explanation.diagnoses)
    if explanation.autoscaler is not None:
        yield from autoscaler_section(explanation.autoscaler, every=view.why)
    for note in explanation.notes:
        yield Paragraph(f"note: {note}", Tone.CAUTION)
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
            lowered=any(reason.plugin == _FIT for node in explanation.nodes for reason in node.reasons),
            # The numbers are those of the nodes that were requested.
            trial=None
            if view.applied
            else Question("Try it", "explain", explanation.pod.key, {"node": view.nodes} if view.nodes else {}),
        )
    yield from checks_section(explanation.diagnoses)
    if view.drawn:
        from kschedctl.questions.explain.document_of_nodes import charts_section

        # The descriptions are those of the cluster without an applied suggestion.
        describe = view.describe if not view.applied else None
        yield from charts_section(explanation, view.overview, describe, view.nodes or _one_node(explanation))
    yield from cautions(explanation)
    if explanation.pre_filter is not None and explanation.pre_filter.code == "Success":
        yield from next_questions([*_about_changes(explanation, view), *_about_nodes(explanation, view)])


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
        yield from search_section(explanation.search, every_node=view.every_node)
    rejection = explanation.pre_filter
    if rejection is not None and rejection.code != "Success":
        yield GAP
        why = ", ".join(rejection.reasons)
        by = f" ({rejection.plugin})" if rejection.plugin else ""
        yield Paragraph(f"Rejected before any node is filtered: {why}{by}")
        return
    if view.every_node and not (view.drawn and (view.overview is not None or not view.nodes_alone)):
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
    else:
        yield from _groups_section(explanation)
    if view.why:
        # Most answers have no such section.
        from kschedctl.questions.explain.document_of_nodes import claims_section

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
    usage = explanation.usage
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
        why = wording(node.reasons).replace("\n", ", ")
        left = explanation.pre_filter_nodes
        yield Paragraph(
            f"{why}: {_BEFORE_FILTERS} leaves {listed(left) or 'no node'}" if left is not None else why, indent=2
        )
        return
    story = next((story for story in explanation.stories if story.name == node.name), None)
    by_plugin: dict[str, list[ReasonData]] = {}
    for reason in node.reasons:
        by_plugin.setdefault(reason.plugin, []).append(reason)
    names = [check.plugin for check in explanation.filters if view.why and not check.skipped]
    names += [plugin for plugin in by_plugin if plugin not in names]
    rows = []
    for name in names:
        said = by_plugin.get(name, ())
        checks = (check for check in (story.checks if story is not None else ()) if check.plugin == name)
        rows.append((name, "no" if said else "passes", compared(said, checks)))
    if rows:
        yield table(("filter", "verdict", "reason"), rows)
    if view.why:
        yield from domains_section(node.reasons)
    skipped = [check.plugin for check in explanation.filters if check.skipped]
    if view.why and skipped:
        yield Paragraph(f"nothing to check for this pod: {', '.join(skipped)}", Tone.FAINT, indent=2)
    if view.why:
        from kschedctl.questions.explain.document_of_nodes import node_claims_section

        yield from node_claims_section(explanation.claims, node)
    if story is not None:
        yield from room_section(story)
    if explanation.scores is not None and any(scored.name == node.name for scored in explanation.scores.nodes):
        yield GAP
        yield from scores_in_full(explanation.scores, only=node.name)
    if story is not None and story.scores:
        yield from arithmetic_section(story.scores)


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


# The document of ``explain`` for many pods: counts by outcome, and one row per cause.

_MOST_NAMED: Final = 3
_WORDS: Final = {
    Outcome.ERROR: "error",
    Outcome.UNSCHEDULABLE: "fits nowhere",
    Outcome.GATED: "not tried",
    Outcome.SCHEDULED: "fits",
}
#: Up to 9 answers, and all that are sorted, are decided before the first one is printed: the first line counts them.
_FEW: Final = 9


def stream_document(
    stream: AnswerStream[Explanation], view: View, document: Callable[[Explanation, View], Document]
) -> Document:
    """Lay out the answers of a stream in full, with a summary of up to 9 pods in the first line."""
    if stream.total < 2:
        yield from one_by_one(stream, view, document)
        return
    view = view.among(stream.total)
    answers: Iterable[Explanation] = stream
    shown: Provenance | None = None
    if stream.total <= _FEW or stream.order is not None:
        answers = stream.in_order()
        if len(answers) == 1:
            yield from one_by_one(answers, view, document)
            return
        if len(answers) == stream.total:
            number = Counter(answer.fate for answer in answers)
            yield from _first_line(merged_envelope(answers), number, f"; {EACH_ALONE}", _beside_running(answers))
            shown = provenance(answers[0], view.now)
            yield shown
    if shown is None:
        yield from each_alone(counted(stream.total, "pod"))
    yield GAP
    yield from one_by_one(answers, view, document, shown)


def _beside_running(answers: Sequence[Explanation]) -> str:
    """Return the number of pods that run, and the subject of the others, for pods of one workload; else empty."""
    workloads = {replace(answer.workload, pods=()) if answer.workload is not None else None for answer in answers}
    workload = workloads.pop() if len(workloads) == 1 else None
    return f"{running_in_words(workload)}; the other " if workload is not None and workload.running else ""


def _first_line(basis: Envelope, number: Counter[str], note: str = "", start: str = "") -> Document:
    """Lay out the number of pods by outcome, after the words about other pods."""
    fine = number[Outcome.SCHEDULED] == number.total()
    text = f"{start}{outcomes_in_words(number)}{note}."
    yield from first_line(basis, text, Tone.GOOD if fine else Tone.BAD, ("Pods",))


def many_document(answer: ExplanationSummary, view: View) -> Document:
    """Lay out a summary of many pods."""
    fates = answer.fates
    yield from _first_line(
        answer,
        Counter({outcome: sum(len(fate.pods) for fate in fates if fate.outcome is outcome) for outcome in Outcome}),
    )
    yield from header(answer, view.now)
    rows = [(str(len(f.pods)), listed(f.pods, most=_MOST_NAMED), _WORDS[f.outcome], f.why) for f in fates]
    yield from (GAP, table(("pods", "names", "outcome", "reason"), rows, numeric=(0,)))
    yield from each_alone(indent=2)
    yield from cautions(answer)
    yield from next_questions(
        [
            Question("One pod in detail", "explain", fates[0].pods[0]),
            Question("All pods in detail", "explain", options={"output": "wide"}),
        ]
    )


# The document of a DaemonSet: the number of its nodes that its pods fit on, and the reasons for the others.


#: The number of causes in the first line for which nodes are left out.
_MOST_CAUSES: Final = 2


def daemon_set_document(answer: DaemonSetExplanation, view: View) -> Document:
    """Lay out the pods of a DaemonSet together."""
    answers, nodes = answer.answers, answer.nodes
    first = answers[0]
    workload = first.workload
    name = f"{workload.kind} {workload.namespace}/{workload.name}" if workload is not None else first.pod.name
    fits = sum(node.fits for node in nodes)
    groups = group_nodes(nodes)
    why = "".join(f"; {len(group.nodes)}: {group.why.splitlines()[0]}" for group in groups)
    left = [each for each in answer.left_out if not each.expected]
    n_left = sum(len(each.nodes) for each in left)
    out = (
        f"; {n_left} {'is' if n_left == 1 else 'are'} left out: {'; '.join(each.cause for each in left)}"
        if left
        else ""
    )
    held = f" {answer.held}; once created, it" if answer.held else ""
    text = f"{name}{held} fits on {fits} of {counted(len(nodes) + n_left, 'node')}{why}{out}."
    basis = merged_envelope(answers)
    tone = Tone.MIXED if left else Tone.GOOD
    all_fit = fits == len(nodes) and not held
    yield from first_line(basis, text, tone if all_fit else Tone.BAD, (name, "Fits" if all_fit else "Incomplete"))
    yield from header(first, view.now, first.pod)
    for each in answer.left_out:
        if each.expected:
            yield Paragraph(f"left out: {each.cause}", Tone.FAINT)
    if groups:
        rows = [
            (
                str(len(group.nodes)),
                [node.name for node in group.nodes],
                group.plugin,
                [*group.why.split("\n"), *((group.closest,) if group.closest else ())],
            )
            for group in groups
        ]
        yield from (GAP, table(("nodes", "names", "plugin", "reason"), rows, numeric=(0,), identifiers=(1,)))
    yield from cures_section(answer.suggestions, every=view.wide)
    yield from cautions(basis)
    questions = [Question("Pod by pod", "explain", first.pod.key, {"output": "wide"})]
    if any(each.preemption is not None and each.preemption.nominated for each in answers):
        questions.insert(0, Question("Victims", "preempt", first.pod.key))
    yield from next_questions(questions)


# The section about the search for feasible nodes: the nodes by start, or a note that all nodes are scored.

#: The number of nodes in the table, unless all are requested.
_SHORT: Final = 10


def search_section(search: SearchData, *, every_node: bool) -> Document:
    """Lay out the nodes that the starts of the search lead to; without them, the difference to kube-scheduler.

    Args:
        every_node: True to show all nodes instead of the first 10.
    """
    if search.scope is not SearchScope.SAMPLE:
        return
    stops = f"kube-scheduler stops at {counted(search.nodes_to_find, 'feasible node')} (percentageOfNodesToScore)"
    if not search.followed:
        yield Paragraph(f"all nodes are scored; {stops}", Tone.FAINT, INDENT)
        return
    shown = search.nodes if every_node else search.nodes[:_SHORT]
    rows = [(node.name, str(node.starts), f"{node.chance:.1%}") for node in shown]
    yield from (GAP, table(("node", "starts", "chance"), rows, numeric=(1, 2), identifiers=(0,)))
    yield from and_more(len(search.nodes) - len(shown))
    text = (
        "chance if all starts are equally likely, nodes are searched one after another, and the scheduler started "
        "after the last node was added; the scores above are those over all feasible nodes"
    )
    yield Paragraph(text, Tone.FAINT, INDENT)
