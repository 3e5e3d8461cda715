"""Features that a pod needs and that the kubelets of nodes do not declare."""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from kschedctl.common.wording import counted, listed
from kschedctl.diagnosis.diagnosis import Diagnosis, Situation, all_rows
from kschedctl.diagnosis.rules.obstacles import obstacles_on, together
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Container
from kschedctl.objects.releases.feature_gates import known_gates
from kschedctl.objects.releases.release import RELEASES
from kschedctl.scheduler.framework.remedy import (
    Operation,
    Remedy,
    add_operation,
    patched,
    remove_operation,
    replace_operation,
)
from kschedctl.scheduler.framework.risk import RemedyScope, Risk
from kschedctl.scheduler.plugins.node_declared_features import needed_features

_PLUGIN: Final = "NodeDeclaredFeatures"
_RESTART: Final = "RestartAllContainers"
#: At most this many nodes are named, and their upgrades tried.
_NAMED: Final = 3


def kubelet_features(situation: Situation) -> Iterator[Diagnosis]:
    """Nodes whose kubelets are too old for a field of the pod, or have its feature switched off.

    Since Kubernetes 1.35, kubelets declare features (``status.declaredFeatures`` of the Node), and kube-scheduler leaves
    out nodes that do not declare what the pod needs: restart rules with the action RestartAllContainers, user namespaces in
    the network of the host, options of bind mounts. Operators upgrade the kubelets of the nodes, or do without the field.
    """
    # Yield the features that alone keep the pod from nodes, with the fields that ask for them.
    if not situation.filtered:
        return
    others = [plugin for plugin in situation.rejected if plugin != _PLUGIN]
    nodes = situation.in_reach & situation.rejected_by(_PLUGIN) & ~situation.rejected_by(*others)
    if not nodes.any():
        return
    objects, rows = situation.cluster.nodes.objects, all_rows(nodes)
    missing = sorted(needed_features(situation.pod, situation.release) - set(objects[rows[0]].status.declared_features))
    versions = sorted({objects[row].status.node_info.kubelet_version for row in rows} - {""})
    names = listed(situation.names(nodes), most=_NAMED) if len(rows) <= _NAMED else counted(len(rows), "node")
    kubelets = f" (kubelet {listed(versions, most=_NAMED)})" if versions else ""
    asks = listed([f"{name}, which {_field(situation, name)} needs" for name in missing])
    cause = f"{names}{kubelets} {'does' if len(rows) == 1 else 'do'} not declare the feature {asks}"
    rest = situation.in_reach & ~nodes
    have = [_support(situation, name) for name in missing]
    yield Diagnosis(
        rule="undeclared-features",
        cause=together(situation, cause, obstacles_on(situation, rest)),
        evidence=tuple(have),
        remedies=(
            *(_upgraded(situation, objects[row], missing, within) for within, row in enumerate(rows[:_NAMED])),
            situation.context().pod_patch(
                f"do without {listed([_field(situation, name) for name in missing])}",
                *(operation for name in missing for operation in _without(situation, name)),
                risk=Risk.REDUCED,
                family="declared features",
            ),
        ),
        checks=("kubectl get nodes -o custom-columns='NAME:.metadata.name,FEATURES:.status.declaredFeatures'",),
    )


def _containers(situation: Situation) -> Iterator[tuple[str, int, Container]]:
    spec = situation.pod.spec
    for field, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        yield from ((field, i, each) for i, each in enumerate(containers))


def _field(situation: Situation, feature: str) -> str:
    """Return the field of the pod that asks for a feature."""
    if feature == "UserNamespacesHostNetworkSupport":
        return "hostUsers: false with hostNetwork: true"
    for _, _, each in _containers(situation):
        if feature == "VolumeBindMountOptions":
            if any(mount.bind_mount_options for mount in each.volume_mounts):
                return f"bindMountOptions in container {each.name}"
        elif any(rule.action == _RESTART for rule in each.restart_policy_rules):
            return f"action {_RESTART} of restartPolicyRules in container {each.name}"
    return feature


def _without(situation: Situation, feature: str) -> Iterator[Operation]:
    """Yield the operations that take the fields away which ask for a feature."""
    if feature == "UserNamespacesHostNetworkSupport":
        yield remove_operation("spec", "hostUsers")
        return
    for field, i, each in _containers(situation):
        if feature == "VolumeBindMountOptions":
            for j, mount in enumerate(each.volume_mounts):
                if mount.bind_mount_options:
                    yield replace_operation(replace(mount, bind_mount_options=()), "spec", field, i, "volumeMounts", j)
        elif any(rule.action == _RESTART for rule in each.restart_policy_rules):
            left = [rule for rule in each.restart_policy_rules if rule.action != _RESTART]
            yield add_operation(left, "spec", field, i, "restartPolicyRules")


def _declaring(situation: Situation, feature: str) -> Node | None:
    """Return a node that declares a feature; ``None`` if there is none."""
    return next((node for node in situation.cluster.nodes.objects if feature in node.status.declared_features), None)


def _first_release(feature: str, *, default: bool) -> str:
    """Return the first release that has the gate of a feature, or has it on by default; empty for none."""
    for version in RELEASES:
        gate = known_gates(version).get(feature)
        if gate is not None and (gate.default or not default):
            return version
    return ""


def _support(situation: Situation, feature: str) -> str:
    """Return the kubelets that have a feature as a clause."""
    node = _declaring(situation, feature)
    if node is not None:
        return f"{node.name} declares {feature}: its kubelet is {node.status.node_info.kubelet_version or 'newer'}"
    if version := _first_release(feature, default=True):
        return f"kubelets declare {feature} since {version}"
    version = _first_release(feature, default=False)
    return f"kubelets know {feature} since {version}, behind a feature gate that is off by default"


def _upgraded(situation: Situation, node: Node, features: list[str], within: int) -> Remedy:
    """Return the upgrade of a node's kubelet, or of its feature gates: it declares the features then."""
    summary = listed(list(dict.fromkeys(_upgrade(situation, node, feature) for feature in features)))
    declared = sorted({*node.status.declared_features, *features})
    return Remedy(
        summary=summary,
        scope=RemedyScope.NODE,
        changes=(patched(node, add_operation(declared, "status", "declaredFeatures")),),
        risk=Risk.SHARED,
        family="kubelet",
        within=within - 1.0,
        once=True,
        command=f"# {summary}: drain the node first",
    )


def _upgrade(situation: Situation, node: Node, feature: str) -> str:
    """Return what lets a node's kubelet declare a feature, in the imperative."""
    other, own = _declaring(situation, feature), node.status.node_info.kubelet_version
    newer = other.status.node_info.kubelet_version if other is not None else ""
    if other is not None and newer not in ("", own):
        return f"upgrade the kubelet of {node.name} to {newer}, as on {other.name}"
    release = ".".join(own.removeprefix("v").split(".")[:2])
    if newer or (release in RELEASES and feature in known_gates(release)):
        return f"enable the feature gate {feature} in the kubelet of {node.name}"
    if version := _first_release(feature, default=True):
        return f"upgrade the kubelet of {node.name} to {version} or newer"
    version = _first_release(feature, default=False)
    return f"upgrade the kubelet of {node.name} to {version} or newer, with the feature gate {feature}"
