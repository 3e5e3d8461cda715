"""The section about pod groups that lose members."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kschedctl.questions.answers.group_losses import GroupLossData
from kschedctl.questions.presentation.document import Document, Heading, Paragraph, table
from kschedctl.questions.presentation.tone import Tone


def group_losses_section(groups: Sequence[GroupLossData]) -> Document:
    """Lay out the groups that lose members, and what their evictions mean for the other members."""
    if not groups:
        return
    yield Heading("Pod groups that lose members")
    rows = [
        (
            f"{group.namespace}/{group.name}",
            "-" if group.min_count is None else str(group.min_count),
            str(group.before),
            str(len(group.evicted)),
            str(len(group.preempted)),
            str(group.fewest),
            str(group.after),
        )
        for group in groups
    ]
    tones = [_tone(group) for group in groups]
    header = ("group", "minCount", "pods", "evicted", "preempted", "at the lowest", "at the end")
    yield table(header, rows, numeric=range(1, 7), tones=tones)
    for text in _notes(groups):
        yield Paragraph(text, Tone.FAINT, 2)


def _tone(group: GroupLossData) -> Tone:
    return Tone.BAD if group.is_short else Tone.CAUTION if group.was_short else Tone.PLAIN


def _notes(groups: Sequence[GroupLossData]) -> Iterator[str]:
    if any(group.was_short for group in groups):
        yield "below minCount the pods that are left run on: minCount holds only when pods are scheduled"
    if any(group.disrupted_as_a_whole and group.evicted for group in groups):
        yield "disruptionMode all holds only for preemption: an eviction or deletion ends one pod"
