"""The document of a DaemonSet: the number of its nodes that its pods fit on, and the reasons for the others."""

from __future__ import annotations

from kschedctl.common.wording import counted
from kschedctl.questions.answers.base import merged_envelope
from kschedctl.questions.answers.explain import DaemonSetExplanation
from kschedctl.questions.answers.node_groups import group_nodes
from kschedctl.questions.presentation.document import GAP, Document, Question, table
from kschedctl.questions.presentation.frame import View, cautions, first_line, header, next_questions
from kschedctl.questions.presentation.tone import Tone


def document(answer: DaemonSetExplanation, view: View) -> Document:
    """Lay out the pods of a DaemonSet together."""
    answers, nodes = answer.answers, answer.nodes
    first = answers[0]
    workload = first.workload
    name = f"{workload.kind} {workload.namespace}/{workload.name}" if workload is not None else first.pod.name
    fits = sum(node.fits for node in nodes)
    groups = group_nodes(nodes)
    why = "".join(f"; {len(group.nodes)}: {group.why.splitlines()[0]}" for group in groups)
    text = f"{name} fits on {fits} of {counted(len(nodes), 'node')}{why}."
    basis = merged_envelope(answers)
    yield from first_line(basis, text, Tone.GOOD if fits == len(nodes) else Tone.BAD)
    yield from header(first, view.now, first.pod)
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
        yield table(("nodes", "names", "plugin", "reason"), rows, numeric=(0,), identifiers=(1,))
    yield from cautions(basis)
    questions = [Question("Pod by pod", "explain", first.pod.key, {"output": "wide"})]
    if any(each.preemption is not None and each.preemption.nominated for each in answers):
        questions.insert(0, Question("Victims", "preempt", first.pod.key))
    yield from next_questions(questions)
