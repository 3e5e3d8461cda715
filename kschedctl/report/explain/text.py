"""An explanation as text: the answer first, then what it rests on, and the next question's command."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from kschedctl.api.wording import listed
from kschedctl.report.explain.admission import print_admission, refusals
from kschedctl.report.explain.data import Explanation, NodeData, ReasonData, Result
from kschedctl.report.explain.domains import print_domains
from kschedctl.report.explain.scores import print_scores, print_scores_in_full
from kschedctl.report.frame import print_cautions, print_header, print_questions
from kschedctl.report.groups import deciding_reasons, group_nodes, wording
from kschedctl.report.render import layout

if TYPE_CHECKING:
    from rich.console import Console


#: What stands for the plugin where nodes are out before any filter runs.
_BEFORE_FILTERS: Final = "PreFilter"


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What of an explanation is shown.

    Attributes
    ----------
    now : datetime
        The time that ages are counted to.
    command : str
        The command that asks for this answer, for the next one's.
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
    """

    now: datetime
    command: str
    preempt_command: str
    nodes: tuple[str, ...] = ()
    every_node: bool = False
    why: bool = False
    admission: bool = False


def print_explanation(console: Console, explanation: Explanation, view: View) -> None:
    """Print an answer.

    Parameters
    ----------
    console : Console
        Where to.
    explanation : Explanation
        The answer.
    view : View
        What of it is shown.
    """
    style = {Result.SCHEDULED: "bold green", Result.GATED: "bold yellow"}.get(explanation.verdict.result, "bold red")
    for refusal in refusals(explanation):
        layout.paragraph(console, refusal, "bold red")
    layout.paragraph(console, explanation.verdict.summary, style)
    print_header(console, explanation.pod, explanation.rules, explanation.snapshot, view.now)
    if view.admission:
        print_admission(console, explanation)
    if view.nodes:
        for node in explanation.nodes:
            if node.name in view.nodes:
                _print_node(console, explanation, node, view)
    else:
        _print_cluster(console, explanation, view)
    if explanation.message:
        console.print()
        layout.paragraph(console, "What kube-scheduler writes", "bold")
        layout.verbatim(console, explanation.message)
    print_cautions(console, explanation.warnings, explanation.missing, explanation.not_modelled)
    _print_next(console, explanation, view)


def _print_cluster(console: Console, explanation: Explanation, view: View) -> None:
    if explanation.scores is not None:
        console.print()
        if view.why:
            print_scores_in_full(console, explanation.scores, every_node=view.every_node)
        else:
            print_scores(console, explanation.scores, explanation.verdict.nodes, every_node=view.every_node)
    rejection = explanation.pre_filter
    if rejection is not None and rejection.code != "Success":
        console.print()
        why = ", ".join(rejection.reasons)
        by = f" ({rejection.plugin})" if rejection.plugin else ""
        layout.paragraph(console, f"No node is looked at: {why}{by}")
        return
    if view.every_node:
        _print_every_node(console, explanation)
    else:
        _print_groups(console, explanation)


def _print_groups(console: Console, explanation: Explanation) -> None:
    groups = group_nodes(explanation.nodes)
    if not groups:
        return
    rows = []
    for group in groups:
        lines = [group.why]
        if group.closest:
            lines.append(f"closest: {group.closest}")
        n_nodes = len(group.nodes)
        lines += [f"{'also' if n == n_nodes else f'{n} also'}: {text}" for text, n in group.also]
        rows.append((str(n_nodes), group.plugin or _BEFORE_FILTERS, "\n".join(lines)))
    console.print()
    layout.table(console, ("nodes", "plugin", "why not"), rows, numeric=(0,))


def _print_every_node(console: Console, explanation: Explanation) -> None:
    totals = {n.name: n.total for n in explanation.scores.nodes} if explanation.scores is not None else {}
    best = set(explanation.verdict.nodes)
    ordered = sorted(explanation.nodes, key=lambda node: (not node.fits, -totals.get(node.name, 0)))
    zones = any(node.zone for node in ordered)
    rows, styles = [], []
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
            rows.append((*head, plugin, text))
            styles.append("bold" if node.name in best else "")
    console.print()
    headings = ("node", *(("zone",) if zones else ()), "verdict", "plugin", "why")
    layout.table(console, headings, rows, styles=styles)


def _print_node(console: Console, explanation: Explanation, node: NodeData, view: View) -> None:
    zone = f" (zone {node.zone})" if node.zone else ""
    console.print()
    if node.fits:
        end = ", and no node is better" if node.name in explanation.verdict.nodes else ""
        layout.paragraph(console, f"{node.name}{zone}: fits{end}.", "bold")
    elif node.plugin:
        text = f"{node.name}{zone}: does not fit; kube-scheduler stops at {node.plugin}."
        layout.paragraph(console, text, "bold")
    else:
        layout.paragraph(console, f"{node.name}{zone}: does not come into question.", "bold")
        layout.paragraph(console, _left_by_pre_filter(explanation, node), indent=2)
        return
    _print_filters(console, explanation, node, every=view.why)
    if explanation.scores is not None and any(scored.name == node.name for scored in explanation.scores.nodes):
        console.print()
        print_scores_in_full(console, explanation.scores, only=node.name)


def _left_by_pre_filter(explanation: Explanation, node: NodeData) -> str:
    """Why the filters do not look at a node."""
    why = wording(node.reasons)
    left = explanation.pre_filter_nodes
    return f"{why}: {_BEFORE_FILTERS} leaves {listed(left) or 'no node'}" if left is not None else why


def _print_filters(console: Console, explanation: Explanation, node: NodeData, *, every: bool) -> None:
    """Print what the filters say of a node: all of them, or those that turn it away."""
    by_plugin: dict[str, list[ReasonData]] = {}
    for reason in node.reasons:
        by_plugin.setdefault(reason.plugin, []).append(reason)
    names = [check.plugin for check in explanation.filters if every and not check.skipped]
    names += [plugin for plugin in by_plugin if plugin not in names]
    rows = []
    for name in names:
        said = by_plugin.get(name, ())
        rows.append((name, "no" if said else "passes", wording(said)))
    if rows:
        layout.table(console, ("filter", "verdict", "why"), rows)
    if every:
        print_domains(console, node.reasons)
    skipped = [check.plugin for check in explanation.filters if check.skipped]
    if every and skipped:
        layout.paragraph(console, f"nothing to check for this pod: {', '.join(skipped)}", "dim", indent=2)


def _print_next(console: Console, explanation: Explanation, view: View) -> None:
    questions: list[tuple[str, str]] = []
    fits = [node.name for node in explanation.nodes if node.fits]
    others = [node.name for node in explanation.nodes if not node.fits]
    looked_at = explanation.pre_filter is not None and explanation.pre_filter.code == "Success"
    if not looked_at:
        return
    if not view.nodes:
        if others and not explanation.schedulable:
            questions.append(("One node, step by step", f"--node {_next_node(explanation, others)} --why"))
        elif fits and not view.why:
            questions.append(("Why these scores", "--why"))
        if not view.every_node and len(explanation.nodes) > 1:
            questions.append(("Every node", "--nodes"))
    elif view.nodes and not view.why:
        questions.append(("Step by step", f"--node {view.nodes[0]} --why"))
    elif view.nodes:
        questions.append(("All nodes", "--nodes"))
    commands = [(question, f"{view.command} {options}") for question, options in questions]
    if explanation.preemption is not None and explanation.preemption.nominated:
        commands.insert(0, ("Who would be evicted", view.preempt_command))
    print_questions(console, commands)


def _next_node(explanation: Explanation, others: list[str]) -> str:
    """The node that is worth a closer look: the one preemption would take, else the closest, else the first."""
    if explanation.preemption is not None and explanation.preemption.nominated:
        return explanation.preemption.nominated[0]
    closest = (group.closest.partition(" ")[0] for group in group_nodes(explanation.nodes) if group.closest)
    return next(closest, others[0])
