"""VolumeBinding: each claim of a pod is bound, or can be bound, to a volume that the node can reach.

An unbound claim that the scheduler does not bind rejects the pod before Filter. With the gate StorageCapacityScoring,
nodes are scored by the free capacity of the storage that the claims would get (``scoring``).
"""

from collections.abc import Callable, Hashable, Iterator
from functools import cached_property
from typing import Final

import msgspec
import numpy as np

from kschedctl.cluster.overlay import Overlay
from kschedctl.common.arrays import Int64Array
from kschedctl.common.wording import show_labels
from kschedctl.objects.core import Node
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.selectors import Selector, SelectorError
from kschedctl.objects.volume import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from kschedctl.scheduler.framework.config.types import VolumeBindingArgs, shape_points
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import Dependencies, Reach
from kschedctl.scheduler.framework.events import ActionType, ClusterEventWithHint, EventResource, registered
from kschedctl.scheduler.framework.explanation import Arithmetic, FilterCheck
from kschedctl.scheduler.framework.interface import (
    FilterPlugin,
    Handle,
    PluginError,
    PreBindPlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ReservePlugin,
    ScorePlugin,
    required_state,
)
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.remedy import Remedy, RemedyContext
from kschedctl.scheduler.framework.runtime import signed_volumes
from kschedctl.scheduler.framework.status import SKIP, SUCCESS, Code, Reason, Rejections, Status
from kschedctl.scheduler.plugins.node_resources.scoring import requested_to_capacity_ratio
from kschedctl.scheduler.plugins.volume_binding.scoring import explain_scores, scoring_caveats, storage_capacity_scores
from kschedctl.scheduler.volumes.binder import Binder, FoundVolumes, bind_pod_volumes
from kschedctl.scheduler.volumes.claims import (
    claim_uses,
    claims_problem,
    ephemeral_claim_owner,
    group_claims,
    pod_claims,
    required_affinity,
)
from kschedctl.scheduler.volumes.hints import (
    after_capacity_change,
    after_claim_change,
    after_class_change,
    after_csi_node_change,
    after_driver_change,
)
from kschedctl.scheduler.volumes.reasons import (
    claim_remedies,
    explain_bound,
    explain_space,
    explain_unbound,
    failing_provision,
)
from kschedctl.scheduler.volumes.zones import label_terms


def explain_claims(binder: Binder, found: FoundVolumes, node: Node, row: int) -> Iterator[FilterCheck]:
    """Yield the checks of a pod's claims on a node."""
    for bound in found.bound:
        wanted = f"claim {bound.claim.name}"
        if not bound.reachable[row]:
            yield FilterCheck(wanted, explain_bound(binder, bound, node, row).words(), False)
        elif bound.volume is not None:
            yield FilterCheck(
                f"{wanted} on {bound.volume.name}: {_topology(bound.volume)}", _has(bound.volume, node), True
            )
    for match in found.matches:
        if match.choice[row] >= 0:
            volume = match.candidates[match.choice[row]]
            told = f"takes {volume.name}, the first of {len(match.candidates)} that match it"
            yield FilterCheck(f"claim {match.claim.name}", told, True)
    if found.error[row] >= 0:
        yield FilterCheck("claims", found.errors[int(found.error[row])], False)
    elif found.bind_conflict[row]:
        yield FilterCheck("unbound claims", explain_unbound(found, node, row).words(), False)
    elif found.not_enough_space[row]:
        said = explain_space(binder.cluster, binder, failing_provision(found, row), row)
        yield FilterCheck("unbound claims", said.words(), False)
    else:
        for check in found.provisions:
            if check.needed[row]:
                told = f"class {check.provisioning.storage_class.name} provisions a volume there"
                yield FilterCheck(f"claim {check.claim.name}", told, True)


def _topology_terms(volume: PersistentVolume) -> tuple[Selector, ...]:
    affinity = required_affinity(volume)
    return () if affinity is None else tuple(label_terms(affinity))


def _topology(volume: PersistentVolume) -> str:
    """Return the node labels required by a volume, as text."""
    terms = [", ".join(map(str, term)) for term in _topology_terms(volume)]
    return " or ".join(dict.fromkeys(terms)) or "any node"


def _has(volume: PersistentVolume, node: Node) -> str:
    """Return the node's values of the labels required by a volume, as text."""
    keys = {requirement.key: None for term in _topology_terms(volume) for requirement in term}
    has = {key: node.metadata.labels.get(key) for key in keys}
    return f"node has {show_labels(has)}" if has else "the volume is reachable"


REASON_IMMEDIATE: Final = "pod has unbound immediate PersistentVolumeClaims"
REASON_NODE_CONFLICT: Final = "node(s) didn't match PersistentVolume's node affinity"
REASON_BIND_CONFLICT: Final = "node(s) didn't find available persistent volumes to bind"
REASON_NOT_ENOUGH_SPACE: Final = "node(s) did not have enough free storage"
REASON_MISSING_VOLUME: Final = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
#: The reasons in the order in which they are reported; bit i of a reason number stands for the i-th reason.
_REASONS: Final = (REASON_NODE_CONFLICT, REASON_BIND_CONFLICT, REASON_NOT_ENOUGH_SPACE, REASON_MISSING_VOLUME)
_KINDS: Final[frozenset[type[ApiObject]]] = frozenset(
    {PersistentVolumeClaim, PersistentVolume, StorageClass, CSINode, CSIDriver, CSIStorageCapacity}
)
_ERRORS_FROM: Final = 1 << len(_REASONS)
_NO_STATE: Final = 'reading "VolumeBinding" from cycleState: not found'


class _State(msgspec.Struct, frozen=True):
    """The volumes that PreFilter found; ``None`` for a pod without claims."""

    volumes: FoundVolumes | None


class _Filtered(msgspec.Struct, frozen=True):
    """A mark in the cycle state: Filter ran, so Score may use the volumes."""


class VolumeBinding(PreFilterPlugin, FilterPlugin, ReservePlugin, PreBindPlugin, PreScorePlugin, ScorePlugin):
    """Upstream: plugins/volumebinding."""

    name = "VolumeBinding"
    reads = Dependencies(nodes=Reach.NODE, kinds=_KINDS)
    prepares_from = reads

    def __init__(self, args: msgspec.Struct | None, handle: Handle) -> None:
        super().__init__(args, handle)
        assert isinstance(args, VolumeBindingArgs)
        self._scores = handle.release.enabled("StorageCapacityScoring")
        self._shape = shape_points(args.shape or ())
        self._kernel = requested_to_capacity_ratio(self._shape)

    def own_part(self, pod: Pod) -> Hashable:
        return ephemeral_claim_owner(pod)

    def reach_of_pods(self, pod: Pod) -> Reach:
        return Reach.NOTHING if next(claim_uses(pod), None) is None else Reach.CLUSTER

    @cached_property
    def binder(self) -> Binder:
        """The binder over the plugin's cluster."""
        release = self.handle.release
        return Binder(
            self.handle.cluster, release.enabled("VolumeAttributesClass"), exact_sizes=release.volume_sizes_are_exact
        )

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        changed = ActionType.ADD | ActionType.UPDATE
        return (
            registered(EventResource.STORAGE_CLASS, changed, after_class_change),
            registered(EventResource.PERSISTENT_VOLUME_CLAIM, changed, after_claim_change),
            registered(EventResource.PERSISTENT_VOLUME, changed),
            registered(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
            registered(EventResource.CSI_NODE, changed, after_csi_node_change),
            registered(EventResource.CSI_DRIVER, ActionType.UPDATE, after_driver_change),
            registered(EventResource.CSI_STORAGE_CAPACITY, changed, after_capacity_change),
        )

    def sign_pod(self, pod: Pod) -> Hashable:
        return signed_volumes(pod)

    def remedies(self, context: RemedyContext, status: Status) -> Iterator[Remedy]:
        """Propose to use another claim instead of one that does not exist."""
        return claim_remedies(context)

    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        cluster = self.handle.cluster
        problem = claims_problem(cluster, pod)
        if problem:
            return PreFilterResult(Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (problem,)))
        if next(claim_uses(pod), None) is None:
            state.write(_State(None))
            return PreFilterResult(SKIP)
        claims = group_claims(cluster, pod_claims(cluster, pod))
        if claims.immediate:
            return PreFilterResult(Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (REASON_IMMEDIATE,)))
        try:
            state.write(_State(self.binder.find_pod_volumes(claims)))
        except SelectorError as error:
            raise PluginError(str(error)) from None
        return PreFilterResult()

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        found = required_state(state, _State, _NO_STATE)
        volumes = found.volumes
        if volumes is None:
            return Rejections.everywhere(len(nodes), SUCCESS)
        state.write(_Filtered())
        number = _reason_numbers(volumes)[nodes.rows]
        code = np.where(number >= _ERRORS_FROM, Code.ERROR, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
        code[number == 0] = Code.SUCCESS

        def texts(number: int) -> tuple[str, ...]:
            if number >= _ERRORS_FROM:
                return (volumes.errors[number - _ERRORS_FROM],)
            return tuple(text for i, text in enumerate(_REASONS) if number >> i & 1)

        def details(position: int) -> tuple[Reason, ...]:
            said = texts(int(number[position]))
            row = int(nodes.rows[position])
            return tuple(Reason(text, self._explain(text, volumes, row)) for text in said)

        return Rejections(code.astype(np.int8), number, texts, details)

    def _explain(self, text: str, volumes: FoundVolumes, row: int) -> Operands | None:
        """Return the operands of one of the scheduler's reasons, or ``None`` for an error."""
        node = self.handle.cluster.nodes.objects[row]

        def bound() -> Operands:
            failing = next(check for check in volumes.bound if not check.reachable[row])
            return explain_bound(self.binder, failing, node, row)

        explain: dict[str, Callable[[], Operands]] = {
            REASON_NODE_CONFLICT: bound,
            REASON_MISSING_VOLUME: bound,
            REASON_BIND_CONFLICT: lambda: explain_unbound(volumes, node, row),
            REASON_NOT_ENOUGH_SPACE: lambda: explain_space(
                self.handle.cluster, self.binder, failing_provision(volumes, row), row
            ),
        }
        return explain[text]() if text in explain else None

    def pre_score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Status:
        if not self._scores:
            return SKIP
        return SUCCESS if state.read(_State) is not None else Status(Code.ERROR, (_NO_STATE,))

    def score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Int64Array:
        nothing = np.zeros(len(rows), dtype=np.int64)
        if not self._scores:
            return nothing
        found = required_state(state, _State, _NO_STATE)
        if found.volumes is None or state.read(_Filtered) is None:
            return nothing
        state.not_modelled.extend(scoring_caveats(found.volumes, rows))
        return storage_capacity_scores(found.volumes, self._kernel)[rows]

    def explain_filter(self, state: CycleState, pod: Pod, row: int) -> tuple[FilterCheck, ...]:
        found = state.read(_State)
        if found is None or found.volumes is None:
            return ()
        node = self.handle.cluster.nodes.objects[row]
        return tuple(explain_claims(self.binder, found.volumes, node, row))

    def explain_score(self, state: CycleState, pod: Pod, row: int) -> Arithmetic:
        found = state.read(_State)
        counts = self._scores and found is not None and state.read(_Filtered) is not None
        volumes = found.volumes if found is not None and counts else None
        return explain_scores(volumes, self._shape, self._kernel, row)

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return SUCCESS

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        found = state.read(_State)
        if found is not None and found.volumes is not None:
            row = self.handle.cluster.nodes.row[node_name]
            state.effects.extend(bind_pod_volumes(self.handle.cluster, found.volumes, row))
        return SUCCESS


def _reason_numbers(volumes: FoundVolumes) -> Int64Array:
    """Return the reasons per node as bits, or 16 plus the index of an error: int64, shape (n_nodes,)."""
    masks = (volumes.node_conflict, volumes.bind_conflict, volumes.not_enough_space, volumes.missing_volume)
    bits = np.zeros(len(volumes.error), dtype=np.int64)
    for i, mask in enumerate(masks):
        bits |= mask.astype(np.int64) << i
    return np.where(volumes.error >= 0, _ERRORS_FROM + volumes.error, bits)
