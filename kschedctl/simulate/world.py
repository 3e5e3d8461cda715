"""What surrounds the scheduler in a simulation: which parts of a cluster act besides it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from kschedctl.api.core import Condition
from kschedctl.api.pod import Pod
from kschedctl.workloads.replacement import fresh_pod
from kschedctl.workloads.template import generated_name

#: Controllers that make the next pod only once the last is gone.
_WAIT_FOR_END: Final = frozenset({"StatefulSet", "DaemonSet"})


def no_pod(pod: Pod) -> bool:
    """None is meant."""
    return False


@dataclass(frozen=True, slots=True)
class World:
    """Which parts of a cluster act.

    Attributes
    ----------
    grace : bool
        Whether pods that are evicted or deleted take their grace period; else they are gone at once.
    controllers : bool
        Whether a pod that goes is made again by its controller.
    budgets : bool
        Whether the status of disruption budgets follows.
    kubelet : bool
        Whether pods that are bound run and are ready at once.
    leftovers : bool
        Whether pods that wait for an event longer than five minutes are tried again once more.
    kept_elsewhere : callable
        Whose controller is played by whoever runs the simulation: such a pod is not made again by itself.
    """

    grace: bool = True
    controllers: bool = True
    budgets: bool = True
    kubelet: bool = True
    leftovers: bool = True
    kept_elsewhere: Callable[[Pod], bool] = no_pod

    def makes_again(self, pod: Pod) -> bool:
        """Whether a pod in place of this one comes by itself once it goes."""
        return self.controllers and is_made_again(pod) and not self.kept_elsewhere(pod)


#: Nothing but the scheduler acts.
SCHEDULER_ALONE: Final = World(grace=False, controllers=False, budgets=False, kubelet=False, leftovers=False)


def terminating(pod: Pod, now: datetime, *, preempted: bool) -> Pod:
    """A pod that was asked to go.

    Parameters
    ----------
    preempted : bool
        Whether by the scheduler, which says so in a condition.
    """
    conditions = pod.status.conditions
    if preempted:
        target = Condition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")
        conditions = (*(c for c in conditions if c.type != target.type), target)
    return replace(
        pod,
        metadata=replace(pod.metadata, deletion_timestamp=now),
        status=replace(pod.status, conditions=conditions),
    )


def running(pod: Pod) -> Pod:
    """A pod that its kubelet has started."""
    return replace(pod, status=replace(pod.status, phase="Running"))


def is_made_again(pod: Pod) -> bool:
    """Whether a controller makes a pod in place of this one."""
    owner = pod.metadata.controller
    return owner is not None and owner.kind != "Node"


def waits_for_end(pod: Pod) -> bool:
    """Whether its controller does so only once the pod is gone."""
    owner = pod.metadata.controller
    return owner is not None and owner.kind in _WAIT_FOR_END


def replacement(pod: Pod, is_taken: Callable[[str], bool]) -> Pod:
    """The pod that its controller makes in place of one that goes.

    Parameters
    ----------
    is_taken : callable
        Whether a name is another pod's.
    """
    owner = pod.metadata.controller
    if owner is None or waits_for_end(pod):
        # The pod of a DaemonSet is tied to its node by its own affinity.
        return fresh_pod(_off_node(pod))
    number = 0
    while is_taken(name := generated_name(f"{owner.name}-", number)):
        number += 1
    return fresh_pod(_off_node(pod), name=name)


def _off_node(pod: Pod) -> Pod:
    return replace(pod, spec=replace(pod.spec, node_name=""))
