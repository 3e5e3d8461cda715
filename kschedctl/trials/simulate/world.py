"""The parts of a cluster that act besides the scheduler in a simulation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.placed_pods import on_node
from kschedctl.controllers.workloads.pods import pods_of
from kschedctl.controllers.workloads.template import fresh_pod, generated_name
from kschedctl.objects.core import Condition, Node
from kschedctl.objects.pod import Pod, PodSpec
from kschedctl.objects.workload import DaemonSet

#: The default that an API server writes into a pod without terminationGracePeriodSeconds.
_DEFAULT_GRACE_SECONDS: Final = 30
#: Controllers that recreate a pod only once the previous one is gone.
_WAIT_FOR_END: Final = frozenset({"StatefulSet", "DaemonSet"})


def no_pod(pod: Pod) -> bool:
    """Return false: no pod matches."""
    return False


def running(pod: Pod) -> Pod:
    """Return the pod in the phase ``Running``, as its kubelet reports it once it is started."""
    return replace(pod, status=replace(pod.status, phase="Running"))


@dataclass(frozen=True, slots=True)
class World:
    """The parts of a cluster that act in a simulation.

    Attributes
    ----------
    grace : bool
        True if pods that are evicted or deleted take their grace period; otherwise they are gone at once.
    controllers : bool
        True if a deleted pod is recreated by its controller.
    budgets : bool
        True if the status of disruption budgets follows the pods.
    kubelet : bool
        True if bound pods run and are ready at once.
    starts : callable
        Returns a bound pod as its kubelet reports it, if ``kubelet`` is set.
    leftovers : bool
        True if a pod that no event has woken for more than five minutes is retried, provided the cluster has changed.
    kept_elsewhere : callable
        Matches the pods whose controller is played by the caller of the simulation, which does not recreate them.
    """

    grace: bool = True
    controllers: bool = True
    budgets: bool = True
    kubelet: bool = True
    leftovers: bool = True
    kept_elsewhere: Callable[[Pod], bool] = no_pod
    starts: Callable[[Pod], Pod] = running

    def makes_again(self, pod: Pod) -> bool:
        """Report whether the simulation recreates a pod that is deleted."""
        return self.controllers and is_recreated(pod) and not self.kept_elsewhere(pod)


#: A world in which only the scheduler acts.
SCHEDULER_ALONE: Final = World(grace=False, controllers=False, budgets=False, kubelet=False, leftovers=False)


def grace_seconds(spec: PodSpec) -> int:
    """Return the seconds that a pod may take to stop; 30 unless the spec says otherwise.

    An API server takes a negative number as 1.
    """
    seconds = spec.termination_grace_period_seconds
    if seconds is None:
        return _DEFAULT_GRACE_SECONDS
    return seconds if seconds >= 0 else 1


def terminating(pod: Pod, ends: datetime, *, preempted: bool) -> Pod:
    """Return the pod as it is after its deletion was requested.

    Args:
        ends: The deletion timestamp: the end of the grace period.
        preempted: True if the scheduler requested it; the pod then has the condition ``DisruptionTarget``.
    """
    conditions = pod.status.conditions
    if preempted:
        target = Condition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")
        conditions = (*(c for c in conditions if c.type != target.type), target)
    return replace(
        pod, metadata=replace(pod.metadata, deletion_timestamp=ends), status=replace(pod.status, conditions=conditions)
    )


def is_recreated(pod: Pod) -> bool:
    """Report whether a controller recreates the pod if it is deleted; a Node as owner (mirror pods) does not."""
    owner = pod.metadata.controller
    return owner is not None and owner.kind != "Node"


def is_recreated_after_deletion(pod: Pod) -> bool:
    """Report whether the pod's controller recreates it only once the pod is gone."""
    owner = pod.metadata.controller
    return owner is not None and owner.kind in _WAIT_FOR_END


class GeneratedNames:
    """The generated names in use, as far as they were met in search of one that is free."""

    def __init__(self) -> None:
        #: By namespace and first name: the smallest number whose name was not in use.
        self._next: dict[tuple[str, str], int] = {}
        #: By namespace and name: the first name and the number of each name that was in use.
        self._numbers: dict[tuple[str, str], tuple[str, int]] = {}

    def free(self, namespace: str, prefix: str, is_taken: Callable[[str], bool]) -> str:
        """Return the first generated name that is not in use."""
        first = generated_name(prefix)
        number = self._next.get((namespace, first), 0)
        while is_taken(name := generated_name(prefix, number)):
            self._numbers[namespace, name] = first, number
            number += 1
        self._next[namespace, first] = number
        return name

    def release(self, namespace: str, name: str) -> None:
        """Record that a pod is gone, so that its name is free again."""
        found = self._numbers.pop((namespace, name), None)
        if found is not None:
            first, number = found
            self._next[namespace, first] = min(number, self._next[namespace, first])


def replacement(pod: Pod, is_taken: Callable[[str], bool], names: GeneratedNames | None = None) -> Pod:
    """Return the pod that a controller creates in place of a deleted one.

    Args:
        is_taken: Reports whether a pod of the namespace has a name.
        names: The names that are known to be in use; it is updated.
    """
    owner = pod.metadata.controller
    if owner is None or is_recreated_after_deletion(pod):
        # The pod of a DaemonSet is tied to its node by its own affinity.
        return fresh_pod(_off_node(pod))
    name = (names or GeneratedNames()).free(pod.namespace, f"{owner.name}-", is_taken)
    return fresh_pod(_off_node(pod), name=name)


def _off_node(pod: Pod) -> Pod:
    return replace(pod, spec=replace(pod.spec, node_name=""))


def with_more_nodes(cluster: Cluster, nodes: Sequence[Node]) -> Cluster:
    """Return the cluster with additional nodes and their DaemonSet pods."""
    if not nodes:
        return cluster
    larger = cluster.with_nodes((*cluster.nodes.objects, *nodes))
    names = {node.name for node in nodes}
    daemons = (
        (made.node, replace(made.pod, metadata=replace(made.pod.metadata, name=f"{owner.name}-{made.node}", uid="")))
        for owner in larger.list(DaemonSet)
        for made in pods_of(owner, larger)
        if made.node in names
    )
    return larger.with_pods(added=[running(on_node(pod, name)) for name, pod in daemons])
