"""A decision as a recorded answer: one JSON object per case, in the scheduler's own terms.

``filter`` has the status at which kube-scheduler stops, ``allFilters`` every failing plugin without nominated pods,
``scores`` the raw and weighted scores per feasible node. ``notModelled`` lists the features that the answer ignores.
"""

from __future__ import annotations

from typing import Any

from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.framework.interface import PostFilterResult
from kschedctl.scheduler.framework.node_statuses import FilterRun
from kschedctl.scheduler.framework.runtime import PreFilterOutcome
from kschedctl.scheduler.framework.status import Code, Status

Answer = dict[str, Any]


def answer(case_id: str, decision: Decision) -> Answer:
    """Return the answer to one case.

    Parameters
    ----------
    case_id : str
        The ``id`` of the case.
    decision : Decision
        The decision.
    """
    out: Answer = {"id": case_id}
    errors = decision.preemption.errors if decision.preemption is not None else ()
    if decision.error or errors:
        out["error"] = decision.error or f"dry run: {', '.join(errors)}"
    if decision.pre_enqueue.code is not Code.SUCCESS:
        out["preEnqueue"] = status_data(decision.pre_enqueue)
    if decision.pre_filter is not None:
        out |= _pre_filter(decision, decision.pre_filter)
    if decision.scores is not None and decision.best:
        out["scores"] = _scores(decision)
    if decision.best:
        out["best"] = list(decision.best)
    if decision.message:
        out["message"] = decision.message
    if decision.not_modelled:
        out["notModelled"] = [str(notice) for notice in decision.not_modelled]
    if decision.post_filter is not None:
        out["preemption"] = _preemption(decision, decision.post_filter)
    return out


def _preemption(decision: Decision, result: PostFilterResult) -> Answer:
    out: Answer = {"status": status_data(result.status)}
    if result.nominated:
        out["nominated"] = list(result.nominated)
    found = decision.preemption
    # If PreFilter rejected the pod, recorded answers have the outcome without the nodes.
    filtered = decision.pre_filter is not None and decision.pre_filter.status.code is Code.SUCCESS
    if found is not None and found.run is not None and filtered:
        out["candidates"] = {
            candidate.node: {
                "victims": [decision.cluster.pods.key(victim.pod) for victim in candidate.victims],
                "pdbViolations": candidate.n_violations,
            }
            for candidate in found.candidates
        }
        out["rejected"] = {node: status_data(status) for node, status in found.rejected.items()}
    return out


def status_data(status: Status) -> Answer:
    """Return a status as data, without empty fields."""
    out: Answer = {"code": str(status.code)}
    if status.plugin:
        out["plugin"] = status.plugin
    if status.reasons:
        out["reasons"] = list(status.reasons)
    return out


def _pre_filter(decision: Decision, result: PreFilterOutcome) -> Answer:
    out: Answer = {"preFilter": status_data(result.status)}
    if result.node_names is not None:
        out["preFilterNodes"] = sorted(result.node_names)
    if result.status.code is Code.SUCCESS:
        out |= _filters(decision)
    return out


def _filters(decision: Decision) -> Answer:
    out: Answer = {"skippedFilters": sorted(decision.state.skip_filter_plugins)}
    statuses = decision.statuses
    if statuses is None or statuses.snapshot is None:
        return out
    names = decision.cluster.nodes.names
    out["filter"] = {names[row]: status_data(statuses.status(int(row))) for row in decision.searched}
    every: Answer = {}
    for row in decision.searched:
        found = statuses.snapshot_position(int(row))
        failing = _failing(*found) if found is not None else {}
        if failing:
            every[names[row]] = failing
    out["allFilters"] = every
    return out


def _failing(run: FilterRun, position: int) -> Answer:
    said = {plugin: run.rejections[plugin].status(position) for plugin in run.plugins}
    return {plugin: status_data(status) for plugin, status in said.items() if status.code is not Code.SUCCESS}


def _scores(decision: Decision) -> Answer:
    scores = decision.scores
    if scores is None:
        return {}
    names = decision.cluster.nodes.names
    return {
        names[row]: {
            "raw": {plugin: int(raw[i]) for plugin, raw in scores.raw.items()},
            "weighted": {p: int(normalized[i]) * scores.weights[p] for p, normalized in scores.normalized.items()},
            "total": int(scores.total[i]),
        }
        for i, row in enumerate(scores.rows)
    }
