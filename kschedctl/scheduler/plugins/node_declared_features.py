"""The plugin NodeDeclaredFeatures: nodes whose kubelet declares the features that a pod needs (KEP-5328)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

import msgspec
import numpy as np

from kschedctl.cluster.overlay import Overlay
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import Release
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import OF_NODE, OF_NOTHING
from kschedctl.scheduler.framework.events import ActionType, ClusterEventWithHint, EventResource, registered, same_pod
from kschedctl.scheduler.framework.interface import FilterPlugin, PreFilterPlugin, PreFilterResult, required_state
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.status import SKIP, Code, Reason, Rejections

_GATE: Final = "NodeDeclaredFeatures"
_MLDSA_KEYS: Final = ("MLDSA44", "MLDSA65", "MLDSA87")
REASON: Final = "node(s) didn't match Pod's required features"


def needed_features(pod: Pod, release: Release) -> frozenset[str]:
    """Return the kubelet features that the pod needs, of those that the release knows."""
    needed = set()
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    if any(rule.action == "RestartAllContainers" for c in containers for rule in c.restart_policy_rules):
        needed.add("RestartAllContainersOnContainerExits")
    if pod.spec.host_network and pod.spec.host_users is False:
        needed.add("UserNamespacesHostNetworkSupport")
    if any(mount.bind_mount_options for container in containers for mount in container.volume_mounts):
        needed.add("VolumeBindMountOptions")
    if any(key in _MLDSA_KEYS for volume in pod.spec.volumes for key in volume.certificate_keys):
        needed.add("PodCertificateMLDSA")
    contexts = [pod.spec.security_context, *(each.security_context for each in containers)]
    contexts += [each.security_context for each in pod.spec.ephemeral_containers]
    profiles = (context.seccomp_profile for context in contexts)
    if any(profile is not None and profile.type == "OCI" for profile in profiles):
        needed.add("SecurityProfileOCI")
    return release.declared_features & needed


class UndeclaredFeatures(Operands, frozen=True):
    """The node does not declare features that the pod needs."""

    #: The features, in alphabetical order.
    missing: tuple[str, ...]

    def words(self) -> str:
        return f"node does not declare {', '.join(self.missing)}"


class _State(msgspec.Struct, frozen=True):
    needed: frozenset[str]


class NodeDeclaredFeatures(PreFilterPlugin, FilterPlugin):
    """NodeDeclaredFeatures: the node must declare the kubelet features that the pod needs (KEP-5328).

    Upstream: plugins/nodedeclaredfeatures.
    """

    name = "NodeDeclaredFeatures"
    reads = OF_NODE
    prepares_from = OF_NOTHING

    @classmethod
    def exists_in(cls, release: Release) -> bool:
        return _GATE in release.features

    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        needed = needed_features(pod, self.handle.release)
        if not needed or not self.handle.release.enabled(_GATE):
            return PreFilterResult(SKIP)
        state.write(_State(needed))
        return PreFilterResult()

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        release = self.handle.release
        if not release.enabled(_GATE):
            return ()
        pods = self.handle.pods_that_wake(EventResource.TARGET_POD)

        def after_update(pod: Pod, old: Pod, new: Pod) -> bool:
            return same_pod(pod, new) and needed_features(old, release) != needed_features(new, release)

        action = ActionType.ADD | ActionType.UPDATE_NODE_DECLARED_FEATURE
        return (
            registered(EventResource.NODE, action, self._after_node_change),
            registered(pods, ActionType.UPDATE, after_update),
        )

    def _after_node_change(self, pod: Pod, old: Node | None, new: Node) -> bool:
        needed = needed_features(pod, self.handle.release)
        had = old is not None and needed.issubset(old.status.declared_features)
        return not had and needed.issubset(new.status.declared_features)

    def sign_pod(self, pod: Pod) -> Hashable:
        return needed_features(pod, self.handle.release)

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        found = required_state(
            state, _State, 'error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found'
        )
        objects = self.handle.cluster.nodes.objects
        lacking = np.array(
            [not found.needed.issubset(objects[row].status.declared_features) for row in nodes.rows], dtype=np.bool_
        )

        def details(position: int) -> tuple[Reason, ...]:
            declared = objects[nodes.rows[position]].status.declared_features
            return (Reason(REASON, UndeclaredFeatures(tuple(sorted(found.needed.difference(declared))))),)

        return Rejections.where(lacking, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, REASON, details)
