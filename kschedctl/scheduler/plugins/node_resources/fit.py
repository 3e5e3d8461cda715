"""NodeResourcesFit: the node must have enough free capacity for the pod's requests and for one more pod.

A requested resource is insufficient if ``requested > allocatable - used``. If ``requested > allocatable``, evicting
pods does not help: the status is UnschedulableAndUnresolvable, in releases that distinguish this case.
"""

from collections.abc import Hashable, Iterator, Mapping
from functools import partial
from typing import Any, Final

import msgspec
import numpy as np

from kschedctl.cluster.nodes import Nodes
from kschedctl.cluster.overlay import Overlay
from kschedctl.common.arrays import Int64Array, Mask, Rows, numbered_together
from kschedctl.common.wording import listed
from kschedctl.objects.core import Node
from kschedctl.objects.device import DeviceClass
from kschedctl.objects.pod import Pod
from kschedctl.objects.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    PODS,
    exact_quantity,
    format_amount,
    is_extended_resource,
    pod_requests,
    scheduler_units,
    scoring_requests,
)
from kschedctl.scheduler.devices.extended_resources import CLASS_PREFIX
from kschedctl.scheduler.framework.config.types import NodeResourcesFitArgs, shape_points
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import OF_NOTHING
from kschedctl.scheduler.framework.events import (
    ActionType,
    ClusterEventWithHint,
    EventResource,
    is_on_node,
    registered,
    same_pod,
)
from kschedctl.scheduler.framework.explanation import Arithmetic, FilterCheck
from kschedctl.scheduler.framework.interface import (
    FilterPlugin,
    Handle,
    PlacementScorePlugin,
    PluginError,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ScorePlugin,
    required_state,
)
from kschedctl.scheduler.framework.operands import Operands, Shortfall
from kschedctl.scheduler.framework.pod_groups import PodGroupAssignments, PodGroupInfo
from kschedctl.scheduler.framework.remedy import Remedy, RemedyContext
from kschedctl.scheduler.framework.status import Code, Reason, Rejections, Status
from kschedctl.scheduler.plugins.node_resources.backed_resources import (
    READS,
    backed_allocations,
    backed_resources,
    usage_status,
)
from kschedctl.scheduler.plugins.node_resources.remedies import request_remedies
from kschedctl.scheduler.plugins.node_resources.scoring import (
    RATIO,
    Allocation,
    Kernel,
    ScoredResource,
    StrategyScore,
    allocations,
    exact_percent,
    least_allocated,
    most_allocated,
    percent,
    requested_amount,
    requested_to_capacity_ratio,
    spec_only,
    weighted_mean,
)

_IN_PLACE: str = "InPlacePodVerticalScaling"


def signed_requests(handle: Handle, pod: Pod) -> Hashable | None:
    """Return the requests as signature of the pod, or ``None`` if devices may satisfy one of them."""
    release = handle.release
    requests = scheduler_units(pod_requests(pod, spec_only(handle.request_rules, pod_level=True)), handle.request_rules)
    if release.devices_back_extended_resources:
        if release.queue.devices_prevent_batches:
            return None
        if backed_resources(handle, (name for name, amount in requests.items() if amount)):
            return None
    return frozenset(requests.items())


TOO_MANY_PODS: Final = "Too many pods"
#: The maximum number of resources whose combinations are numbered by bits, which is faster than by sorting.
_MOST_BITS: Final = 6
_NATIVE: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)


def reason_text(resource: str) -> str:
    """Return the scheduler's message for an insufficient resource."""
    return TOO_MANY_PODS if resource == PODS else f"Insufficient {resource}"


class InsufficientResource(Operands, frozen=True):
    """The node does not have enough free capacity of a resource."""

    #: The resource; ``pods`` for the number of pods.
    resource: str
    #: The pod's request: milli-CPU, bytes or a count.
    requested: int
    #: The sum of the requests of the node's pods and of the pods that are nominated to it, in the same unit.
    used: int
    #: The node's allocatable amount, in the same unit; 0 if it does not have the resource.
    allocatable: int
    #: The part of ``used`` that the nominated pods request, in the same unit.
    nominated: int = 0
    #: The nominated pods, as ``namespace/name``.
    nominated_pods: tuple[str, ...] = ()

    def words(self) -> str:
        running, amount = self.used - self.nominated, partial(format_amount, self.resource)
        pods = listed(self.nominated_pods, most=1)
        kept = f", {amount(self.nominated)} kept for nominated {pods}" if self.nominated else ""
        if self.resource == PODS:
            return f"has {running} of {self.allocatable} pods{kept}"
        wants = f"wants {amount(self.requested)} {self.resource}"
        if not self.allocatable:
            return f"{wants}, node offers none"
        # The pods of a node can request more than it offers, as static pods do.
        free = max(self.allocatable - running, 0)
        return f"{wants}, free {amount(free)} of {amount(self.allocatable)}{kept}"

    def data(self) -> dict[str, Any]:
        names = ("requested", "used", "allocatable", *(("nominated",) if self.nominated else ()))
        amounts = {name: exact_quantity(self.resource, getattr(self, name)) for name in names}
        pods = {"nominatedPods": self.nominated_pods} if self.nominated_pods else {}
        return {"resource": self.resource, **amounts, **pods}

    def shortfall(self) -> Shortfall:
        lacking = self.requested - (self.allocatable - self.used)
        return Shortfall(self.resource, self.requested, lacking, self.allocatable)

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to lower the pod's request to the free capacity."""
        return request_remedies(context, self.resource, self.allocatable - self.used)


class _FilterState(msgspec.Struct, frozen=True):
    """The pod's requests, in the order of reasons: pods, the native resources, then other resources by name."""

    wanted: dict[str, int]


class _ScoreState(msgspec.Struct, frozen=True):
    wanted: dict[str, int]


class NodeResourcesFit(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin, PlacementScorePlugin):
    """Upstream: plugins/noderesources/fit.go."""

    name = "NodeResourcesFit"
    reads = READS
    prepares_from = OF_NOTHING

    def __init__(self, args: msgspec.Struct | None, handle: Handle) -> None:
        super().__init__(args, handle)
        if not isinstance(args, NodeResourcesFitArgs):
            raise TypeError(f"want args to be of type NodeResourcesFitArgs, got {type(args).__name__}")
        self._args = args
        strategy = args.scoring_strategy
        self._weights = [resource.weight for resource in strategy.resources]
        self._ratio = strategy.type == RATIO
        self._shape: tuple[tuple[int, int], ...] = ()
        share = exact_percent if handle.release.fractions_are_exact else percent
        self._kernel: Kernel
        if self._ratio and strategy.requested_to_capacity_ratio is not None:
            # The configuration's scores range from 0 to 10; shape_points multiplies them by 10.
            self._shape = tuple(shape_points(strategy.requested_to_capacity_ratio.shape))
            self._kernel = requested_to_capacity_ratio(self._shape, share)
        else:
            self._kernel = partial(most_allocated if strategy.type == "MostAllocated" else least_allocated, share=share)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        pods = self.handle.pods_that_wake(EventResource.ASSIGNED_POD)
        own = self.handle.pods_that_wake(EventResource.TARGET_POD)
        of_nodes = ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE
        out = [
            registered(pods, ActionType.DELETE, self.after_pod_deleted),
            registered(EventResource.NODE, of_nodes, self.after_node_change),
        ]
        if self.handle.release.enabled(_IN_PLACE):
            out += [
                registered(resource, ActionType.UPDATE_POD_SCALE_DOWN, self.after_scale_down)
                for resource in dict.fromkeys((pods, own))
            ]
        if self.handle.release.devices_back_extended_resources:
            of_classes = ActionType.ADD | ActionType.UPDATE
            out.append(registered(EventResource.DEVICE_CLASS, of_classes, self.after_class_change))
        return tuple(out)

    def after_pod_deleted(self, pod: Pod, old: Pod, new: None) -> bool:
        """Report whether the deleted pod was on a node or nominated to one."""
        return is_on_node(old, or_nominated=True)

    def after_scale_down(self, pod: Pod, old: Pod, new: Pod) -> bool:
        """Report whether the pod itself changed, or a pod on a node lowered a request that may help the pod."""
        if same_pod(pod, new):
            return True
        if not new.spec.node_name:
            return False
        rules = self.handle.request_rules
        before, after, wanted = (scheduler_units(pod_requests(each, rules), rules) for each in (old, new, pod))
        return any(amount and before.get(name, 0) > after.get(name, 0) for name, amount in wanted.items())

    def after_node_change(self, pod: Pod, old: Node | None, new: Node) -> bool:
        """Report whether the pod fits on the empty node, and the node changed in its favour.

        The node must be new, or offer more of a requested resource, or offer none of a resource that a DeviceClass
        backs. Where the release says so, the pod is also tried again if its nominated node no longer has room for it.
        """
        wanted = self.wanted(pod)
        backed = backed_resources(self.handle, wanted)

        def lacking(offers: Mapping[str, int]) -> list[str]:
            names = (name for name, amount in wanted.items() if amount > offers.get(name, 0))
            return [name for name in names if name not in backed or offers.get(name, 0)]

        offers = Nodes((new,)).allocatable[0]
        if lacks := lacking(offers):
            wakes = self.handle.release.queue.shrunk_nominated_node_wakes and not pod.spec.pod_group_name
            if old is None or not wakes or pod.status.nominated_node_name != new.name:
                return False
            return not lacking(Nodes((old,)).allocatable[0]) and not set(_NATIVE).isdisjoint(lacks)
        if old is None:
            return True
        before = Nodes((old,)).allocatable[0]
        if any(offers.get(name, 0) > before.get(name, 0) for name in (PODS, *wanted)):
            return True
        return any(not offers.get(name, 0) for name in backed)

    def after_class_change(self, pod: Pod, old: DeviceClass | None, new: DeviceClass) -> bool:
        """Report whether the class backs a resource that the pod requests and did not back it before."""
        requests = pod_requests(pod, self.handle.request_rules)
        name = new.spec.extended_resource_name
        if old is None:
            return CLASS_PREFIX + new.name in requests or bool(name and name in requests)
        return old.spec.extended_resource_name != name and bool(name and name in requests)

    def sign_pod(self, pod: Pod) -> Hashable | None:
        return signed_requests(self.handle, pod)

    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        state.write(_FilterState(self.wanted(pod)))
        return PreFilterResult()

    def wanted(self, pod: Pod) -> dict[str, int]:
        """Return the pod's nonzero requests in the order of reasons: milli-CPU, bytes and counts.

        The pod itself counts as 1 of the resource ``pods``. Ignored extended resources are left out.
        """
        rules = self.handle.request_rules
        requests = scheduler_units(pod_requests(pod, spec_only(rules, pod_level=True)), rules)
        others = sorted(name for name in requests if name not in (*_NATIVE, PODS) and not self._ignored(name))
        order = (*(name for name in _NATIVE if name in requests), *others)
        return {PODS: 1, **{name: requests[name] for name in order if requests[name] > 0}}

    def _ignored(self, resource: str) -> bool:
        return is_extended_resource(resource) and (
            resource in self._args.ignored_resources or resource.partition("/")[0] in self._args.ignored_resource_groups
        )

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        found = required_state(
            state, _FilterState, 'error reading "PreFilterNodeResourcesFit" from cycleState: not found'
        )
        wanted = found.wanted
        columns = self.handle.cluster.resources(self.handle.request_rules)
        rows: Rows | slice = slice(None) if nodes.rows is self.handle.cluster.nodes.rows else nodes.rows
        backed = backed_resources(self.handle, wanted)
        insufficient = np.zeros((len(wanted), len(nodes)), dtype=np.bool_)
        unresolvable = np.zeros(len(nodes), dtype=np.bool_)
        for i, (resource, amount) in enumerate(wanted.items()):
            index = columns.index.get(resource)
            if index is None:
                if resource in backed:
                    continue
                insufficient[i] = True
                unresolvable[:] = True
                continue
            allocatable = columns.allocatable[index][rows]
            insufficient[i] = amount > allocatable - columns.used(index, nodes, (self.name, resource))
            if resource in backed:
                # If the node offers none, DynamicResources allocates devices instead.
                insufficient[i] &= allocatable > 0
            if resource != PODS:
                unresolvable |= insufficient[i] & (amount > allocatable)
        names = tuple(wanted)
        reason, lacking_of = _number_shortages(insufficient)
        unresolvable &= self.handle.release.fit_gives_up
        code = np.where(unresolvable, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.UNSCHEDULABLE).astype(np.int8)
        code[~insufficient.any(axis=0)] = Code.SUCCESS

        def texts(number: int) -> tuple[str, ...]:
            return tuple(reason_text(name) for i, name in enumerate(names) if lacking_of[i, number])

        def details(position: int) -> tuple[Reason, ...]:
            lacking = [name for i, name in enumerate(names) if insufficient[i, position]]
            return tuple(self._resource_reason(name, wanted[name], nodes, position) for name in lacking)

        def alike() -> Int64Array:
            amounts = [reason]
            for i, resource in enumerate(names):
                index = columns.index.get(resource)
                if index is not None and insufficient[i].any():
                    used = columns.used(index, nodes, (self.name, resource))
                    amounts += [insufficient[i] * each for each in (columns.allocatable[index][rows], used)]
            first, number = numbered_together(amounts, len(nodes))
            # The nominated pods of a node are part of its reasons.
            number[nodes.with_nominated] = len(first) + nodes.with_nominated
            return number

        return Rejections(code, reason, texts, details, alike)

    def explain_filter(self, state: CycleState, pod: Pod, row: int) -> tuple[FilterCheck, ...]:
        found = state.read(_FilterState)
        columns = self.handle.cluster.resources(self.handle.request_rules)
        wanted = found.wanted if found is not None else {}
        backed = backed_resources(self.handle, wanted)
        checks = []
        for resource, amount in wanted.items():
            index = columns.index.get(resource)
            offered, used = (
                (0, 0) if index is None else (int(t[index, row]) for t in (columns.allocatable, columns.requested))
            )
            told = f"{format_amount(resource, amount)} {resource}" if resource != PODS else "1 more pod"
            if resource in backed and not offered:
                checks.append(FilterCheck(told, "requested as devices", True))
                continue
            free, of, taken = (format_amount(resource, n) for n in (offered - used, offered, used))
            checks.append(FilterCheck(told, f"free {free} of {of}, requested {taken}", amount <= offered - used))
        return tuple(checks)

    def _resource_reason(self, resource: str, amount: int, nodes: Overlay, position: int) -> Reason:
        columns = self.handle.cluster.resources(self.handle.request_rules)
        row = nodes.rows[position]
        index = columns.index.get(resource)
        if index is None:
            return Reason(reason_text(resource), InsufficientResource(resource, amount, 0, 0))
        allocatable = int(columns.allocatable[index, row])
        used = int(columns.used(index, nodes, (self.name, resource))[position])
        nominated = nodes.nominated_in(position)
        # Of the nominated pods alone: a column of all pods for each node that is shown would be quadratic.
        wanted_by = columns.per_class[index][nodes.pods.class_id[nominated]]
        pods = tuple(nodes.pods.key(pod) for pod in nominated[wanted_by != 0].tolist())
        kept = int(wanted_by.sum())
        return Reason(reason_text(resource), InsufficientResource(resource, amount, used, allocatable, kept, pods))

    def pre_score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Status:
        wanted = self._scored_requests(pod)
        state.write(_ScoreState(wanted))
        return usage_status(self.handle, wanted)

    def _scored_requests(self, pod: Pod) -> dict[str, int]:
        pod_level = self.handle.release.fit_scores_pod_level_resources
        requests = scoring_requests(pod, spec_only(self.handle.request_rules, pod_level=pod_level))
        return {
            r.name: requested_amount(requests, r.name, self.handle.request_rules)
            for r in self._args.scoring_strategy.resources
        }

    def score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Int64Array:
        return weighted_mean(self._offers(state, pod, rows), self._weights, self._kernel, only_positive=self._ratio)

    def _offers(self, state: CycleState, pod: Pod, rows: Int64Array) -> list[Allocation]:
        """Return the amounts of the configured resources on some nodes, in their order."""
        found = state.read(_ScoreState)
        wanted = found.wanted if found is not None else self._scored_requests(pod)
        if not wanted:
            raise PluginError("resources not found")
        offers = allocations(self.handle.cluster, self.handle.request_rules, wanted, rows, non_zero=True)
        offers = backed_allocations(self.handle, wanted, offers, rows)
        # Upstream counts a resource once per entry of the configuration, duplicates included.
        by_resource = dict(zip(wanted, offers, strict=True))
        return [by_resource[resource.name] for resource in self._args.scoring_strategy.resources]

    def score_placement(self, group: PodGroupInfo, assignments: PodGroupAssignments) -> int:
        # Members of one template share their spec, on which alone the requests depend.
        by_spec = {id(pod.spec): pod for pod, _ in assignments.proposed}
        requests_of = {spec: self._scored_requests(pod) for spec, pod in by_spec.items()}
        members = [requests_of[id(pod.spec)] for pod, _ in assignments.proposed]
        cluster, rules = self.handle.cluster, self.handle.request_rules
        totals = []
        for resource in self._args.scoring_strategy.resources:
            amount = sum(requests[resource.name] for requests in members)
            (offer,) = allocations(cluster, rules, {resource.name: amount}, assignments.placement.rows, non_zero=True)
            allocatable, allocated = (array.sum(keepdims=True) for array in (offer.allocatable, offer.allocated))
            totals.append(Allocation(allocatable, allocated, allocated + amount))
        return int(weighted_mean(totals, self._weights, most_allocated, only_positive=False)[0])

    def explain_score(self, state: CycleState, pod: Pod, row: int) -> Arithmetic:
        strategy = self._args.scoring_strategy
        offers = self._offers(state, pod, np.array([row], dtype=np.int64))
        resources = tuple(
            ScoredResource(
                resource.name,
                weight,
                int(offer.requested[0]),
                int(offer.allocatable[0]),
                int(self._kernel(offer.requested, offer.allocatable)[0]),
            )
            for resource, weight, offer in zip(strategy.resources, self._weights, offers, strict=True)
        )
        score = weighted_mean(offers, self._weights, self._kernel, only_positive=self._ratio)
        return StrategyScore(strategy.type, resources, self._shape, int(score[0]))


def _number_shortages(insufficient: Mask) -> tuple[Int64Array, Mask]:
    """Assign a number to each combination of insufficient resources.

    Args:
        insufficient: True if the node has too little free capacity of the resource.

    Returns: number: the number of each node's combination; lacking: the insufficient resources of each number
    """
    n_resources, n_rows = insufficient.shape
    if not insufficient.any():
        return np.zeros(n_rows, dtype=np.int64), np.zeros((n_resources, 1), dtype=np.bool_)
    if n_resources > _MOST_BITS:
        lacking, number = np.unique(insufficient, axis=1, return_inverse=True)
        return number.reshape(n_rows), lacking
    bits = np.zeros(n_rows, dtype=np.int64)
    for i, row in enumerate(insufficient):
        bits |= row.astype(np.int64) << i
    numbers = np.arange(1 << n_resources)
    return bits, (numbers >> np.arange(n_resources)[:, np.newaxis] & 1).astype(np.bool_)
