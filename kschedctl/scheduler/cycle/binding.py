"""The binding cycle after the choice of a node: Reserve, Permit, PreBind and Bind, as far as possible offline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.framework.binding import run_bind, run_permit, run_pre_bind, run_reserve, run_unreserve
from kschedctl.scheduler.framework.status import Code, Status


@dataclass(frozen=True, slots=True)
class Binding:
    """The outcome of the binding cycle on one node.

    Attributes
    ----------
    node : str
        The node's name.
    status : Status
        Success if the pod is bound, Wait if a Permit plugin delays it, else the rejection or error.
    waits : mapping of str to float
        The maximum wait in seconds, per Permit plugin that delays the pod.
    """

    node: str
    status: Status
    waits: Mapping[str, float] = field(default_factory=dict)


def bind(decision: Decision, node: str) -> Binding:
    """Run the binding cycle of a decision on one of its best nodes.

    Parameters
    ----------
    decision : Decision
        A decision with at least one best node.
    node : str
        One of ``decision.best``.
    """
    framework, state, pod = decision.framework, decision.state, decision.pod
    status = run_reserve(framework, state, pod, node)
    if status.code is not Code.SUCCESS:
        return Binding(node, status)
    status, waits = run_permit(framework, state, pod, node)
    if status.code is Code.WAIT:
        return Binding(node, status, waits)
    for step in (run_pre_bind, run_bind):
        if status.code is Code.SUCCESS:
            status = step(framework, state, pod, node)
    if status.code is not Code.SUCCESS:
        run_unreserve(framework, state, pod, node)
    return Binding(node, status)
