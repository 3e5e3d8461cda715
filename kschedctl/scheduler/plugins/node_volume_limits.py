"""NodeVolumeLimits: a node accepts as many volumes of a CSI driver as its CSINode allows.

Per driver: distinct volumes of the node's pods and attached volumes + distinct volumes added by the pod <= limit. With
the gate VolumeLimitScaling, a driver with ``preventPodSchedulingIfMissing`` must also be installed on the node.
"""

from collections.abc import Hashable, Iterator
from functools import cached_property
from typing import Final

import msgspec
import numpy as np

from kschedctl.cluster.overlay import Overlay
from kschedctl.common.arrays import Int64Array, Mask, Rows
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.volume import CSIDriver, CSINode
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import OF_NOTHING, Dependencies, Reach
from kschedctl.scheduler.framework.events import ActionType, ClusterEventWithHint, EventResource, is_on_node, registered
from kschedctl.scheduler.framework.explanation import FilterCheck
from kschedctl.scheduler.framework.interface import FilterPlugin, PreFilterPlugin, PreFilterResult
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.runtime import signed_volumes
from kschedctl.scheduler.framework.status import SKIP, Code, Reason, Rejections, Status
from kschedctl.scheduler.volumes.attachments import (
    Attachable,
    Attachments,
    Needs,
    Unattachable,
    attachable_volumes,
    counts_volumes,
)
from kschedctl.scheduler.volumes.claims import ephemeral_claim_owner
from kschedctl.scheduler.volumes.hints import after_claim_change, after_limit_change, after_volume_detached

REASON: Final = "node(s) exceed max volume count"
REASON_NOT_INSTALLED: Final = "{driver} CSI driver is not installed on the node"
_KINDS: Final[frozenset[type[ApiObject]]] = frozenset({*Attachments.kinds, CSIDriver})
_EXCEEDED: Final = Status(Code.UNSCHEDULABLE, (REASON,))


class TooManyVolumes(Operands, frozen=True):
    """The node would have more volumes of a driver than its limit."""

    #: The CSI driver.
    driver: str
    #: The number of volumes that the pod adds.
    added: int
    #: The number of volumes that the node has.
    attached: int
    #: The maximum number of volumes on the node.
    limit: int

    def words(self) -> str:
        return f"{self.driver}: adds {self.added} to {self.attached} attached, the node's limit is {self.limit}"


class DriverNotInstalled(Operands, frozen=True):
    """The driver of one of the pod's volumes is not installed on the node."""

    #: The CSI driver.
    driver: str

    def words(self) -> str:
        return f"the node's CSINode does not list {self.driver}"


class DriverCounts(msgspec.Struct, frozen=True):
    """The volume counts of the drivers that a pod needs, per driver and world."""

    #: The CSI drivers.
    drivers: tuple[str, ...]
    #: The maximum number of volumes on the node; -1 without a limit.
    limit: Int64Array
    #: The number of volumes that the node has.
    attached: Int64Array
    #: The number of volumes that the pod adds.
    added: Int64Array

    @property
    def exceeded(self) -> Mask:
        """The limits that the pod would exceed: bool, shape (n_drivers, n_worlds)."""
        mask: Mask = (self.limit >= 0) & (self.added > 0) & (self.attached + self.added > self.limit)
        return mask


class NodeVolumeLimits(PreFilterPlugin, FilterPlugin):
    """Upstream: plugins/nodevolumelimits."""

    name = "NodeVolumeLimits"
    reads = Dependencies(pods=Reach.NODE, nodes=Reach.NODE, kinds=_KINDS)
    prepares_from = OF_NOTHING

    def own_part(self, pod: Pod) -> Hashable:
        return ephemeral_claim_owner(pod)

    @cached_property
    def _attachments(self) -> Attachments:
        release = self.handle.release
        return Attachments.of(self.handle.cluster, portworx_needs_annotation=release.portworx_needs_annotation)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        pods = self.handle.pods_that_wake(EventResource.ASSIGNED_POD)
        return (
            registered(EventResource.CSI_NODE, ActionType.ADD),
            registered(EventResource.CSI_NODE, ActionType.UPDATE, after_limit_change),
            registered(
                pods,
                ActionType.DELETE,
                lambda pod, old, new: is_on_node(old, or_nominated=True) and counts_volumes(old),
            ),
            registered(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD, after_claim_change),
            registered(EventResource.VOLUME_ATTACHMENT, ActionType.DELETE, after_volume_detached),
        )

    def sign_pod(self, pod: Pod) -> Hashable:
        return signed_volumes(pod)

    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        return PreFilterResult() if counts_volumes(pod) else PreFilterResult(SKIP)

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        attachments = self._attachments
        volumes = attachable_volumes(self.handle.cluster, pod, new=True)
        level = attachments.level[nodes.rows]
        which = np.full(len(nodes), -1, dtype=np.int64)
        statuses = [_EXCEEDED]
        operands: dict[int, Operands] = {}
        counts: DriverCounts | None = None
        for volume in volumes:
            if isinstance(volume, Unattachable):
                which[(which < 0) & (level >= volume.needs)] = len(statuses)
                statuses.append(
                    Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE if volume.missing else Code.ERROR, (volume.problem,))
                )
        new = _distinct(volumes)
        for driver, missing in self._not_installed(new, nodes.rows):
            which[(which < 0) & missing] = len(statuses)
            operands[len(statuses)] = DriverNotInstalled(driver)
            statuses.append(Status(Code.UNSCHEDULABLE, (REASON_NOT_INSTALLED.format(driver=driver),)))

        def details(position: int) -> tuple[Reason, ...]:
            number = int(which[position])
            if number:
                return tuple(Reason(text, operands.get(number)) for text in statuses[number].reasons)
            assert counts is not None
            amounts = counts.added, counts.attached, counts.limit
            return tuple(
                Reason(REASON, TooManyVolumes(counts.drivers[i], *(int(amount[i, position]) for amount in amounts)))
                for i in np.flatnonzero(counts.exceeded[:, position]).tolist()
            )

        # Volumes are counted only on nodes that have a limit and on which a volume of the pod counts, as upstream.
        undecided = (which < 0) & attachments.csi_nodes.any_limit[nodes.rows]
        undecided &= level >= min((volume.needs for volume in new), default=len(Needs))
        if not undecided.any():
            return Rejections.choose(which, tuple(statuses), details)
        problem = attachments.problem_in_worlds(nodes)
        broken = undecided & (problem >= 0)
        for number in np.unique(problem[broken]):
            which[broken & (problem == number)] = len(statuses)
            statuses.append(Status(Code.ERROR, (attachments.problems[number],)))
        counts = count_volumes(attachments, new, nodes)
        which[undecided & ~broken & counts.exceeded.any(axis=0)] = 0
        return Rejections.choose(which, tuple(statuses), details)

    def _not_installed(self, new: tuple[Attachable, ...], rows: Rows) -> Iterator[tuple[str, Mask]]:
        """Yield the mandatory drivers of the pod's volumes, each with a mask of the nodes that lack it.

        If a node lacks several drivers, kube-scheduler names a random one. This answer names the first one in the order
        of the pod's volumes.
        """
        if not self.handle.release.enabled("VolumeLimitScaling") or self.handle.cluster.is_forbidden(CSINode):
            return
        level = self._attachments.level[rows]
        for driver in dict.fromkeys(volume.driver for volume in new):
            found = self.handle.cluster.get(CSIDriver, driver)
            if found is not None and found.spec.prevent_pod_scheduling_if_missing:
                counts = level >= min(volume.needs for volume in new if volume.driver == driver)
                yield driver, counts & ~self._attachments.csi_nodes.installed(driver)[rows]

    def explain_filter(self, state: CycleState, pod: Pod, row: int) -> tuple[FilterCheck, ...]:
        volumes = attachable_volumes(self.handle.cluster, pod, new=True)
        new, rows = _distinct(volumes), np.array([row], dtype=np.int64)
        level, nodes = self._attachments.level[row], self.handle.cluster.overlay(rows)
        checks = [
            FilterCheck("volumes that can be counted", volume.problem, False)
            for volume in volumes
            if isinstance(volume, Unattachable) and level >= volume.needs
        ]
        checks += [
            FilterCheck(f"driver {driver}", "the node's CSINode does not list it", False)
            for driver, missing in self._not_installed(new, rows)
            if missing[0]
        ]
        if not new or checks:
            return tuple(checks)
        problem = int(self._attachments.problem_in_worlds(nodes)[0])
        counts = count_volumes(self._attachments, new, nodes)
        for i, driver in enumerate(counts.drivers):
            added, attached, limit = (int(c[i, 0]) for c in (counts.added, counts.attached, counts.limit))
            allowed = "there is no limit" if limit < 0 else f"the node's limit is {limit}"
            found = f"{attached} attached, {allowed}"
            checks.append(FilterCheck(f"{added} more of {driver}", found, not counts.exceeded[i, 0]))
            # Without a limit the scheduler does not count the node's volumes, so it does not see the problem.
            if problem >= 0 and limit >= 0:
                checks.append(
                    FilterCheck("volumes there that can be counted", self._attachments.problems[problem], False)
                )
        return tuple(checks)


def _distinct(volumes: list[Attachable | Unattachable]) -> tuple[Attachable, ...]:
    """Return each volume once, with the lower ``needs`` if the pod uses it in two ways."""
    found: dict[tuple[str, str], Attachable] = {}
    for volume in volumes:
        if isinstance(volume, Attachable) and volume.needs < found.setdefault(volume.identity, volume).needs:
            found[volume.identity] = volume
    return tuple(found.values())


def count_volumes(attachments: Attachments, new: tuple[Attachable, ...], nodes: Overlay) -> DriverCounts:
    """Count the volumes of the drivers that a pod needs.

    Args:
        attachments: The volumes in use on the nodes.
        new: The pod's volumes, each once.
        nodes: The worlds: one hypothetical state per node.
    """
    drivers = tuple(dict.fromkeys(volume.driver for volume in new))
    group_of = {driver: i for i, driver in enumerate(drivers)}
    numbers, group = attachments.of_drivers(drivers)
    used = attachments.by_pods(nodes, numbers)
    attached = used | attachments.by_objects(nodes, numbers)
    level = attachments.level[nodes.rows]
    added = np.zeros((len(drivers), len(nodes)), dtype=np.int64)
    for volume in new:
        counts = level >= volume.needs
        number = attachments.number.get(volume.identity)
        if number is not None:
            counts &= ~used.holds(number)
        added[group_of[volume.driver]] += counts
    limit = np.array([attachments.csi_nodes.limit(driver)[nodes.rows] for driver in drivers], dtype=np.int64)
    return DriverCounts(drivers, limit.reshape(len(drivers), len(nodes)), attached.count(group, len(drivers)), added)
