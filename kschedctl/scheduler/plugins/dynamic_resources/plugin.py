"""DynamicResources: a node must have the devices requested by the pod's claims.

An allocated claim must be usable on the node. All other claims are allocated on every node as if it were chosen. Nodes
with equal devices are searched once. In releases that do not allocate devices, the plugin does nothing.
"""

from collections.abc import Hashable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from kschedctl.cluster.overlay import Overlay
from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.objects.device import ResourceClaim, ResourceClaimTemplate
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import Release
from kschedctl.objects.resources import is_scalar_resource, pod_requests, scheduler_units
from kschedctl.scheduler.devices.claims import (
    BINDING_TIMEOUT,
    KINDS,
    AllocationError,
    ClaimProblemError,
    available_on,
    check_classes,
    is_lost,
    pod_claims,
)
from kschedctl.scheduler.devices.extended_resources import backing_classes, leftover_claim, resources_with_class
from kschedctl.scheduler.framework.config.types import DynamicResourcesArgs
from kschedctl.scheduler.framework.cycle_state import CycleState, NotModelled
from kschedctl.scheduler.framework.dependencies import Dependencies, Reach
from kschedctl.scheduler.framework.events import ActionType, ClusterEventWithHint, EventResource, registered, same_pod
from kschedctl.scheduler.framework.explanation import Arithmetic
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import (
    FilterPlugin,
    Handle,
    PluginError,
    PodGroupPostFilterPlugin,
    PodGroupPostFilterResult,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    ReservePlugin,
    ScaledScorePlugin,
    required_state,
)
from kschedctl.scheduler.framework.node_statuses import NodeStatuses
from kschedctl.scheduler.framework.pod_groups import PodGroupInfo, PodGroupTrial
from kschedctl.scheduler.framework.remedy import Remedy, RemedyContext
from kschedctl.scheduler.framework.status import SKIP, SUCCESS, Code, Rejections, Status
from kschedctl.scheduler.plugins.dynamic_resources.state import NOT_AVAILABLE, Extended, State

if TYPE_CHECKING:
    from kschedctl.scheduler.devices.inventory import Inventory


# Most pods need no devices: their allocation is imported inside the methods that are called for the others.

#: The message of PostFilter in releases that do not allocate devices.
DISABLED: Final = "plugin disabled"
DEALLOCATED: Final = "deallocation and deletion of ResourceClaims completed"


class DynamicResources(
    PreEnqueuePlugin,
    PreFilterPlugin,
    FilterPlugin,
    PostFilterPlugin,
    PodGroupPostFilterPlugin,
    ScaledScorePlugin,
    ReservePlugin,
    PreBindPlugin,
):
    """Upstream: plugins/dynamicresources."""

    name = "DynamicResources"
    counts_pods = False
    reads = Dependencies(nodes=Reach.CLUSTER, kinds=frozenset({*KINDS, ResourceClaimTemplate}))
    prepares_from = reads

    def __init__(self, args: msgspec.Struct | None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._enabled = handle.release.devices.allocates
        if self._enabled and not isinstance(args, DynamicResourcesArgs):
            raise TypeError(f"want args to be of type DynamicResourcesArgs, got {type(args).__name__}")
        waits = args.binding_timeout if isinstance(args, DynamicResourcesArgs) else None
        self._binding_timeout = BINDING_TIMEOUT if waits is None else timedelta(microseconds=waits.nanoseconds // 1000)

    @classmethod
    def extension_points(cls, release: Release) -> frozenset[ExtensionPoint]:
        points = super().extension_points(release)
        return points if release.dynamic_resources_scores else points - {ExtensionPoint.SCORE}

    def own_part(self, pod: Pod) -> Hashable:
        if pod.spec.resource_claims or self._extended(pod) is not None:
            return pod.metadata.name, pod.metadata.uid, pod.status.resource_claim_statuses
        return None

    def reach_of_pods(self, pod: Pod) -> Reach:
        return Reach.NOTHING if self.own_part(pod) is None else Reach.CLUSTER

    @property
    def inventory(self) -> "Inventory":
        """The devices of the plugin's cluster."""
        from kschedctl.scheduler.devices.inventory import Inventory

        return Inventory.of(self.handle.cluster, self.handle.release.devices)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        of_nodes = ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE
        of_claims = ActionType.ALL if self.handle.release.queue.deleted_claims_wake else _CHANGED
        own = self.handle.pods_that_wake(EventResource.TARGET_POD)
        return (
            registered(EventResource.NODE, of_nodes),
            registered(EventResource.RESOURCE_CLAIM, of_claims, self.after_claim_change),
            registered(own, ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM, self.after_claim_generated),
            registered(EventResource.DEVICE_CLASS, _CHANGED),
            registered(EventResource.RESOURCE_SLICE, _CHANGED),
        )

    def after_claim_change(self, pod: Pod, old: ResourceClaim | None, new: ResourceClaim | None) -> bool:
        """Report whether a claim released its devices, or is one of the pod's claims and changed its status."""
        if new is None:
            return old is not None and old.status.allocation is not None
        try:
            claims = list(pod_claims(self.handle.cluster, pod, self.handle.release.devices))
        except ClaimProblemError:
            return False
        if old is not None and old.status.allocation is not None and new.status.allocation is None:
            return True
        names = {(claim.namespace, claim.name) for claim in claims}
        return (new.namespace, new.name) in names and (old is None or old.status != new.status)

    def after_claim_generated(self, pod: Pod, old: Pod, new: Pod) -> bool:
        """Report whether all claims of the pod exist."""
        if not same_pod(pod, new):
            return False
        try:
            list(pod_claims(self.handle.cluster, new, self.handle.release.devices))
        except ClaimProblemError:
            return False
        return True

    def sign_pod(self, pod: Pod) -> Hashable | None:
        return None if pod.spec.resource_claims else ()

    def remedies(self, context: RemedyContext, status: Status) -> Iterator[Remedy]:
        """Propose to drop a claim, or to use another one."""
        from kschedctl.scheduler.devices.explain import device_remedies

        return device_remedies(context)

    def pre_enqueue(self, pod: Pod) -> Status:
        if not self._enabled:
            return SUCCESS
        try:
            pod_claims(self.handle.cluster, pod, self.handle.release.devices)
        except ClaimProblemError as problem:
            return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (str(problem),))
        return SUCCESS

    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        if not self._enabled:
            return PreFilterResult(SKIP)
        state.write(State())
        cluster, rules = self.handle.cluster, self.handle.release.devices
        try:
            claims = tuple(pod_claims(cluster, pod, rules))
            extended = self._extended(pod)
            if not claims and extended is None:
                return PreFilterResult(SKIP)
            for claim in claims:
                if claim.status.allocation is None:
                    check_classes(cluster, claim)
        except ClaimProblemError as problem:
            return PreFilterResult(Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (str(problem),)))
        except AllocationError as error:
            raise PluginError(str(error)) from None
        leftover = extended.leftover if extended is not None else None
        to_allocate = [*claims, *([leftover] if leftover is not None else [])]
        if any(claim.status.allocation is None for claim in to_allocate) or (extended is not None and leftover is None):
            unknown_usage = self.inventory.usage.problem
            if unknown_usage:
                raise PluginError(f"gather allocation state: {unknown_usage}")
        n_nodes = len(cluster.nodes)
        state.write(
            State(
                claims,
                extended,
                pod,
                np.array([self._available(state, claim) for claim in claims], dtype=np.bool_).reshape(-1, n_nodes),
                verdict_of=np.full(n_nodes, -1, dtype=np.int64),
                place_of=np.full(n_nodes, -1, dtype=np.int64),
            )
        )
        return PreFilterResult()

    def _extended(self, pod: Pod) -> Extended | None:
        """Return the pod's extended resources, or ``None`` if no DeviceClass backs one of them."""
        if not self.handle.release.devices_back_extended_resources:
            return None
        classes = backing_classes(self.handle.cluster)
        if not classes:
            return None
        requests = scheduler_units(pod_requests(pod, self.handle.request_rules), self.handle.request_rules)
        amounts = {name: amount for name, amount in requests.items() if amount and is_scalar_resource(name)}
        if not resources_with_class(amounts, classes):
            return None
        return Extended(amounts, classes, leftover_claim(self.handle.cluster, pod))

    def _available(self, state: CycleState, claim: ResourceClaim) -> Mask:
        """Return the nodes on which a claim can be used if it is allocated: bool, shape (n_nodes,)."""
        cluster, rules = self.handle.cluster, self.handle.release.devices
        mask = available_on(cluster, claim, rules)
        if rules.binding_conditions and is_lost(claim, cluster.taken_at, self._binding_timeout):
            mask = np.zeros_like(mask)
        return mask

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        found = required_state(state, State, "not found")
        if found.is_empty:
            return Rejections.everywhere(len(nodes), SUCCESS)
        from kschedctl.scheduler.plugins.dynamic_resources.filtering import examine, rejections

        examine(found, self.inventory, nodes.rows)
        notes = [
            NotModelled(what, "the answer assumes that no device matches it") for what in self.inventory.not_modelled
        ]
        if any(outcome.gave_up for v in found.verdicts if v.allocations for outcome in v.allocations.outcomes):
            effect = "the answer assumes that kube-scheduler times out"
            notes.append(NotModelled("a device search with too many steps", effect))
        state.not_modelled += [note for note in notes if note not in state.not_modelled]
        return rejections(found, self.handle.cluster, self.handle.release.devices, nodes.rows)

    def post_filter(self, state: CycleState, pod: Pod, statuses: NodeStatuses) -> PostFilterResult:
        """Report the claim that kube-scheduler would deallocate or delete.

        If PreFilter did not reach this plugin, the state is missing, which is an error as upstream.
        """
        if not self._enabled:
            return PostFilterResult(Status(Code.UNSCHEDULABLE, (DISABLED,)))
        found = state.read(State)
        if found is None:
            return PostFilterResult(Status(Code.ERROR, ("not found",)))

        silent = self.handle.release.devices.silent_post_filter
        return PostFilterResult(post_filter_status(found, pod, statuses, self.name, silent=silent))

    def pod_group_post_filter(self, group: PodGroupInfo, trial: PodGroupTrial) -> PodGroupPostFilterResult:
        spec = group.pod_group.spec if group.pod_group is not None else None
        placed = self.handle.release.places_groups and spec is not None and spec.scheduling_constraints is not None
        if placed or group.is_tree or not self._enabled:
            return PodGroupPostFilterResult(Status(Code.UNSCHEDULABLE))
        if all(state.read(State) is None for state in trial.states):
            # The attempt ended before this plugin prepared for any member.
            return PodGroupPostFilterResult(Status(Code.ERROR, ("not found",)))
        return PodGroupPostFilterResult(Status(Code.UNSCHEDULABLE, (DEALLOCATED,)))

    def score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Int64Array:
        found = state.read(State)
        if found is None or found.is_empty:
            return np.zeros(len(rows), dtype=np.int64)
        from kschedctl.scheduler.plugins.dynamic_resources.filtering import examine
        from kschedctl.scheduler.plugins.dynamic_resources.scoring import raw_scores

        examine(found, self.inventory, rows)
        return raw_scores(found, rows, needs_new_allocations=self.handle.release.devices.score_needs_new_allocations)

    def explain_score(self, state: CycleState, pod: Pod, row: int) -> Arithmetic:
        from kschedctl.scheduler.plugins.dynamic_resources.scoring import explain_scores

        found = state.read(State)
        return explain_scores(found if found is not None and not found.is_empty else None, row)

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return SUCCESS

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        from kschedctl.scheduler.plugins.dynamic_resources.binding import bind_pod_claims

        state.effects.extend(bind_pod_claims(pod, state, self.handle.cluster.nodes.row[node_name]))
        return SUCCESS


# The PostFilter of DynamicResources: deallocates a claim that rejected nodes, or deletes a leftover claim.

NOTHING: Final = "no new claims to deallocate"
STILL: Final = "still not schedulable"
POST_FILTER_DEALLOCATED: Final = "deallocation of ResourceClaim completed"
DELETED: Final = "deletion of ResourceClaim completed"


def post_filter_status(state: State, pod: Pod, statuses: NodeStatuses, plugin: str, *, silent: bool) -> Status:
    """Return the status of PostFilter.

    Args:
        state: The state after Filter.
        statuses: The filters' verdicts, by node.
        silent: True if the status has no reason when nothing is deallocated or deleted.
    """
    if state.is_empty:
        return Status(Code.UNSCHEDULABLE, () if silent else (NOTHING,))
    rows = _rows_without_claim(statuses, plugin)
    for claim, available in zip(state.claims, state.available, strict=True):
        reserved = claim.status.reserved_for
        mine = not reserved or (len(reserved) == 1 and reserved[0].uid == pod.metadata.uid)
        if mine and not available[rows].all():
            return Status(Code.UNSCHEDULABLE, (POST_FILTER_DEALLOCATED,))
    if state.extended is not None and state.extended.leftover is not None:
        return Status(Code.UNSCHEDULABLE, (DELETED,))
    return Status(Code.UNSCHEDULABLE, () if silent else (STILL,))


def _rows_without_claim(statuses: NodeStatuses, plugin: str) -> Int64Array:
    """Return the nodes that this plugin rejected for an unavailable claim: int64 rows.

    kube-scheduler filters twice if there are nominated pods, first with them, then without. A node counts only in the
    pass in which the scheduler stopped.
    """
    out = []
    for run in (statuses.nominated, statuses.snapshot):
        if run is None or plugin not in run.plugins:
            continue
        here = np.flatnonzero(run.first == run.plugins.index(plugin))
        rejections = run.rejections[plugin]
        said = np.array(
            [rejections.texts(int(rejections.reason[position])) == (NOT_AVAILABLE,) for position in here.tolist()],
            dtype=np.bool_,
        )
        rows = run.rows[here[said]] if len(here) else np.zeros(0, dtype=np.int64)
        if run is statuses.snapshot and statuses.nominated is not None:
            rows = rows[~np.isin(rows, statuses.nominated.rows[~statuses.nominated.passed])]
        out.append(rows)
    return np.concatenate(out) if out else np.zeros(0, dtype=np.int64)


_CHANGED = ActionType.ADD | ActionType.UPDATE
