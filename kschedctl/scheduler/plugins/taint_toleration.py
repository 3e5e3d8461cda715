"""TaintToleration: rejects nodes with untolerated hard taints; untolerated soft taints lower the score.

Score: the number of ``PreferNoSchedule`` taints that are not tolerated, normalised in reverse.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from kschedctl.cluster.node_selection import required_node_selector
from kschedctl.cluster.overlay import Overlay
from kschedctl.common.arrays import Int64Array
from kschedctl.objects.core import Node, Taint
from kschedctl.objects.karpenter import NODE_POOL_LABEL, NodePool
from kschedctl.objects.pod import (
    CRITICAL_ADDONS_ONLY,
    DEFAULT_TOLERATIONS,
    NO_EXECUTE,
    NO_SCHEDULE,
    PREFER_NO_SCHEDULE,
    UNSCHEDULABLE_TAINT,
    VIRTUAL_KUBELET,
    Pod,
    Toleration,
    protects_pods,
    tolerated,
    tolerates,
    toleration_of,
)
from kschedctl.objects.resources import RequestRules, is_extended_resource, pod_requests, scheduler_units
from kschedctl.objects.well_known import HOSTNAME, OS_LABELS, PLATFORM_LABELS, describes_pool
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import OF_NODE, OF_NOTHING
from kschedctl.scheduler.framework.events import ActionType, ClusterEventWithHint, EventResource, registered, same_pod
from kschedctl.scheduler.framework.explanation import Arithmetic, FilterCheck, Step, sum_expression
from kschedctl.scheduler.framework.interface import (
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ScaledScorePlugin,
    required_state,
)
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.remedy import (
    Operation,
    Remedy,
    RemedyContext,
    add_operation,
    remove_operation,
    replace_operation,
)
from kschedctl.scheduler.framework.risk import Risk
from kschedctl.scheduler.framework.runtime import signed_tolerations
from kschedctl.scheduler.framework.status import SUCCESS, Code, Reason, Rejections, Status
from kschedctl.scheduler.plugins.node_resources.remedies import requested

# Remedies for taints: the pod tolerates the taint, or the taint is removed from the node.

#: Names of taints that reserve a pool of nodes, after the domain.
_POOL_TAINTS: Final = frozenset((CRITICAL_ADDONS_ONLY, "dedicated", "spot"))


def taint_remedies(context: RemedyContext, taint: Taint) -> Iterator[Remedy]:
    """Propose to tolerate a taint, or to remove it from the node.

    A node with the taint of cordoned nodes is uncordoned instead. Nothing is proposed for taints that protect pods from
    a node: those of Kubernetes, cloud providers, network agents and autoscalers, that of the control plane, and those
    that reserve nodes for pods that request their devices. The taint of a pool is not removed from one of its nodes.
    Neither is a taint that is named after a device or the platform of the node. Nodes with Windows are only for pods
    that select them by their operating system: programs of Linux do not run there.

    A startup taint of Karpenter is not tolerated: an agent takes it off when it has set the node up.

    Nodes with a taint are for certain pods. If the pod selects none of them, and other nodes have no taint, a new node
    comes before the toleration.
    """
    node = context.node
    if taint.key == UNSCHEDULABLE_TAINT.key:
        cordon = [replace_operation(False, "spec", "unschedulable")] if node.spec.unschedulable else []
        yield context.node_patch(
            f"uncordon node {node.name}",
            *cordon,
            *_untaint(node, [taint]),
            family="uncordon",
            risk=Risk.MISTAKE,
            command=f"uncordon {node.name}",
            side_of="uncordon",
            side=node.name,
        )
    if _is_being_set_up(context, taint):
        return
    is_offered = taint.key in node.status.allocatable
    # A taint that is named after a resource reserves the node for pods that request the resource.
    if protects_pods(taint) or (is_offered and not requested(context.pod, context.release, taint.key)):
        return
    if taint.key in (CRITICAL_ADDONS_ONLY, VIRTUAL_KUBELET) and not _selects(context):
        return
    if is_of_windows(node) and not names_system(context.pod):
        return
    yield _tolerated(context, taint, f"tolerate {taint}", str(taint))
    same_key = [each for each in node.spec.taints if each.key == taint.key and each.effect in (NO_SCHEDULE, NO_EXECUTE)]
    if len(same_key) > 1:
        yield _tolerated(context, Taint(key=taint.key), f"tolerate every taint {taint.key}", taint.key)
    if describes_pool(taint.key) or is_offered or is_of_pool(node, taint):
        return
    yield from _untainted(context, [taint], str(taint), f"taint {taint}")
    if len(same_key) > 1:
        yield from _untainted(context, same_key, taint.key, f"every taint {taint.key}")


def _is_being_set_up(context: RemedyContext, taint: Taint) -> bool:
    """Report whether Karpenter waits for a taint of a new node to be gone (``startupTaints``)."""
    labels = context.node.metadata.labels
    pool = context.cluster.get(NodePool, labels.get(NODE_POOL_LABEL, ""))
    if pool is None or labels.get("karpenter.sh/initialized") == "true":
        return False
    startup = pool.spec.template.spec.startup_taints
    return any((each.key, each.effect) == (taint.key, taint.effect) for each in startup)


def is_of_windows(node: Node) -> bool:
    """Report whether a node runs Windows, by its labels."""
    return any(node.metadata.labels.get(key) == "windows" for key in OS_LABELS)


def names_system(pod: Pod) -> bool:
    """Report whether a pod selects nodes by their operating system."""
    required = required_node_selector(pod.spec)
    expressions = (each for term in required.node_selector_terms for each in term.match_expressions) if required else ()
    return any(key in OS_LABELS for key in (*pod.spec.node_selector, *(each.key for each in expressions)))


def _tolerated(context: RemedyContext, taint: Taint, summary: str, which: str) -> Remedy:
    toleration = toleration_of(taint)
    patch = add_operation((toleration,), "spec", "tolerations")
    if _written_tolerations(context):
        patch = add_operation(toleration, "spec", "tolerations", "-")
    for_others = is_of_pool(context.node, taint) or _has_free_nodes(context)
    risk = Risk.SHARED if for_others and not _selects(context) else Risk.POD
    return context.pod_patch(summary, patch, risk=risk, family=("tolerate", which), side_of=("taint", which))


def is_of_pool(node: Node, taint: Taint) -> bool:
    """Report whether a taint stands for a pool by the devices of its nodes, its platform or its usual names."""
    platform = {node.metadata.labels.get(key) for key in PLATFORM_LABELS}
    if any(is_extended_resource(name) and amount != "0" for name, amount in node.status.allocatable.items()):
        return True
    return taint.value in platform - {None, ""} or taint.key.rpartition("/")[2] in _POOL_TAINTS


def _selects(context: RemedyContext) -> bool:
    """Report whether the pod chooses its nodes, by a selector, an affinity or devices."""
    spec, wanted = context.pod.spec, scheduler_units(pod_requests(context.pod, RequestRules()))
    chooses = required_node_selector(spec) is not None or bool(set(spec.node_selector) - PLATFORM_LABELS - {HOSTNAME})
    named = any(key in PLATFORM_LABELS and value != "linux" for key, value in spec.node_selector.items())
    return chooses or named or any(is_extended_resource(name) for name in wanted)


def _has_free_nodes(context: RemedyContext) -> bool:
    """Report whether the cluster has nodes without a hard taint that the pod does not tolerate."""
    tolerations = context.pod.spec.tolerations
    return any(
        all(tolerated(tolerations, taint) for taint in taints if taint.effect in (NO_SCHEDULE, NO_EXECUTE))
        for taints in context.cluster.nodes.taint_lists
    )


def _untainted(context: RemedyContext, taints: Sequence[Taint], which: str, what: str) -> Iterator[Remedy]:
    node = context.node
    patch = list(_untaint(node, taints))
    if patch:
        yield context.node_patch(
            f"remove {what} from node {node.name}",
            *patch,
            family=("untaint", what),
            within=1,
            once=True,
            command=f"taint nodes {node.name} {which}-",
            side_of=("taint", which),
            side=f"remove the taint from node {node.name}",
        )


def _untaint(node: Node, taints: Sequence[Taint]) -> Iterator[Operation]:
    # From the last to the first, because each removal shifts the indices after it.
    for i in reversed(range(len(node.spec.taints))):
        if node.spec.taints[i] in taints:
            yield remove_operation("spec", "taints", i)


def without_toleration(context: RemedyContext) -> Iterator[Remedy]:
    """Propose to drop each toleration of the pod, except for the defaults, which admission would add again."""
    for i, toleration in enumerate(context.pod.spec.tolerations):
        if toleration in DEFAULT_TOLERATIONS:
            continue
        named = f"{toleration.key or 'every taint'}{f':{toleration.effect}' if toleration.effect else ''}"
        yield context.pod_patch(
            f"drop the toleration of {named}",
            remove_operation("spec", "tolerations", i),
            risk=Risk.DROPPED,
            family=("drop toleration", i),
        )


def _written_tolerations(context: RemedyContext) -> tuple[Toleration, ...]:
    """Return the tolerations of the object that is patched: the stored pod, else the manifest without defaults."""
    pods = context.cluster.pods
    index = pods.index.get((context.pod.namespace, context.pod.name))
    if index is not None:
        return pods.pod(index).spec.tolerations
    return tuple(each for each in context.pod.spec.tolerations if each not in DEFAULT_TOLERATIONS)


REASON: Final = "node(s) had untolerated taint(s)"


def untolerated_taint(taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...]) -> Taint | None:
    """Return the first ``NoSchedule`` or ``NoExecute`` taint that is not tolerated, or ``None``."""
    hard = (taint for taint in taints if taint.effect in (NO_SCHEDULE, NO_EXECUTE))
    return next((taint for taint in hard if not tolerated(tolerations, taint)), None)


class UntoleratedTaint(Operands, frozen=True):
    """The node has a taint that the pod does not tolerate."""

    #: The first such taint.
    taint: Taint

    def words(self) -> str:
        return f"taint {self.taint} is not tolerated"

    def data(self) -> dict[str, Any]:
        return {"taint": str(self.taint)}

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to tolerate the taint, or to remove it from the node."""
        return taint_remedies(context, self.taint)


class SoftTaints(Arithmetic, frozen=True):
    """The raw score of TaintToleration."""

    #: The node's ``PreferNoSchedule`` taints that the pod does not tolerate, and those that it tolerates.
    untolerated: tuple[str, ...]
    tolerated: tuple[str, ...]

    def formula(self) -> str:
        return "the number of PreferNoSchedule taints that are not tolerated"

    def steps(self) -> Iterator[Step]:
        for taint in self.untolerated:
            yield Step(taint, "1", 1, "is not tolerated")
        for taint in self.tolerated:
            yield Step(taint, "0", 0, "is tolerated")
        none = "" if self.untolerated or self.tolerated else "the node has no such taint"
        yield Step("score", sum_expression("1" for _ in self.untolerated), len(self.untolerated), none)


class _State(msgspec.Struct, frozen=True):
    """A mark in the cycle state: PreScore ran."""


class TaintToleration(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScaledScorePlugin):
    """Upstream: plugins/tainttoleration."""

    name = "TaintToleration"
    prefers_low = True
    reads = OF_NODE
    prepares_from = OF_NOTHING

    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        return PreFilterResult()

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        pods = self.handle.pods_that_wake(EventResource.TARGET_POD)
        return (
            registered(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT, _after_node_change),
            registered(pods, ActionType.UPDATE_POD_TOLERATION, lambda pod, old, new: same_pod(pod, new)),
        )

    def sign_pod(self, pod: Pod) -> Hashable:
        return signed_tolerations(pod)

    def _per_list(self, judge: Callable[[tuple[Taint, ...]], int], rows: Int64Array) -> Int64Array:
        """Evaluate ``judge`` once per distinct list of taints: int64, shape (n_rows,)."""
        nodes = self.handle.cluster.nodes
        return np.array([judge(taints) for taints in nodes.taint_lists], dtype=np.int64)[nodes.taint_list[rows]]

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        columns, tolerations = self.handle.cluster.nodes, pod.spec.tolerations
        tainted = self._per_list(lambda taints: untolerated_taint(taints, tolerations) is not None, nodes.rows)
        code = (tainted * Code.UNSCHEDULABLE_AND_UNRESOLVABLE).astype(np.int8)
        taint_list = columns.taint_list[nodes.rows]

        def details(position: int) -> tuple[Reason, ...]:
            taint = untolerated_taint(columns.taint_lists[taint_list[position]], tolerations)
            return (Reason(self._text(taint), UntoleratedTaint(taint) if taint is not None else None),)

        return Rejections(
            code,
            taint_list,
            lambda number: (self._text(untolerated_taint(columns.taint_lists[number], tolerations)),),
            details,
            lambda: taint_list,
        )

    def _text(self, taint: Taint | None) -> str:
        """Return the scheduler's message for an untolerated taint."""
        if taint is None or not self.handle.release.names_untolerated_taint:
            return REASON
        return f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"

    def pre_score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Status:
        state.write(_State())
        return SUCCESS

    def score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Int64Array:
        required_state(state, _State, 'reading "PreScoreTaintToleration" from cycleState: not found')
        # Upstream drops tolerations of other effects first. They never match a soft taint, so the count is the same.
        tolerations = pod.spec.tolerations
        return self._per_list(
            lambda taints: sum(
                taint.effect == PREFER_NO_SCHEDULE and not tolerated(tolerations, taint) for taint in taints
            ),
            rows,
        )

    def explain_filter(self, state: CycleState, pod: Pod, row: int) -> tuple[FilterCheck, ...]:
        taints = self.handle.cluster.nodes.objects[row].spec.taints
        hard = [taint for taint in taints if taint.effect in (NO_SCHEDULE, NO_EXECUTE)]
        none = FilterCheck("taints", "the node has no NoSchedule or NoExecute taint", True)
        return tuple(_taint_check(taint, pod.spec.tolerations) for taint in hard) or (none,)

    def explain_score(self, state: CycleState, pod: Pod, row: int) -> Arithmetic:
        taints = self.handle.cluster.nodes.objects[row].spec.taints
        soft = [taint for taint in taints if taint.effect == PREFER_NO_SCHEDULE]
        fine = [tolerated(pod.spec.tolerations, taint) for taint in soft]
        told = list(map(str, soft))
        return SoftTaints(
            tuple(taint for taint, ok in zip(told, fine, strict=True) if not ok),
            tuple(taint for taint, ok in zip(told, fine, strict=True) if ok),
        )


def _taint_check(taint: Taint, tolerations: tuple[Toleration, ...]) -> FilterCheck:
    found = next((toleration for toleration in tolerations if tolerates(toleration, taint)), None)
    if found is None:
        return FilterCheck(f"taint {taint}", "no toleration matches it", False)
    value = f"={found.value}" if found.operator != "Exists" and found.value else ""
    effect = f":{found.effect}" if found.effect else ""
    what = f"{found.key}{value}{effect}" if found.key else f"every taint{effect}"
    return FilterCheck(f"taint {taint}", f"toleration of {what}", True)


def _after_node_change(pod: Pod, old: Node | None, new: Node) -> bool:
    was_kept_out = old is None or untolerated_taint(old.spec.taints, pod.spec.tolerations) is not None
    return was_kept_out and untolerated_taint(new.spec.taints, pod.spec.tolerations) is None
