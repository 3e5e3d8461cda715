"""Devices that nodes offer under another name: shared by time slicing, or divided into parts (MIG)."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from kschedctl.common.wording import listed
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis, Situation
from kschedctl.diagnosis.rules.obstacles import obstacles_on
from kschedctl.diagnosis.rules.volumes import selection_text
from kschedctl.objects.core import Node
from kschedctl.objects.pod import ResourceRequirements
from kschedctl.scheduler.framework.remedy import Operation, Remedy, add_operation
from kschedctl.scheduler.framework.risk import Risk

_GPU: Final = "nvidia.com/gpu"
_SHARED: Final = ".shared"
_MIG: Final = "nvidia.com/mig-"
#: The resources that are parts of one device, or names of it with different drivers, by the device.
_PARTS: Final = {
    "aws.amazon.com/neuron": {"aws.amazon.com/neurondevice", "aws.amazon.com/neuroncore"},
    "gpu.intel.com/i915": {"gpu.intel.com/xe"},
}
#: The labels by which GPU feature discovery tells how a node's devices are divided.
_LABELS: Final = ("gpu.product", "gpu.count", "gpu.replicas", "gpu.sharing-strategy", "mig.strategy", "mig.config")
#: At most 2 other resources are requested instead; at most 3 nodes are named.
_MOST: Final = 2
_NAMED: Final = 3


def divided_devices(situation: Situation, resource: str, others: list[str]) -> Diagnosis:
    """Return the diagnosis of a resource that no node offers, where nodes offer other parts of devices of the vendor."""
    offers = [_offer(situation, other) for other in others]
    node = next(node for node in situation.cluster.nodes.objects if others[0] in node.status.allocatable)
    labels = _labels(node)
    told = listed([f"{key}={value}" for key, value in labels.items()], most=len(_LABELS))
    parts = [other for other in others if _device(other) == _device(resource)]
    requests = [
        renamed(situation, resource, other, _risk(resource, other, node))
        for other in sorted(parts, key=lambda other: _risk(resource, other, node))[:_MOST]
    ]
    return Diagnosis(
        rule="device-not-offered",
        cause=f"no node offers {resource}; {listed(offers)}",
        evidence=(f"labels of {node.name}: {told}",) if told else (),
        remedies=tuple(requests),
        advice=(
            # The same part of a device under its right name needs no other configuration.
            *(() if any(one.risk is Risk.MISTAKE for one in requests) else (_configuration(resource, others, node),)),
            *(
                Advice(
                    summary=remedy.summary,
                    risk=remedy.risk,
                    untried="alone it does not give the pod a node; the program must make do with that part of a device",
                )
                for remedy in requests
            ),
        ),
    )


def _offer(situation: Situation, resource: str) -> str:
    """Return the nodes that offer a resource, with the most that one of them has free, as a clause."""
    offered = situation.offered(resource)
    names = situation.names(offered > 0)
    best = int(np.argmax(np.where(offered > 0, offered - situation.used(resource), -1)))
    free, on = int(offered[best] - situation.used(resource)[best]), situation.cluster.nodes.names[best]
    return (
        f"{listed(names, most=_NAMED)} offer{'s' if len(names) == 1 else ''} {resource} instead "
        f"({free} of {int(offered[best])} free{f' on {on}' if len(names) > 1 else ''})"
    )


def devices_elsewhere(situation: Situation, resource: str) -> Iterator[Diagnosis]:
    """Yield the diagnosis of a resource that only nodes outside the pod's own selection offer, with their labels."""
    wanted, spec = situation.requests[resource], situation.pod.spec
    nodes = ~situation.selected & (situation.offered(resource) >= wanted)
    if not nodes.any():
        return
    here, names = obstacles_on(situation, situation.in_reach), listed(situation.names(nodes), most=_NAMED)
    offer = "offers" if nodes.sum() == 1 else "offer"
    labels = {
        key: sorted({str(node.metadata.labels.get(key, "")) for node in situation.nodes(nodes)} - {""})
        for key in spec.node_selector
    }
    differing = {key: values for key, values in labels.items() if values != [spec.node_selector[key]]}
    with_labels = listed([f"{key}={listed(values, 'or')}" for key, values in differing.items() if values])
    excluded = f"{names}, which {selection_text(situation)} excludes, {offer} it"
    remedies = []
    if len(differing) == 1 and all(differing.values()):
        key, values = next(iter(differing.items()))
        remedies = [
            situation.context().pod_patch(
                f"{key}={value} instead of {spec.node_selector[key]} in nodeSelector: nodes with {resource} have it",
                add_operation(value, "spec", "nodeSelector", key),
                risk=Risk.POD,
                family=("selector", key),
                within=float(within),
            )
            for within, value in enumerate(values[:_MOST])
        ]
    yield Diagnosis(
        rule="device-outside-selection",
        cause=f"{here}; {excluded}{f' (label {with_labels})' if with_labels else ''}",
        remedies=tuple(remedies),
    )


def _labels(node: Node) -> dict[str, str]:
    labels = node.metadata.labels
    return {key: labels[key] for key in (f"nvidia.com/{name}" for name in _LABELS) if key in labels}


#: The state of the MIG manager of the GPU operator, with the configuration that it was to make.
_MIG_STATE: Final = "nvidia.com/mig.config.state"
_MIG_CONFIG: Final = "nvidia.com/mig.config"


def undivided(node: Node) -> str:
    """Return the clause that the MIG manager has not divided a node's GPUs; empty if it has, or is not known to be."""
    state = node.metadata.labels.get(_MIG_STATE, "success")
    config = node.metadata.labels.get(_MIG_CONFIG, "")
    return f"; its GPUs are not divided as {_MIG_CONFIG}={config} ({_MIG_STATE}={state})" if state != "success" else ""


def undivided_advice(node: Node) -> Iterator[Advice]:
    """Yield the advice to look at the MIG manager if it has not divided a node's GPUs."""
    if undivided(node):
        yield Advice(
            summary=f"look at the log of the MIG manager (nvidia-mig-manager) on {node.name}, and correct {_MIG_CONFIG} "
            "if its GPUs have no such profile or are in use",
            risk=Risk.MISTAKE,
            untried="the snapshot does not show how the devices can be divided",
            command=f"kubectl get pods -A --field-selector spec.nodeName={node.name} | grep mig-manager",
        )


def _device(resource: str) -> str:
    """Return the name of the device of which a resource is a part or a share; other devices of a vendor differ.

    >>> _device("nvidia.com/gpu.shared"), _device("nvidia.com/mig-1g.5gb"), _device("aws.amazon.com/neuroncore")
    ('nvidia.com/gpu', 'nvidia.com/gpu', 'aws.amazon.com/neuron')
    """
    whole = resource.removesuffix(_SHARED)
    if whole.startswith(_MIG):
        return _GPU
    return next((device for device, names in _PARTS.items() if whole in names), whole)


def _risk(resource: str, other: str, node: Node) -> Risk:
    """Return the risk of a request of another resource: none if it is the same part of a device under another name."""
    labels = node.metadata.labels
    product, replicas = labels.get("nvidia.com/gpu.product", ""), labels.get("nvidia.com/gpu.replicas", "1")
    if resource.startswith(_MIG) and product.endswith(f"MIG-{resource.removeprefix(_MIG)}"):
        return Risk.MISTAKE
    if resource == f"{other}{_SHARED}":
        return Risk.MISTAKE if replicas not in ("0", "1") else Risk.POD
    return Risk.POD if other == f"{resource}{_SHARED}" else Risk.REDUCED


def _configuration(resource: str, others: list[str], node: Node) -> Advice:
    """Return the change of the device plugin's configuration after which a node offers a resource."""
    summary, command = f"configure the device plugin so that a node offers {resource}", ""
    profile = ""
    if resource.startswith(_MIG):
        profile = f"all-{resource.removeprefix(_MIG)}"
    elif resource == _GPU and any(other.startswith(_MIG) for other in others):
        profile = "all-disabled"
    if f"{resource}{_SHARED}" in others:
        summary = (
            f"set renameByDefault: false in the configuration of the device plugin: shared devices are {resource} then"
        )
    elif profile:
        do = "no longer divide" if profile == "all-disabled" else "divide"
        summary = (
            f"{do} the GPUs of {node.name}, so that it offers {resource}: label nvidia.com/mig.config={profile}, once no "
            "pod uses them"
        )
        command = f"kubectl label node {node.name} nvidia.com/mig.config={profile} --overwrite"
    return Advice(
        summary=summary,
        risk=Risk.MISTAKE,
        untried="the snapshot does not show how the devices can be divided",
        command=command,
    )


def renamed(situation: Situation, resource: str, other: str, risk: Risk) -> Remedy:
    """Return the request of another resource in place of one."""
    spec = situation.pod.spec
    patch: list[Operation] = []
    for field, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for i, container in enumerate(containers):
            own = container.resources
            if resource in own.requests or resource in own.limits:
                requests, limits = (
                    {other if name == resource else name: amount for name, amount in amounts.items()}
                    for amounts in (own.requests, own.limits)
                )
                changed = ResourceRequirements(requests=requests, limits=limits, claims=own.claims)
                patch.append(add_operation(changed, "spec", field, i, "resources"))
    summary = f"request {other} instead of {resource}"
    return situation.context().pod_patch(summary, *patch, risk=risk, family=("resource", resource, other))
