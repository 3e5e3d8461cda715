"""The states of containers, as the kubelet reports them."""

from collections.abc import Iterator
from typing import Final

from kschedctl.common.wording import counted
from kschedctl.objects.pod import ContainerStatus, PodStatus

#: The kubelet's reasons for a container that is not its turn yet, or that is about to start.
_STARTING: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
CRASH_LOOP: Final = "CrashLoopBackOff"


def stopped_containers(status: PodStatus) -> Iterator[ContainerStatus]:
    """Yield the containers that wait for a reason other than their turn, or have ended with an error."""
    for each in (*status.init_container_statuses, *status.container_statuses):
        waiting, ended = each.state.waiting, each.state.terminated
        if (waiting is not None and waiting.reason not in _STARTING) or (ended is not None and ended.exit_code):
            yield each


def state_words(container: ContainerStatus) -> str:
    """Return the state of a stopped container, with its last exit code and its restarts.

    >>> from kschedctl.objects.pod import ContainerState, ContainerStateTerminated, ContainerStateWaiting
    >>> crashed = ContainerState(terminated=ContainerStateTerminated(exit_code=137, reason="OOMKilled"))
    >>> waits = ContainerState(waiting=ContainerStateWaiting(reason="CrashLoopBackOff"))
    >>> state_words(ContainerStatus(name="app", state=waits, last_state=crashed, restart_count=7))
    'CrashLoopBackOff, last exit code 137 (OOMKilled), 7 restarts'
    """
    parts = [container.state.waiting.reason] if container.state.waiting is not None else []
    ended = container.state.terminated or container.last_state.terminated
    if ended is not None:
        why = f" ({ended.reason})" if ended.reason not in ("", "Error") else ""
        parts.append(f"{'last ' if parts else ''}exit code {ended.exit_code}{why}")
    if container.restart_count:
        parts.append(counted(container.restart_count, "restart"))
    return ", ".join(parts)
