"""The result of a sequence as a recorded answer: its attempts in order, and the node of every pod at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kschedctl.analyses.batch.answer import Answer
from kschedctl.analyses.batch.sequence_cases import SequenceResult
from kschedctl.simulate.attempt import Attempt


def sequence_answer(case_id: str, played: SequenceResult) -> Answer:
    """Return the answer to a case of many pods.

    Parameters
    ----------
    case_id : str
        The ``id`` of the case.
    played : SequenceResult
        The result of the case.
    """
    pods = played.simulation.cluster.pods
    out: Answer = {
        "id": case_id,
        "attempts": [_attempt(attempt) for attempt in played.attempts],
        "pods": {pods.key(i): record.node_name for i, record in enumerate(pods.records)},
    }
    nominations = {
        pods.key(i): record.status.nominated_node_name
        for i, record in enumerate(pods.records)
        if record.status.nominated_node_name and not record.node_name
    }
    if nominations:
        out["nominations"] = nominations
    if played.untried:
        out["gated"] = list(played.untried)
    notes = _not_modelled(played.attempts)
    if notes:
        out["notModelled"] = notes
    return out


def _attempt(attempt: Attempt) -> dict[str, Any]:
    said = {
        "pod": attempt.pod,
        "node": attempt.node,
        "message": attempt.message,
        "nominated": attempt.nominated,
        "victims": list(attempt.victims),
    }
    return {name: value for name, value in said.items() if value}


def _not_modelled(attempts: Sequence[Attempt]) -> list[str]:
    return list(dict.fromkeys(str(note) for attempt in attempts for note in attempt.decision.not_modelled))
