"""What would make a pod fit, as data and as text."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from kschedctl.api.wording import listed
from kschedctl.framework.remedy import Scope
from kschedctl.report.document import GAP, INDENT, Document, Paragraph, Tone, Verbatim, table
from kschedctl.report.envelope import Data
from kschedctl.why.commands import commands_of
from kschedctl.why.proof import Suggestion
from kschedctl.why.template import through_templates

_HEADING: Final = "What would make it fit (each tried)"


class ThenData(Data, frozen=True):
    """What is decided once the changes are made."""

    nodes: Annotated[
        tuple[str, ...], Meta(description="Where the pod can go, or where preemption would make room by evicting.")
    ]


class SuggestionData(Data, frozen=True):
    """Changes that were made and tried: with them the pod fits."""

    summary: Annotated[str, Meta(description="What to do, in a few words.")]
    kind: Annotated[Scope, Meta(description="What is changed: the pod, a node, or something else of the cluster.")]
    evicts: Annotated[tuple[str, ...], Meta(description="The pods that it costs, namespace/name.")]
    violates: Annotated[tuple[str, ...], Meta(description="The disruption budgets that this breaks, namespace/name.")]
    changes: Annotated[
        tuple[dict[str, Any], ...],
        Meta(
            description="Each is a patch of RFC 6902 with apiVersion, kind, namespace and name of its object, "
            "or has the object to create, or the one to delete."
        ),
    ]
    workload_changes: Annotated[
        tuple[dict[str, Any], ...],
        Meta(description="The changes of the pod as patches of its workload's template; empty where it has none."),
    ]
    commands: Annotated[
        tuple[str, ...],
        Meta(description="kubectl commands that make the changes; a line with # says what a manifest has to have."),
    ]
    then: ThenData


def suggestion_data(suggestion: Suggestion) -> SuggestionData:
    """Put a suggestion into data."""
    before = suggestion.before
    through = through_templates(before.cluster, before.pod, suggestion.remedies)
    return SuggestionData(
        summary=suggestion.summary,
        kind=suggestion.scope,
        evicts=suggestion.evicts,
        violates=suggestion.violates,
        changes=tuple(map(msgspec.to_builtins, suggestion.changes)),
        workload_changes=tuple(map(msgspec.to_builtins, through)),
        commands=commands_of(before.cluster, suggestion.remedies, through),
        then=ThenData(suggestion.nodes),
    )


def suggestions_section(
    suggestions: tuple[SuggestionData, ...], tried: int, *, exhausted: bool, every: bool
) -> Document:
    """Lay out what would make a pod fit.

    Parameters
    ----------
    suggestions : tuple of SuggestionData
        What was found.
    tried : int
        How many changes were tried.
    exhausted : bool
        Whether nothing of the kinds that are tried was left out.
    every : bool
        Whether the commands that make the changes are shown.
    """
    yield GAP
    yield Paragraph(_HEADING, Tone.STRONG)
    if not suggestions:
        if exhausted:
            told = "no single change, and no pair of changes, of the kinds that are tried"
        else:
            told = f"none of the {tried} changes, and pairs of changes, that were tried; there are more"
        yield Paragraph(told, indent=INDENT)
        return
    rows = [(str(number), one.summary, _then(one)) for number, one in enumerate(suggestions, 1)]
    yield table(("", "change", "then"), rows, numeric=(0,))
    if every:
        yield Paragraph("How to make them", Tone.FAINT, INDENT)
        for number, one in enumerate(suggestions, 1):
            for line in one.commands:
                yield Verbatim(f"{number}  {line}", indent=INDENT)


def _then(one: SuggestionData) -> str:
    told = f"goes to {'one of ' if len(one.then.nodes) > 1 else ''}{listed(one.then.nodes)}"
    if one.evicts:
        told = f"evicts {listed(one.evicts)}, then {told}"
    if one.violates:
        told += f"; breaks disruption budget {listed(one.violates)}"
    return told
