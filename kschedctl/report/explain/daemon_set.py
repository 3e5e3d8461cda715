"""A DaemonSet as a document: on how many of its nodes it fits, and why not on the others."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from kschedctl.api.wording import counted
from kschedctl.report.document import GAP, Document, Paragraph, Tone, table
from kschedctl.report.explain.data import Explanation, NodeData
from kschedctl.report.frame import cautions, header, next_questions
from kschedctl.report.groups import group_nodes


def document(
    answers: Sequence[Explanation], nodes: Sequence[NodeData], now: datetime, questions: Sequence[tuple[str, str]]
) -> Document:
    """A DaemonSet's pods together.

    Parameters
    ----------
    answers : sequence of Explanation
        The answers for its pods, of those alike one; there is at least one.
    nodes : sequence of NodeData
        What is said of the node that each pod is for.
    now : datetime
        The time that the snapshot's age is counted to.
    questions : sequence of (str, str)
        What can be asked next, with its command.
    """
    first = answers[0]
    workload = first.workload
    name = f"{workload.kind} {workload.namespace}/{workload.name}" if workload is not None else first.pod.name
    fits = sum(node.fits for node in nodes)
    groups = group_nodes(nodes)
    why = "".join(f"; {len(group.nodes)}: {group.why.splitlines()[0]}" for group in groups)
    text = f"{name} fits on {fits} of {counted(len(nodes), 'node')}{why}."
    yield Paragraph(text, Tone.GOOD if fits == len(nodes) else Tone.BAD)
    yield from header(first, now, first.pod)
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
        yield GAP
        yield table(("nodes", "which", "plugin", "why not"), rows, numeric=(0,), identifiers=(1,))
    yield from cautions(first)
    yield from next_questions(questions)
