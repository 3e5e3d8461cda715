"""Who would be evicted, as text: the answer, the victims, why them, and what happens next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from kschedctl.api.wording import counted, listed
from kschedctl.report.explain.data import NodeData
from kschedctl.report.frame import print_cautions, print_each_alone, print_header, print_questions
from kschedctl.report.groups import deciding_reasons, group_nodes, wording
from kschedctl.report.preempt.data import (
    Cause,
    NotHelpfulData,
    Outcome,
    Preemption,
)
from kschedctl.report.preempt.words import (
    below_words,
    duration,
    fates,
    lost_words,
    owner_words,
    running,
    violated,
)
from kschedctl.report.render import layout

if TYPE_CHECKING:
    from rich.console import Console

#: How many candidates are shown where not all are asked for: those taken, and those that lost.
_TAKEN: Final = 3
_LOST: Final = 5

_STYLES: Final = {
    Outcome.FITS: "bold green",
    Outcome.PREEMPTS: "bold yellow",
    Outcome.GATED: "bold yellow",
}
_RESULTS: Final = {
    Outcome.FITS: "fits as it is",
    Outcome.PREEMPTS: "",
    Outcome.NOT_HELPFUL: "evicting does not help",
    Outcome.NOT_ELIGIBLE: "may not evict",
    Outcome.DISABLED: "nobody is evicted",
    Outcome.GATED: "is not tried (gated)",
    Outcome.ERROR: "error",
}
_CAUSES: Final = {
    Cause.STILL_DOES_NOT_FIT: "not even without its pods of lower priority: ",
    Cause.NO_LOWER_PRIORITY: "",
    Cause.UNRESOLVABLE: "no pod's removal changes that: ",
    Cause.ERROR: "",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptView:
    """What is shown.

    Attributes
    ----------
    now : datetime
        The time that the snapshot's age is counted to.
    explain_command, preempt_command : str
        The commands about this pod, for the next questions.
    every : bool
        Whether all candidates and nodes are shown.
    """

    now: datetime
    explain_command: str
    preempt_command: str
    every: bool = False


def print_preemption(console: Console, answer: Preemption, view: PreemptView) -> None:
    """Print an answer.

    Parameters
    ----------
    console : Console
        Where to.
    answer : Preemption
        The answer.
    view : PreemptView
        What of it is shown.
    """
    layout.paragraph(console, answer.verdict.summary, _STYLES.get(answer.verdict.result, "bold red"))
    print_header(console, answer.pod, answer.rules, answer.snapshot, view.now)
    if answer.verdict.result is not Outcome.FITS:
        _print_victims(console, answer, every=view.every)
        _print_lost(console, answer, every=view.every)
        _print_not_helpful(console, answer, every=view.every)
        _print_message(console, answer)
        _print_next(console, answer)
    if answer.candidates_enough is not None:
        console.print()
        layout.paragraph(
            console,
            f"All {len(answer.candidates)} candidates are compared here. kube-scheduler begins at a random node and "
            f"stops at {answer.candidates_enough} of them, so it may take another: --min-candidate-nodes and --offset.",
            "yellow",
        )
    print_cautions(console, answer.warnings, answer.missing, answer.not_modelled)
    question = {Outcome.FITS: "Why it fits", Outcome.PREEMPTS: "Why not without"}.get(answer.verdict.result, "Why not")
    questions = [(question, view.explain_command)]
    if not view.every and (len(answer.candidates) > len(answer.chosen[:_TAKEN]) or answer.not_helpful):
        questions.append(("Every candidate and node", f"{view.preempt_command} -o wide"))
    print_questions(console, questions)


def print_preemptions(console: Console, answers: Sequence[Preemption], now: datetime, one: str, every: str) -> None:
    """Print several answers, a row each.

    Parameters
    ----------
    console : Console
        Where to.
    answers : sequence of Preemption
        The answers, at least one.
    now : datetime
        The time that the snapshot's age is counted to.
    one, every : str
        The commands about the first pod and about all of them in full.
    """
    helped = [a for a in answers if a.verdict.result is Outcome.PREEMPTS]
    fitting = [a for a in answers if a.verdict.result is Outcome.FITS]
    rest = len(answers) - len(helped) - len(fitting)
    verdicts = (
        f"{len(fitting)} {'fits' if len(fitting) == 1 else 'fit'}",
        f"{len(helped)} would evict others",
        f"{rest} {'stays' if rest == 1 else 'stay'} pending",
    )
    layout.paragraph(console, f"{counted(len(answers), 'pending pod')}: {', '.join(verdicts)}.", "bold")
    print_header(console, None, answers[0].rules, answers[0].snapshot, now)
    rows = []
    for answer in answers:
        victims = answer.chosen[0].victims if answer.chosen else ()
        budget = "violated" if answer.verdict.violates_budget else "-"
        where = listed([c.name for c in answer.chosen], "or") or _RESULTS[answer.verdict.result]
        whom = listed([victim.name for victim in victims]) or "-"
        name = f"{answer.pod.namespace}/{answer.pod.name}"
        rows.append((name, str(answer.pod.priority), where, whom, budget))
    console.print()
    layout.table(console, ("pending pod", "priority", "makes room on", "evicting", "budget"), rows, numeric=(1,))
    print_each_alone(console, indent=2)
    print_questions(console, [("One of them", one), ("All in full", every)])


def _print_victims(console: Console, answer: Preemption, *, every: bool) -> None:
    if not answer.chosen:
        return
    shown = answer.chosen if every else answer.chosen[:_TAKEN]
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
    console.print()
    headings = ("node", "victim", "priority", "running", "owner", "violates", "grace")
    layout.table(console, headings, rows, numeric=(2, 6))
    if budgets:
        console.print()
        columns = ("node", "disruption budget", "allows", "evicted", "below that")
        layout.table(console, columns, budgets.values(), numeric=(2, 3))
    if len(shown) < len(answer.chosen):
        rest = len(answer.chosen) - len(shown)
        layout.paragraph(console, f"and {counted(rest, 'node')} more that would do as well", "dim", indent=2)


def _print_lost(console: Console, answer: Preemption, *, every: bool) -> None:
    lost = [(c, c.lost_at) for c in answer.candidates if c.lost_at is not None]
    if not lost:
        return
    shown = lost if every else lost[:_LOST]
    rows = [(c.name, str(len(c.victims)), violated(c.victims), lost_words(c, at, answer)) for c, at in shown]
    console.print()
    layout.table(console, ("candidates that lost", "victims", "violates", "lost at"), rows, numeric=(1,))
    if len(shown) < len(lost):
        layout.paragraph(console, f"and {len(lost) - len(shown)} more that lost", "dim", indent=2)


def _print_not_helpful(console: Console, answer: Preemption, *, every: bool) -> None:
    if answer.not_helpful:
        console.print()
        if every:
            rows = [(n.name, n.plugin or "-", _why(n)) for n in answer.not_helpful]
            layout.table(console, ("cannot help", "plugin", "why"), rows)
        else:
            layout.table(console, ("nodes", "plugin", "why evicting does not help"), _groups(answer), numeric=(0,))
    if answer.not_looked_at:
        text = f"{counted(answer.not_looked_at, 'node')} not looked at: enough candidates were found before"
        layout.paragraph(console, text, "dim", indent=2)


def _groups(answer: Preemption) -> Iterator[Sequence[str]]:
    for cause, prefix in _CAUSES.items():
        nodes: list[NodeData] = [node for node in answer.not_helpful if node.cause is cause]
        for group in group_nodes(nodes):
            closest = f"\nclosest: {group.closest}" if group.closest else ""
            yield str(len(group.nodes)), group.plugin or "-", prefix + group.why + closest


def _why(node: NotHelpfulData) -> str:
    return _CAUSES[node.cause] + wording(deciding_reasons(node))


def _print_message(console: Console, answer: Preemption) -> None:
    if answer.preemption_message:
        console.print()
        layout.paragraph(console, "What kube-scheduler writes of it", "bold")
        layout.verbatim(console, answer.preemption_message)


def _print_next(console: Console, answer: Preemption) -> None:
    after = answer.next
    if after is None:
        return
    pod = f"{answer.pod.namespace}/{answer.pod.name}"
    stop = f"within {duration(after.wait_seconds)}" if after.wait_seconds else "at once"
    victims = next(c.victims for c in answer.candidates if c.name == after.node)
    going = [victim.name for victim in victims if not victim.terminating]
    start = "Next" if len(answer.chosen) == 1 else f"Next, on {after.node}"
    deleted = f"; kube-scheduler deletes {listed(going)}" if going else ""
    gone = "that is gone" if len(victims) == 1 else f"all {len(victims)} are gone"
    console.print()
    layout.paragraph(console, f"{start}: {pod} waits with nominatedNodeName {after.node}{deleted}.")
    layout.paragraph(console, f"It can start as soon as {gone}, which is {stop}.", indent=2)
    for text in fates(after.victims):
        layout.paragraph(console, text, indent=2)
    if after.loses_nomination:
        verb = "is" if len(after.loses_nomination) == 1 else "are"
        text = f"{listed(after.loses_nomination)} {verb} no longer nominated to {after.node}."
        layout.paragraph(console, text, indent=2)
