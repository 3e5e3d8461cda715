"""The extension points that follow the choice of a node: Reserve, Permit, PreBind, Bind and PostBind."""

from __future__ import annotations

from collections.abc import Mapping

from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.cycle_state import CycleState, NotModelled
from kschedctl.scheduler.framework.extender import ExtenderError
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import (
    MAX_PERMIT_SECONDS,
    BindPlugin,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PreBindPlugin,
    ReservePlugin,
)
from kschedctl.scheduler.framework.runtime import Framework
from kschedctl.scheduler.framework.status import Code, Status


def run_reserve(framework: Framework, state: CycleState, pod: Pod, node_name: str) -> Status:
    """Reserve resources for the pod on its node.

    If a plugin fails, all Reserve plugins undo their reservations in reverse order.
    """
    for plugin in framework.plugins(ExtensionPoint.RESERVE, ReservePlugin):
        status = plugin.reserve(state, pod, node_name)
        if status.code is not Code.SUCCESS:
            run_unreserve(framework, state, pod, node_name)
            return _failed("Reserve", plugin, status)
    return Status()


def run_unreserve(framework: Framework, state: CycleState, pod: Pod, node_name: str) -> None:
    """Undo the reservations of all Reserve plugins, in reverse order."""
    for plugin in reversed(framework.plugins(ExtensionPoint.RESERVE, ReservePlugin)):
        plugin.unreserve(state, pod, node_name)


def run_permit(framework: Framework, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, Mapping[str, float]]:
    """Run the Permit plugins.

    Returns
    -------
    status : Status
        Success, Wait, or the first rejection.
    waits : mapping of str to float
        For each plugin that makes the pod wait, the maximum waiting time in seconds (at most ``MAX_PERMIT_SECONDS``).
    """
    waits: dict[str, float] = {}
    reasons: tuple[str, ...] = ()
    for plugin in framework.plugins(ExtensionPoint.PERMIT, PermitPlugin):
        status, seconds = plugin.permit(state, pod, node_name)
        if status.code is Code.WAIT:
            waits[plugin.name] = min(seconds, MAX_PERMIT_SECONDS)
            reasons = status.reasons
        elif status.code is not Code.SUCCESS:
            return _failed("Permit", plugin, status), {}
    if waits:
        return Status(Code.WAIT, (*reasons, "one or more plugins asked to wait and no plugin rejected pod")), waits
    return Status(), waits


def run_pre_bind(framework: Framework, state: CycleState, pod: Pod, node_name: str) -> Status:
    """Run the PreBind plugins up to the first failure."""
    for plugin in framework.plugins(ExtensionPoint.PRE_BIND, PreBindPlugin):
        status = plugin.pre_bind(state, pod, node_name)
        if status.code is not Code.SUCCESS:
            return _failed("PreBind", plugin, status)
    return Status()


def run_bind(framework: Framework, state: CycleState, pod: Pod, node_name: str) -> Status:
    """Bind with the interested extender, else with the first Bind plugin that does not skip, then run PostBind."""
    status = _extenders_binding(framework, state, pod, node_name)
    if status is None:
        status = _bind(framework, state, pod, node_name)
    if status.code is Code.SUCCESS:
        for listener in framework.plugins(ExtensionPoint.POST_BIND, PostBindPlugin):
            listener.post_bind(state, pod, node_name)
    return status


def _extenders_binding(framework: Framework, state: CycleState, pod: Pod, node_name: str) -> Status | None:
    """Bind with an extender (upstream ``extendersBinding``); return ``None`` if no extender binds the pod."""
    for extender in framework.handle.extenders:
        if not extender.config.bind_verb or not extender.is_interested(pod):
            continue
        try:
            if extender.binds:
                extender.bind(pod, node_name)
        except ExtenderError as error:
            if not extender.config.ignorable:
                return Status(Code.ERROR, (str(error),))
            effect = f"it is ignorable and its bind call failed: {error}"
            state.not_modelled.append(NotModelled(f"the extender {extender.name}", effect))
            continue
        return Status()
    return None


def _bind(framework: Framework, state: CycleState, pod: Pod, node_name: str) -> Status:
    for plugin in framework.plugins(ExtensionPoint.BIND, BindPlugin):
        status = plugin.bind(state, pod, node_name)
        if status.code is Code.SKIP:
            continue
        if status.code is not Code.SUCCESS:
            return _failed("Bind", plugin, status)
        return Status()
    return Status(Code.SKIP)


def _failed(point: str, plugin: Plugin, status: Status) -> Status:
    """Return a rejection with the plugin's name added, and any other status as an error of the extension point."""
    if status.code.rejected:
        return Status(status.code, status.reasons, plugin.name)
    return Status(Code.ERROR, (f'running {point} plugin "{plugin.name}": {status.message}',), plugin.name)
