"""The result of a sequence as a recorded answer: its attempts in order, and the node of every pod at the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from kschedctl.cluster.records import PENDING
from kschedctl.objects.core import Condition
from kschedctl.objects.pod_group import PodGroup
from kschedctl.questions.analyses.batch.answer import Answer, status_data
from kschedctl.questions.analyses.batch.sequence_cases import SequenceResult
from kschedctl.scheduler.framework.status import Code
from kschedctl.trials.simulate.attempts import Attempt, GroupAttempt


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
        "attempts": _attempts(played.attempts),
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
    if played.has_groups:
        out["groups"] = {group.key: [_condition(each) for each in group.status.conditions] for group in _groups(played)}
        out["held"] = _held(played)
    notes = _not_modelled(played.attempts)
    if notes:
        out["notModelled"] = notes
    return out


def _attempts(attempts: Sequence[Attempt]) -> list[dict[str, Any]]:
    """Return the attempts as data, those of the members of a group together."""
    out = []
    for _, members in groupby(attempts, key=lambda attempt: id(attempt.group) if attempt.group else id(attempt)):
        of_one = list(members)
        first = of_one[0].group
        out.append(_attempt(of_one[0]) if first is None else _group_attempt(first, of_one))
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


def _group_attempt(group: GroupAttempt, members: Sequence[Attempt]) -> dict[str, Any]:
    said = {
        "group": group.key,
        "outcome": str(group.outcome),
        "condition": _condition(group.condition) if group.condition is not None else None,
        "members": [*(_member(member) for member in members), *({"pod": key} for key in group.skipped)],
        "picks": group.picks,
        "victims": list(group.victims),
    }
    return {name: value for name, value in said.items() if value}


def _member(attempt: Attempt) -> dict[str, Any]:
    return {name: value for name, value in _attempt(attempt).items() if name != "victims"}


def _condition(condition: Condition) -> dict[str, str]:
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
    }


def _groups(played: SequenceResult) -> Iterable[PodGroup]:
    return played.simulation.cluster.list(PodGroup)


def _held(played: SequenceResult) -> dict[str, Answer]:
    """Return the status of the pods that PreEnqueue holds back at the end."""
    scheduler, pods = played.simulation.scheduler, played.simulation.cluster.pods
    out = {}
    for index in np.flatnonzero(pods.node_row == PENDING).tolist():
        pod = pods.pod(index)
        if scheduler.knows(pod):
            status = scheduler.framework(pod.spec.scheduler_name).run_pre_enqueue(pod)
            if status.code is not Code.SUCCESS:
                out[pod.key] = status_data(status)
    return out


def _not_modelled(attempts: Sequence[Attempt]) -> list[str]:
    return list(dict.fromkeys(str(note) for attempt in attempts for note in attempt.search.not_modelled))
