"""Node drain as by ``kubectl drain``: cordon, evict pod by pod, retry every 5 seconds while budgets refuse.

Source: k8s.io/kubectl ``pkg/drain``. Controllers recreate evicted pods, which then pass through the queue.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from msgspec.structs import replace

from kschedctl.cluster.node_copies import copy_of_node
from kschedctl.cluster.placed_pods import is_on, pods_on
from kschedctl.controllers.disruption import covering_budgets, eviction_refusal
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.trials.simulate.attempts import Attempt
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.whatif.nodes import with_cordon

#: The seconds that kubectl waits before it retries an eviction.
RETRY: Final = 5.0
DAEMON_SET: Final = "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore)"
UNMANAGED: Final = "cannot delete Pods that declare no controller (use --force to override)"
LOCAL_STORAGE: Final = "cannot delete Pods with local storage (use --delete-emptydir-data to override)"
#: The seconds after the end of its grace period from which the deletion of a pod does not end by itself.
_OVERDUE: Final = 300
_MIRROR: Final = "kubernetes.io/config.mirror"


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainOptions:
    """The options of ``kubectl drain``.

    Attributes
    ----------
    ignore_daemonsets : bool
        True if DaemonSet pods are skipped; otherwise they stop the drain of their node.
    force : bool
        True if pods without a controller are evicted; otherwise they stop the drain of their node.
    delete_emptydir_data : bool
        True if pods with an emptyDir are evicted and lose its data; otherwise they stop the drain of their node.
    disable_eviction : bool
        True if pods are deleted instead of evicted, which ignores disruption budgets.
    rolling : bool
        True if each node returns, empty and uncordoned, before the next one is drained.
    """

    ignore_daemonsets: bool = False
    force: bool = False
    delete_emptydir_data: bool = False
    disable_eviction: bool = False
    rolling: bool = False


@dataclass(slots=True)
class DrainedNode:
    """The outcome of the drain of one node."""

    node: str
    #: The reasons why nothing was evicted, in kubectl's words, with the pods.
    refusals: dict[str, list[str]] = field(default_factory=dict)
    #: The pods that were evicted, in order.
    evicted: list[Pod] = field(default_factory=list)
    #: The pods that were already being deleted: the drain waits until they are gone.
    ending: list[Pod] = field(default_factory=list)
    #: The pods of ``ending`` that are never gone, ``namespace/name``: the kubelet of their node is unreachable, or
    #: their grace period was over minutes before the drain, so that a finalizer or the kubelet keeps them.
    stuck: list[str] = field(default_factory=list)
    #: The DaemonSet pods and mirror pods that stay, ``namespace/name``.
    passed_over: list[str] = field(default_factory=list)
    #: The pods whose eviction is refused for good, with the API server's message: the cluster does not change
    #: between two retries, and nothing is due.
    blocked: dict[str, str] = field(default_factory=dict)
    #: The virtual time of the drain.
    seconds: float = 0.0
    #: The seconds for which each budget, ``namespace/name``, delayed evictions.
    waited: dict[str, float] = field(default_factory=dict)
    #: The budgets, ``namespace/name``, that refuse the eviction of the pods in ``blocked``.
    blocking: tuple[str, ...] = ()

    @property
    def drained(self) -> bool:
        """True if no pod is left that should be evicted."""
        return not self.refusals and not self.blocked and not self.stuck


def surge_nodes(like: Node, number: int) -> list[Node]:
    """Return new uncordoned nodes like a given one, each with a unique name."""
    uncordoned = replace(like, spec=replace(like.spec, unschedulable=False))
    return [copy_of_node(uncordoned, f"{like.name}-surge-{i + 1}") for i in range(number)]


def drain(
    simulation: Simulation, nodes: Sequence[str], options: DrainOptions, surge: Iterable[Node] = ()
) -> Iterator[Attempt | DrainedNode]:
    """Drain nodes one after another.

    Args:
        nodes: The names of the nodes, in order.
        surge: Nodes that are added before the drain.

    Yields: Each scheduling cycle, and after the cycles of a node its outcome.
    """
    for node in surge:
        simulation.change_node(node)
    if not options.rolling:
        for name in nodes:
            _cordon(simulation, name)
    for name in nodes:
        if options.rolling:
            _cordon(simulation, name)
        drained = DrainedNode(name)
        yield from _drain_node(simulation, drained, options)
        yield drained
        if options.rolling:
            if not drained.drained:
                break
            _cordon(simulation, name, cordoned=False)
    if simulation.has_unbound_pods:
        yield from simulation


def _cordon(simulation: Simulation, name: str, *, cordoned: bool = True) -> None:
    node = simulation.cluster.nodes.objects[simulation.cluster.nodes.row[name]]
    simulation.change_node(with_cordon(node, cordoned=cordoned))


def _drain_node(simulation: Simulation, out: DrainedNode, options: DrainOptions) -> Iterator[Attempt]:
    began, now = simulation.clock.now(), simulation.now()
    pending = _pods_to_evict(simulation, out, options)
    if out.refusals:
        return
    while pending:
        refused, budgets = _evict(simulation, pending, options)
        out.evicted += [pod for pod in pending if pod.key not in refused]
        pending = [pod for pod in pending if pod.key in refused]
        if not pending:
            break
        changes = simulation.changes
        # Until something happens, all retries have the same result.
        waits = simulation.periods(RETRY) * RETRY
        yield from simulation.run_for(waits)
        if simulation.is_idle and simulation.changes == changes:
            out.blocked, out.blocking = refused, tuple(sorted(budgets))
            for key in budgets:
                out.waited.pop(key, None)
            break
        for key in budgets:
            out.waited[key] = out.waited.get(key, 0.0) + waits
    # kubectl waits until the pods are gone.
    while _remaining(simulation, out, (*out.evicted, *out.ending)) and not simulation.is_idle:
        yield from simulation.run_for(simulation.periods(RETRY) * RETRY)
    ends = {pod.key: pod.metadata.deletion_timestamp for pod in out.ending}
    overdue = {key for key, end in ends.items() if end is not None and (now - end).total_seconds() > _OVERDUE}
    remaining = {*_remaining(simulation, out, out.ending), *overdue}
    out.stuck = [pod.key for pod in out.ending if pod.key in remaining]
    out.seconds = simulation.clock.now() - began


def _remaining(simulation: Simulation, out: DrainedNode, pods: Iterable[Pod]) -> list[str]:
    """Return the pods that are still on the node, as ``namespace/name``."""
    return [pod.key for pod in pods if is_on(simulation.cluster, pod, out.node)]


def _evict(simulation: Simulation, pods: Sequence[Pod], options: DrainOptions) -> tuple[dict[str, str], set[str]]:
    """Try to evict pods; return the refusals by pod, and the budgets that caused them."""
    refused: dict[str, str] = {}
    budgets: set[str] = set()
    for is_budgeted, run in groupby(pods, lambda pod: bool(covering_budgets(simulation.cluster, pod))):
        if not is_budgeted or options.disable_eviction:
            simulation.evict([*run])
            continue
        for pod in run:
            refusal, budget = eviction_refusal(simulation.cluster, pod)
            if not refusal:
                simulation.evict([pod])
                continue
            refused[pod.key] = refusal
            if budget is not None:
                budgets.add(f"{budget.namespace}/{budget.name}")
    return refused, budgets


def _pods_to_evict(simulation: Simulation, out: DrainedNode, options: DrainOptions) -> list[Pod]:
    """Return the pods of a node to evict, by namespace and name; record the reasons against it in ``out``.

    The options of kubectl also apply to pods that are being deleted. To evict such a pod again changes nothing.
    """
    pods = []
    for pod in sorted(pods_on(simulation.cluster, out.node), key=lambda pod: (pod.namespace, pod.name)):
        owner = pod.metadata.controller
        if owner is not None and owner.kind == "DaemonSet":
            if options.ignore_daemonsets:
                out.passed_over.append(pod.key)
            else:
                out.refusals.setdefault(DAEMON_SET, []).append(pod.key)
        elif _MIRROR in pod.metadata.annotations or (owner is not None and owner.kind == "Node"):
            out.passed_over.append(pod.key)
        elif not options.delete_emptydir_data and any(v.empty_dir is not None for v in pod.spec.volumes):
            out.refusals.setdefault(LOCAL_STORAGE, []).append(pod.key)
        elif owner is None and not options.force:
            out.refusals.setdefault(UNMANAGED, []).append(pod.key)
        elif pod.metadata.deletion_timestamp is not None:
            out.ending.append(pod)
        else:
            pods.append(pod)
    return pods
