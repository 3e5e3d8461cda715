"""The document of ``preempt``: the answer, the victims, the reason for choosing the node, and the next steps."""

from collections.abc import Sequence
from typing import Final

from kschedctl.common.wording import counted, duration, listed
from kschedctl.questions.answer import merged_envelope
from kschedctl.questions.charts import Bar, Bars, Colouring, Kind, NodeMap, Segment
from kschedctl.questions.document import (
    GAP,
    Document,
    Heading,
    Paragraph,
    Phrases,
    Question,
    Table,
    Tone,
    Verbatim,
    and_more,
    table,
)
from kschedctl.questions.frame import (
    View,
    cautions,
    cures_section,
    diagnosis_section,
    each_alone,
    first_line,
    header,
    next_questions,
    one_by_one,
    pod_group_section,
    provenance,
)
from kschedctl.questions.node_groups import deciding_reasons, group_nodes, wording
from kschedctl.questions.node_map import NodeResult, rejection_lines, results_map
from kschedctl.questions.nodes.answer import NodesOverview
from kschedctl.questions.preempt.answer import (
    Cause,
    PreemptCandidateData,
    Preemption,
    PreemptionList,
    Result,
    Threat,
    VictimData,
)
from kschedctl.questions.preempt_words import (
    below_words,
    deletions,
    fates,
    in_vain_words,
    lost_words,
    one_of_words,
    owner_words,
    preemptor_words,
    returning,
    running,
    sets_words,
    violated,
)

# The charts of preemption: a map of the nodes by their part in it, and the candidates with what decided.

#: The most candidates with a bar, and with a row in the table.
_MOST_BARS: Final = 20
_MOST_ROWS: Final = 200
_BEST: Final = "best candidate"
_PREEMPT_CHARTS_CAUSES: Final = {
    Cause.STILL_DOES_NOT_FIT: "does not fit even without its pods of lower priority",
    Cause.DECLINED: "declined by an extender",
    Cause.NO_LOWER_PRIORITY: "has no pods of lower priority",
    Cause.UNRESOLVABLE: "removing pods does not help",
    Cause.ERROR: "error",
}
_VICTIMS: Final = (
    Kind("victims whose eviction violates a budget", Tone.BAD),
    Kind("other victims", Tone.MIXED),
    Kind("already being deleted", Tone.FAINT),
)


def preemption_map(answer: Preemption, overview: NodesOverview) -> NodeMap:
    """Return a map of the nodes: best candidates, others by the criterion at which they lost, and the hopeless ones."""
    results = {}
    for each in answer.candidates:
        lost, victims = each.lost_at, f"evicts {counted(len(each.victims), 'pod')}"
        part = _BEST if lost is None else _criterion(lost.number, lost.criterion)
        lines = (victims,) if lost is None else (f"lost at {lost_words(each, lost, answer)}", victims)
        results[each.name] = NodeResult((part, "none"), lines)
    for node in answer.not_helpful:
        results[node.name] = NodeResult(
            (_PREEMPT_CHARTS_CAUSES[node.cause], node.plugin or "none"), rejection_lines(node)
        )
    criteria = sorted({(at.number, _criterion(at.number, at.criterion)) for each in answer.candidates
                       if (at := each.lost_at) is not None})  # fmt: skip
    kinds = (
        Kind(_BEST, Tone.GOOD),
        *(Kind(name) for _, name in criteria),
        *(Kind(name) for name in _PREEMPT_CHARTS_CAUSES.values()),
    )
    plugins = sorted({node.plugin or "none" for node in answer.not_helpful} | {"none"})
    colourings = (
        Colouring("part in preemption", kinds),
        Colouring("plugin that rejects the pod", tuple(map(Kind, plugins))),
    )
    return results_map(overview.nodes, results, colourings, answer.pod.requests)


def _criterion(number: int, criterion: str) -> str:
    return f"lost at {number}. {criterion}"


def candidates_bars(answer: Preemption) -> Bars:
    """Return the number of victims of each candidate, and the criterion that decided."""
    longest = max(len(each.victims) for each in answer.candidates) or 1
    shown = answer.candidates[:_MOST_BARS]
    left = len(answer.candidates) - len(shown)
    return Bars(
        title="Candidates",
        measure="victims",
        headings=("node", "victims", "decided by"),
        kinds=_VICTIMS,
        rows=tuple(_bar(each, answer, longest) for each in shown),
        note=f"the best {len(shown)} of {counted(len(answer.candidates), 'candidate')}" if left else "",
        numbers=False,
    )


def _bar(candidate: PreemptCandidateData, answer: Preemption, longest: int) -> Bar:
    victims = candidate.victims
    violating = sum(victim.violates for victim in victims)
    stopping = sum(victim.terminating and not victim.violates for victim in victims)
    sizes = (violating, len(victims) - violating - stopping, stopping)
    segments = tuple(Segment(i, size, counted(size, "pod")) for i, size in enumerate(sizes) if size)
    lost = candidate.lost_at
    decided = "best" if lost is None else lost_words(candidate, lost, answer)
    return Bar((candidate.name, counted(len(victims), "pod"), decided), segments, longest)


def criteria_table(answer: Preemption) -> Table:
    """Return the numbers of each candidate that kube-scheduler compares, in its order."""
    rows = []
    for candidate in answer.candidates[:_MOST_ROWS]:
        priorities = [victim.priority for victim in candidate.victims]
        numbers = (candidate.pdb_violations, max(priorities, default=0), sum(priorities), len(priorities))
        rows.append((candidate.name, *map(str, numbers), _start(candidate.victims), violated(candidate.victims)))
    headings = (
        "candidate",
        "1. budget violations",
        "2. highest priority",
        "3. sum of priorities",
        "4. victims",
        "5. start of the most important victims",
        "violates",
    )
    return table(headings, rows, numeric=range(1, 5), identifiers=(0,))


def _start(victims: Sequence[VictimData]) -> str:
    """Return the earliest start of the victims of the highest priority; ``-`` if none has started."""
    highest = max((victim.priority for victim in victims), default=0)
    starts = [v.started_at for v in victims if v.priority == highest and v.started_at is not None]
    return f"{min(starts):%Y-%m-%d %H:%M:%S} UTC" if starts else "-"


#: The number of best candidates, and (``_LOST``) of candidates that lost, without ``-o wide``.
_TAKEN: Final = 3
#: The number of pods up to which each has its own row; beyond it, pods with the same victims share one.
_FEW: Final = 8
_LOST: Final = 5
#: The most of the best candidates whose victims are shown in formats that draw.
_DRAWN: Final = 20

_STYLES: Final = {Result.FITS: Tone.GOOD, Result.PREEMPTS: Tone.MIXED, Result.GATED: Tone.MIXED}
_RESULTS: Final = {
    Result.FITS: "fits without preemption",
    Result.PREEMPTS: "",
    Result.NOT_HELPFUL: "preemption does not help",
    Result.NOT_ELIGIBLE: "is not allowed to preempt",
    Result.DISABLED: "preemption is disabled",
    Result.GATED: "is not tried (gated)",
    Result.ERROR: "error",
}
_CAUSES: Final = {
    Cause.STILL_DOES_NOT_FIT: "does not fit even without its pods of lower priority: ",
    Cause.DECLINED: "preemption would help, but ",
    Cause.NO_LOWER_PRIORITY: "",
    Cause.UNRESOLVABLE: "removing pods does not help: ",
    Cause.ERROR: "",
}


def document(answer: Preemption, view: View) -> Document:
    """Lay out an answer."""
    tone = _STYLES.get(answer.verdict.result, Tone.BAD)
    by_group = answer.group is not None and bool(answer.group.victims)
    tone = tone if answer.helped or tone is not Tone.MIXED else Tone.BAD
    yield from first_line(answer, answer.verdict.summary, tone, (f"Preemption for {answer.pod.key}",))
    yield from header(answer, view.now, answer.pod)
    if answer.verdict.result is not Result.FITS:
        yield from diagnosis_section(
            answer.diagnoses, first_is_told=answer.verdict.result is not Result.PREEMPTS or by_group
        )
        if answer.group is not None:
            yield from pod_group_section(answer.group, every_member=view.wide)
        yield from _victims_section(answer, every=view.wide, most=_DRAWN if view.drawn else None)
        if not view.drawn:
            lost = [(c, c.lost_at) for c in answer.candidates if c.lost_at is not None]
            if lost:
                shown = lost if view.wide else lost[:_LOST]
                others = [
                    (c.name, str(len(c.victims)), violated(c.victims), lost_words(c, at, answer)) for c, at in shown
                ]
                headings = ("other candidates", "victims", "violates", "lost at")
                yield from (GAP, table(headings, others, numeric=(1,), identifiers=(0,)))
                yield from and_more(len(lost) - len(shown), " candidates")
        if answer.not_helpful:
            yield GAP
            if view.wide and not view.drawn:
                rows = [
                    (n.name, n.plugin or "-", (_CAUSES[n.cause] + wording(deciding_reasons(n))).split("\n"))
                    for n in answer.not_helpful
                ]
                yield table(("node", "plugin", "why preemption does not help"), rows, identifiers=(0,))
            else:
                causes = [
                    (
                        str(len(group.nodes)),
                        group.plugin or "-",
                        (*(prefix + group.why).split("\n"), *((group.closest,) if group.closest else ())),
                    )
                    for cause, prefix in _CAUSES.items()
                    for group in group_nodes(node for node in answer.not_helpful if node.cause is cause)
                ]
                yield table(("nodes", "plugin", "why preemption does not help"), causes, numeric=(0,))
        if answer.not_looked_at:
            text = f"{counted(answer.not_looked_at, 'node')} not tried: enough candidates were found first"
            yield Paragraph(text, Tone.FAINT, indent=2)
        yield from cures_section(answer.cures, every=view.wide)
        if view.drawn:
            if view.overview is not None and (answer.candidates or answer.not_helpful):
                yield from (GAP, preemption_map(answer, view.overview))
            if answer.candidates:
                yield from (GAP, candidates_bars(answer), criteria_table(answer))
        if answer.preemption_message:
            yield Heading("Message of kube-scheduler about preemption")
            yield Verbatim(answer.preemption_message)
        yield from _next_section(answer)
    if answer.candidates_enough is not None:
        yield GAP
        yield Paragraph(
            f"All {len(answer.candidates)} candidates are compared here. kube-scheduler begins at a random node and "
            f"stops at {answer.candidates_enough}, so it can choose another one: --min-candidate-nodes and --offset.",
            Tone.CAUTION,
        )
    yield from cautions(answer)
    questions = [Question("Explanation", "explain", answer.pod.key)]
    if not view.wide and (len(answer.candidates) > len(answer.chosen[:_TAKEN]) or answer.not_helpful):
        questions.append(Question("All candidates and nodes", "preempt", answer.pod.key, {"output": "wide"}))
    yield from next_questions(questions)


def list_document(found: PreemptionList, view: View) -> Document:
    """Lay out several answers, one row each; in full if the pods were named."""
    answers = found.items
    if len(answers) == 1:
        yield from document(answers[0], view)
        return
    yield from first_line(merged_envelope(answers), found.summary, Tone.STRONG, ("Preemption",))
    shown = provenance(answers[0], view.now)
    yield shown
    if view.named or view.wide:
        yield GAP
        yield from one_by_one(answers, view, document, shown)
        return
    alike: dict[tuple[str, ...], list[str]] = {}
    for answer in answers:
        victims = answer.chosen[0].victims if answer.chosen else ()
        budget = "violated" if answer.verdict.violates_budget else "-"
        # The outcome for a pod that evicts no other has the cause for which it does not fit.
        cause = answer.diagnoses[0].cause if answer.diagnoses and answer.verdict.result is not Result.FITS else ""
        outcome = f"{_RESULTS[answer.verdict.result]}: {cause}" if cause else _RESULTS[answer.verdict.result]
        where = listed([c.name for c in answer.chosen], "or") or outcome
        of_group = answer.group.victims if answer.group is not None else ()
        names = [*(victim.name for victim in victims), *(pod for unit in of_group for pod in unit.pods)]
        whom = listed(names) or "-"
        if answer.chosen and answer.chosen[0].tied_victims is not None:
            whom = f"{whom}; {one_of_words(answer.chosen[0].tied_victims)}"
        if answer.next is not None and answer.next.in_vain:
            whom = f"{whom}, in vain: {in_vain_words(answer.next)}"
        row = (str(answer.pod.priority), where, whom, budget)
        # Among many pods, those with the same victims share a row.
        key = row if len(answers) > _FEW else (*row, answer.pod.namespace, answer.pod.name)
        alike.setdefault(key, []).append(f"{answer.pod.namespace}/{answer.pod.name}")
    rows = [(listed(names, most=3), *key[:4]) for key, names in alike.items()]
    yield GAP
    yield table(("pending pod", "priority", "node", "victims", "budget"), rows, numeric=(1,), identifiers=(0, 2, 3))
    yield from each_alone(indent=2)
    yield from next_questions(
        [
            Question("One pod in detail", "preempt", answers[0].pod.key),
            Question("All pods in detail", "preempt", options={"output": "wide"}),
        ]
    )


def _victims_section(answer: Preemption, *, every: bool, most: int | None) -> Document:
    if not answer.chosen:
        return
    shown = answer.chosen[:most] if every else answer.chosen[:_TAKEN]
    rows = []
    budgets: dict[tuple[str, str], tuple[str, ...]] = {}
    for candidate in shown:
        for i, victim in enumerate(candidate.victims):
            name = candidate.name if i == 0 else ""
            grace = "stopping" if victim.terminating else duration(victim.grace_seconds)
            owner = owner_words(victim.owner)
            rows.append((name, victim.name, str(victim.priority), running(victim), owner, violated((victim,)), grace))
            for budget in sorted(victim.budgets, key=lambda budget: budget.violated):
                if not every and not budget.violated:
                    continue
                row = (str(budget.allowed), str(budget.evicted), below_words(budget))
                budgets[candidate.name, budget.name] = (candidate.name, budget.name, *row)
    yield GAP
    headings = ("node", "victim", "priority", "running", "owner", "violates", "grace")
    yield table(headings, rows, numeric=(2, 6), identifiers=(0, 1))
    if budgets:
        yield GAP
        columns = ("node", "disruption budget", "allows", "evicted", "excess")
        yield table(columns, budgets.values(), numeric=(2, 3), identifiers=(0, 1))
    if len(shown) < len(answer.chosen):
        rest = len(answer.chosen) - len(shown)
        yield Paragraph(f"and {counted(rest, 'more node')} that are equally good", Tone.FAINT, indent=2)
    for candidate in shown:
        tied = candidate.tied_victims
        if tied is not None:
            # The order of tied pods decides between sets of victims.
            yield GAP
            yield Paragraph(
                f"On {candidate.name}, pods tie in priority and start time. kube-scheduler evicts one of "
                f"{sets_words(tied)}, by the order of these pods in its cache, which a snapshot does not show:",
                Tone.CAUTION,
            )
            sets = tied.sets if every else tied.sets[:_LOST]
            yield table(("possible victims",), [(listed(victims),) for victims in sets], identifiers=(0,))
            if len(sets) < tied.count or not tied.complete:
                yield Paragraph("and others", Tone.FAINT, indent=2)


def _next_section(answer: Preemption) -> Document:
    after = answer.next
    if after is None:
        return
    pod = f"{answer.pod.namespace}/{answer.pod.name}"
    victims = next(c.victims for c in answer.candidates if c.name == after.node)
    going = [victim.name for victim in victims if not victim.terminating]
    start = "Next" if len(answer.chosen) == 1 else f"Next, on {after.node}"
    if any(candidate.tied_victims is not None for candidate in answer.chosen if candidate.name == after.node):
        start += ", with these victims"
    deleted = f"; kube-scheduler deletes {listed(going)}" if going else ""
    yield from (GAP, Paragraph(f"{start}: {pod} stays pending with nominatedNodeName {after.node}{deleted}."))
    for text in deletions(after.victims):
        yield Paragraph(text, indent=2)
    yield Paragraph(preemptor_words(after), indent=2)
    for text in (returning if after.in_vain else fates)(after.victims):
        yield Paragraph(text, indent=2)
    if after.loses_nomination:
        verb = "is" if len(after.loses_nomination) == 1 else "are"
        text = f"{listed(after.loses_nomination)} {verb} no longer nominated to {after.node}."
        yield Paragraph(text, indent=2)


# The document of ``preempt --victim``: the pending pods that would preempt a given pod.


def threat_document(answer: Threat, view: View) -> Document:
    """Lay out the pending pods that would preempt a pod."""
    yield from first_line(
        answer, answer.summary, Tone.BAD if answer.takers else Tone.GOOD, (f"Preemption of {answer.victim}",)
    )
    of_class = f" ({answer.priority_class_name})" if answer.priority_class_name else ""
    yield Phrases((f"priority {answer.priority}{of_class}", f"{counted(answer.pending, 'pod')} pending"))
    yield from header(answer, view.now)
    if answer.takers:
        rows = [
            (
                taker.name,
                str(taker.priority),
                taker.priority_class_name or "-",
                "yes" if taker.certain else "no, by chance",
                "violated" if taker.violates_budget else "-",
            )
            for taker in answer.takers
        ]
        yield GAP
        headings = ("preemptor", "priority", "class", "certain", "disruption budget")
        yield table(headings, rows, numeric=(1,), identifiers=(0,))
        name = answer.safe_class
        which = f"PriorityClass {name} is the lowest one" if name else "no PriorityClass has that"
        yield from (GAP, Paragraph(f"The pod would be safe from priority {answer.safe_priority} on: {which}."))
    yield from cautions(answer)
    if answer.takers:
        yield from next_questions(
            [Question("Preemption in detail", "preempt", answer.takers[0].name, {"victim": None})]
        )
