"""The cause for which a pod is not scheduled, in the scheduler's words."""

from __future__ import annotations

import re
from typing import Final

from kschedctl.questions.analyses.pod_groups.answer import pod_group_data
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.outcome import Outcome
from kschedctl.scheduler.cycle.pod_group_decision import group_of

_NODES_SAY: Final = re.compile(r"[0-9]+/[0-9]+ nodes are available: (.*?)\.(?: |$)")


def cause(decision: Decision) -> str:
    """Return the reason why a pod or its group is not scheduled, and whether preemption would help; else empty."""
    group = group_of(decision)
    if group is not None and decision.outcome is Outcome.UNSCHEDULABLE:
        data = pod_group_data(group)
        return f"{data.title}: {data.count}{'; preemption would help' if group.victims else ''}"
    match decision.outcome:
        case Outcome.ERROR:
            return decision.error
        case Outcome.GATED:
            return decision.pre_enqueue.message
        case Outcome.SCHEDULED:
            return ""
    said = _NODES_SAY.match(decision.message)
    why = said[1] if said else decision.message
    helped = decision.preemption is not None and bool(decision.preemption.nominated)
    return f"{why}; preemption would help" if helped else why
