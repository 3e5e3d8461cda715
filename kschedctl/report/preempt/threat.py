"""The reverse view: who would evict a given pod."""

from __future__ import annotations

from datetime import datetime

from kschedctl.api.pod import Pod
from kschedctl.api.wording import counted
from kschedctl.cluster.cluster import Cluster
from kschedctl.report.document import GAP, Document, Paragraph, Phrases, Tone, table
from kschedctl.report.envelope import Provenance, envelope
from kschedctl.report.frame import cautions, header, next_questions
from kschedctl.report.preempt.data import TakerData, Threat
from kschedctl.scheduler.pending import Exposure, Taker, pending_pods


def threat_answer(found: Exposure, victim: Pod, provenance: Provenance, cluster: Cluster, *, node_name: str) -> Threat:
    """Put into data who would evict a pod.

    Parameters
    ----------
    found : Exposure
        Who would.
    victim : Pod
        The pod.
    provenance : Provenance
        What the answer rests on.
    node_name : str
        Where the pod runs; empty where it does not.
    """
    takers = tuple(_taker(taker, victim) for taker in found.takers)
    return Threat(
        victim=victim.key,
        priority=victim.spec.priority or 0,
        priority_class_name=victim.spec.priority_class_name,
        node=node_name,
        summary=_summary(found, victim, node_name, takers),
        takers=takers,
        safe_priority=found.safe_priority,
        safe_class=found.safe_class,
        pending=len(pending_pods(cluster)),
        **envelope(cluster, provenance),
    )


def _taker(taker: Taker, victim: Pod) -> TakerData:
    pod, preemption = taker.decision.pod, taker.decision.preemption
    pods = taker.decision.cluster.pods
    candidates = preemption.candidates if preemption is not None else ()
    violates = any(
        other.violates and pods.key(other.pod) == victim.key
        for candidate in candidates
        if candidate.node == taker.node
        for other in candidate.victims
    )
    return TakerData(pod.key, pod.spec.priority or 0, pod.spec.priority_class_name, taker.node, taker.certain, violates)


def _summary(found: Exposure, victim: Pod, node: str, takers: tuple[TakerData, ...]) -> str:
    if not node:
        return f"{victim.key} is on no node: nobody would evict it."
    if not takers:
        return f"{victim.key} is safe: no pending pod would evict it from {node}."
    whom = takers[0].name if len(takers) == 1 else f"{len(takers)} pending pods"
    may = "would" if any(taker.certain for taker in takers) else "may"
    return f"{victim.key} {may} be evicted from {node} by {whom}."


def threat_document(answer: Threat, now: datetime, command: str) -> Document:
    """Lay out who would evict a pod.

    Parameters
    ----------
    now : datetime
        The time that the snapshot's age is counted to.
    command : str
        The command about one of the pending pods, the first of them.
    """
    yield Paragraph(answer.summary, Tone.BAD if answer.takers else Tone.GOOD)
    of_class = f" ({answer.priority_class_name})" if answer.priority_class_name else ""
    yield Phrases((f"priority {answer.priority}{of_class}", f"{counted(answer.pending, 'pod')} pending"))
    yield from header(answer, now)
    if answer.takers:
        rows = [
            (
                taker.name,
                str(taker.priority),
                taker.priority_class_name or "-",
                "yes" if taker.certain else "if chance has it",
                "violated" if taker.violates_budget else "-",
            )
            for taker in answer.takers
        ]
        yield GAP
        headings = ("would evict it", "priority", "class", "for sure", "disruption budget")
        yield table(headings, rows, numeric=(1,), identifiers=(0,))
        yield GAP
        yield Paragraph(_safe(answer))
    yield from cautions(answer)
    if answer.takers:
        yield from next_questions([("Why this one", command)])


def _safe(answer: Threat) -> str:
    name = answer.safe_class
    which = f"PriorityClass {name} is the lowest that has it" if name else "no PriorityClass has it"
    return f"From priority {answer.safe_priority} on it would be safe: {which}."
