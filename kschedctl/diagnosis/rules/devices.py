"""Devices: extended resources that no node offers, devices in use, and ResourceClaims that nobody can serve."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.common.wording import counted, listed, meant
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.diagnosis.components import RUNS, Agent, absence, agent_on, state_of_pod
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis, Situation, all_rows
from kschedctl.diagnosis.rules.divided_devices import (
    devices_elsewhere,
    divided_devices,
    renamed,
    undivided,
    undivided_advice,
)
from kschedctl.diagnosis.rules.held_devices import drivers_of_class, finished_holders
from kschedctl.diagnosis.rules.obstacles import obstacles_on, together
from kschedctl.diagnosis.rules.requests import offered_resources, offers_of_vendor, requested_devices
from kschedctl.diagnosis.rules.taints import only_unhealthy
from kschedctl.objects.core import Node
from kschedctl.objects.device import DeviceClass, ResourceClaim, ResourceSlice
from kschedctl.objects.pod import PodSpec
from kschedctl.objects.resources import CPU, MEMORY, exact_quantity, format_amount, known_amounts
from kschedctl.objects.workload import DaemonSet, Deployment
from kschedctl.scheduler.cycle.pod_group_decision import group_of
from kschedctl.scheduler.devices.explain import NotAllocated, RequestSupply
from kschedctl.scheduler.framework.remedy import Remedy, add_operation, patched, replace_operation
from kschedctl.scheduler.framework.risk import RemedyScope, Risk
from kschedctl.scheduler.plugins.dynamic_resources.state import State
from kschedctl.scheduler.plugins.taint_toleration import taint_remedies, untolerated_taint

#: The vendor's name, by the domain of its resources.
VENDORS: Final = {
    "nvidia.com": "NVIDIA",
    "amd.com": "AMD",
    "gpu.intel.com": "Intel",
    "habana.ai": "Habana",
    "aws.amazon.com": "AWS Neuron",
    "google.com": "TPU",
}
#: Labels of clouds, and of node feature discovery by PCI vendor, that name the vendor of a node's devices.
_LABELS: Final = {
    "nvidia.com": r"feature\.node\.kubernetes\.io/pci-(\w+_)?10de(_\w+)?\.present=true"
    r"|cloud\.google\.com/gke-accelerator=nvidia.*"
    r"|k8s\.amazonaws\.com/accelerator=(?!.*(radeon|amd|neuron|inferentia|trainium|habana)).*"
    r"|(kubernetes\.azure\.com/)?accelerator=nvidia.*"
    r"|karpenter\.k8s\.aws/instance-gpu-manufacturer=nvidia",
    "amd.com": r"feature\.node\.kubernetes\.io/pci-(\w+_)?1002(_\w+)?\.present=true"
    r"|k8s\.amazonaws\.com/accelerator=.*(radeon|amd).*|(kubernetes\.azure\.com/)?accelerator=amd.*"
    r"|karpenter\.k8s\.aws/instance-gpu-manufacturer=amd",
    "gpu.intel.com": r"intel\.feature\.node\.kubernetes\.io/gpu=true",
    "habana.ai": r"feature\.node\.kubernetes\.io/pci-(\w+_)?1da3(_\w+)?\.present=true",
    "aws.amazon.com": r"karpenter\.k8s\.aws/instance-accelerator-manufacturer=aws",
    "google.com": r"cloud\.google\.com/gke-tpu-accelerator=.*",
}
#: The machine types with devices of a vendor, of AWS, Azure and Google Cloud.
_MACHINES: Final = {
    "nvidia.com": r"(g4dn|g5g?|g6[ef]?|gr6f?|p[2-6][a-z-]*)\.\w+|Standard_N[CDV](?!.*as_v4).*|(a[234]|g2|g4)-\w+.*",
    "amd.com": r"g4ad\.\w+|Standard_N[GV].*(as_v4|ads_V620.*)",
    "habana.ai": r"dl[12]q?\.\w+",
    "aws.amazon.com": r"(inf[12]|trn[12]n?)\.\w+",
    "google.com": r"ct\w+-.*",
}
_MACHINE_TYPE: Final = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
#: Words for a device plugin in names of DaemonSets and images.
_PLUGIN: Final = re.compile(r"device-?plugin|gpu-?plugin")
#: The word for a vendor in these names, by the domain of its resources.
_WORDS: Final = {
    "nvidia.com": "nvidia",
    "amd.com": "amd",
    "gpu.intel.com": "intel",
    "habana.ai": "habana",
    "aws.amazon.com": "neuron",
    "google.com": "tpu",
}
_OPERATOR: Final = re.compile(r"gpu-operator|gaudi.*operator|neuron-operator")


def device_sign(node: Node, resource: str) -> str:
    """Return a sign that a node has devices of a resource, such as its machine type; empty if there is none.

    Args:
        node: A node that offers none.
    """
    if resource in node.status.capacity or resource in node.status.allocatable:
        return f"it reports 0 {resource}"
    domain, labels = resource.partition("/")[0], node.metadata.labels
    machine = next((labels[key] for key in _MACHINE_TYPE if key in labels), "")
    if machine and domain in _MACHINES and re.fullmatch(_MACHINES[domain], machine):
        return f"instance type {machine}"
    for key, value in labels.items():
        known = domain in _LABELS and re.fullmatch(_LABELS[domain], f"{key}={value}", re.IGNORECASE)
        # Labels of a vendor about software, such as the state of an operator's components, do not depend on a device.
        where, slash, name = key.partition("/")
        of_vendor = slash and (where == domain or where.endswith(f".{domain}")) and not name.startswith("gpu.deploy.")
        if known or (of_vendor and value.lower() not in ("false", "0", "no")):
            return f"label {key}={value}"
    return ""


def plugin_state(cluster: Cluster, resource: str, row: int) -> tuple[bool, str]:
    """Report whether the snapshot has a device plugin for a resource, and describe its state on a node as a clause.

    Device plugins are recognized by the names and images of pods and DaemonSets.
    """
    pods = cluster.pods
    for index in pods.on_node(row).tolist():
        pod = pods.pod(index)
        if _is_plugin(pod.name, pod.spec, resource):
            state = state_of_pod(cluster, pods.records[index])
            return True, f"its device plugin, pod {pod.key}, {'offers no device' if state == RUNS else state}"
    for each in cluster.list(DaemonSet):
        spec = each.spec.template.spec if each.spec.template is not None else PodSpec()
        if _is_plugin(each.name, spec, resource):
            return True, absence(cluster, each, row)
    found = next((each for each in cluster.list(Deployment) if _OPERATOR.search(each.name)), None)
    if found is not None:
        return True, f"no device plugin runs there, although {found.namespace}/{found.name} is to install one"
    if not len(pods.on_node(row)):
        return False, "the snapshot shows no device plugin there"
    return False, "no device plugin runs there"


def _is_plugin(name: str, spec: PodSpec, resource: str) -> bool:
    names = " ".join((name, *(container.image for container in spec.containers)))
    if not _PLUGIN.search(names):
        return False
    named = [domain for domain, word in _WORDS.items() if word in names]
    return not named or resource.partition("/")[0] in named


#: Names of the past.
_RENAMED: Final = {"alpha.kubernetes.io/nvidia-gpu": "nvidia.com/gpu"}


def mistyped_resource(situation: Situation) -> Iterator[Diagnosis]:
    """A requested resource that no node offers, while nodes offer one with almost the same name.

    The API server accepts any name with a domain, such as ``nvidia.com/gpus``, but no device plugin offers that. The name
    of another vendor, such as ``amd.com/gpu`` where the nodes offer ``nvidia.com/gpu``, has the same effect. Operators
    correct the name in requests and limits.
    """
    # Yield a resource that no node of the cluster offers, with the resource that was meant.
    for resource in requested_devices(situation):
        for other in intended(situation, resource)[:1]:
            offers = list(offered_resources(situation))
            n_nodes = int((situation.offered(other) > 0).sum())
            have = "offers" if n_nodes == 1 else "offer"
            domain = resource.partition("/")[0]
            yield Diagnosis(
                rule="mistyped-resource",
                cause=f"no node offers {resource}; {counted(n_nodes, 'node')} {have} {other}",
                evidence=(f"nodes offer {listed(offers)}",) if domain != other.partition("/")[0] else (),
                remedies=(renamed(situation, resource, other, Risk.MISTAKE),),
            )


def intended(situation: Situation, resource: str) -> list[str]:
    """Return the offered resources that the name of one was meant for: misspelled, or with another domain.

    Nothing is returned if a node of the cluster offers the resource itself.
    """
    if situation.offered(resource).any():
        return []
    offers = list(offered_resources(situation))
    if _RENAMED.get(resource) in offers:
        return [_RENAMED[resource]]
    name = resource.partition("/")[2]
    same_name = [other for other in offers if other.partition("/")[2] == name]
    return meant(resource, offers) or (same_name if len(same_name) == 1 else [])


#: At most 3 nodes are named.
_MOST: Final = 3
#: The labels of at most 5,000 nodes are searched for signs of devices.
_SEARCHED: Final = 5000


def no_device_plugin(situation: Situation) -> Iterator[Diagnosis]:
    """Nodes that have the devices which the pod requests, and do not offer them, because no device plugin reports them.

    A device plugin tells the kubelet the devices of its node. Until it runs and finds them, the node offers none of the
    resource, whatever hardware it has. Labels, the machine type and a reported amount of 0 are the signs of the hardware.
    Operators install or repair the device plugin, or the operator that installs it, with the driver that it needs. A pod
    without its request would start and fail.
    """
    # Yield the resource that nodes with such devices do not offer.
    for resource in requested_devices(situation):
        offering = situation.in_reach & (situation.offered(resource) > 0)
        if (offering & ~situation.short_of(resource)).any() or intended(situation, resource):
            continue
        if resource in _ADDRESSES and not offering.any():
            yield _without_addresses(situation, resource)
            continue
        silent = situation.in_reach & (situation.offered(resource) == 0)
        cluster, similar = situation.cluster, offers_of_vendor(situation, resource, silent)
        signs = {
            row: sign
            for row in ([] if similar else all_rows(silent)[:_SEARCHED])
            if (sign := device_sign(cluster.nodes.objects[row], resource))
        }
        if signs:
            row, sign = next(iter(signs.items()))
            installed, state = plugin_state(cluster, resource, row)
            names = [cluster.nodes.names[each] for each in signs]
            offer = "offers" if len(names) == 1 else "offer"
            others = int(situation.in_reach.sum()) - len(signs) - int(offering.sum())
            rest = [obstacles_on(situation, offering)] if offering.any() else []
            if others:
                rest.append(f"{counted(others, 'other node')} {'shows' if others == 1 else 'show'} no such device")
            shown = listed(names, most=_MOST)
            state += undivided(cluster.nodes.objects[row])
            yield Diagnosis(
                rule="no-device-plugin",
                cause=together(situation, f"{shown} ({sign}) {offer} no {resource}: {state}", *rest),
                evidence=tuple(
                    f"{names[0]}, once it offers the devices: {reason.operands.words() if reason.operands is not None else reason.text}"
                    for plugin, said in situation.decision.verdict(row).reasons
                    for reason in (said if plugin != "NodeResourcesFit" else ())
                ),
                remedies=tuple(
                    _offering(situation, cluster.nodes.objects[each], resource, within, installed=installed)
                    for within, each in enumerate(list(signs)[:_MOST])
                ),
                advice=tuple(undivided_advice(cluster.nodes.objects[row])),
                checks=(
                    f"kubectl describe node {names[0]}",
                    f"kubectl get pods -A -o wide --field-selector spec.nodeName={names[0]}",
                ),
            )
        elif not offering.any() and silent.all():
            yield _nowhere(situation, resource, similar)
        elif not offering.any():
            yield from devices_elsewhere(situation, resource)


#: The resources with which the VPC resource controller of EKS counts addresses, each with their use and their setting.
_ADDRESSES: Final = {
    "vpc.amazonaws.com/PrivateIPv4Address": (
        "addresses for pods on Windows",
        "set enable-windows-ipam: 'true' in ConfigMap kube-system/amazon-vpc-cni",
        'kubectl patch configmap -n kube-system amazon-vpc-cni -p \'{"data":{"enable-windows-ipam":"true"}}\'',
    ),
    "vpc.amazonaws.com/pod-eni": (
        "network interfaces for pods with security groups of their own",
        "set ENABLE_POD_ENI=true in DaemonSet kube-system/aws-node",
        "kubectl set env daemonset -n kube-system aws-node ENABLE_POD_ENI=true",
    ),
}


def _without_addresses(situation: Situation, resource: str) -> Diagnosis:
    """Return the diagnosis of nodes to which the VPC resource controller has given no addresses for pods."""
    use, setting, command = _ADDRESSES[resource]
    base = obstacles_on(situation, situation.in_reach)
    return Diagnosis(
        rule="no-addresses",
        cause=together(situation, f"{base}: the VPC resource controller has given no {use}"),
        evidence=(f"{resource} stands for {use}; no device plugin offers it",),
        advice=(
            Advice(
                summary=f"{setting}, so that the VPC resource controller gives nodes {use}",
                risk=Risk.MISTAKE,
                untried="the controller changes the nodes outside the scheduler",
                command=command,
            ),
        ),
        checks=("kubectl describe configmap -n kube-system amazon-vpc-cni",),
    )


def _offering(situation: Situation, node: Node, resource: str, within: int, *, installed: bool) -> Remedy:
    """Return the repair of the device plugin: the node offers what the pod requests."""
    amount = exact_quantity(resource, situation.requests[resource])
    patch = (
        add_operation({**node.status.allocatable, resource: amount}, "status", "allocatable"),
        add_operation({**node.status.capacity, resource: amount}, "status", "capacity"),
    )
    vendor = VENDORS.get(resource.partition("/")[0], "")
    plugin = f"{vendor} device plugin" if vendor else f"device plugin of {resource}"
    summary = (
        f"{'repair' if installed else 'install or repair'} the {plugin} so that {node.name} offers {amount} {resource}"
    )
    # The taint that reserves the node for its devices, if the pod can tolerate it.
    taint = untolerated_taint(node.spec.taints, situation.pod.spec.tolerations)
    context = situation.context(situation.cluster.nodes.row[node.name])
    tolerated = next(taint_remedies(context, taint), None) if taint is not None else None
    if tolerated is not None and tolerated.scope is not RemedyScope.POD:
        tolerated = None
    return Remedy(
        summary=f"{summary}, and {tolerated.summary}" if tolerated is not None else summary,
        scope=RemedyScope.NODE,
        changes=(patched(node, *patch), *(tolerated.changes if tolerated is not None else ())),
        risk=Risk.MISTAKE,
        family="device plugin",
        within=within,
        once=True,
        command=f"# {summary}",
    )


def _nowhere(situation: Situation, resource: str, others: list[str]) -> Diagnosis:
    """Return the diagnosis of a cluster without a sign of such a device, except for others of the vendor."""
    if others:
        return divided_devices(situation, resource, others)
    return Diagnosis(
        rule="no-device-node",
        cause=f"no node offers {resource}",
        evidence=("no label and no machine type of a node shows such a device",),
        advice=(
            Advice(
                summary=f"add a node with {resource}, and a device plugin that offers it",
                risk=Risk.CAPACITY,
                untried="the snapshot has no such node",
            ),
        ),
        checks=("kubectl get nodes -o custom-columns='NAME:.metadata.name,OFFERS:.status.allocatable'",),
    )


def devices_in_use(situation: Situation) -> Iterator[Diagnosis]:
    """Nodes with the devices that the pod requests matter; nodes without them do not.

    If all devices are in use, the cause is who uses them. If some are free, the cause is what else keeps the pod away from
    their nodes; often these are pods that request no device and fill the node. Operators add a node with devices, wait, or
    move such pods to other nodes.
    """
    # Yield the obstacles on the nodes with devices, and those who hold the devices.
    group = group_of(situation.decision)
    if group is not None and group.n_fitting:
        # Pending members of the pod's own group hold devices in this decision; the rule gang-members tells the rest.
        return
    for resource in requested_devices(situation)[:1]:
        offered, wanted = situation.offered(resource), situation.requests[resource]
        having = situation.in_reach & (offered > 0)
        if not having.any() or int(offered[having].max()) < wanted or only_unhealthy(situation).any():
            return
        others = int(situation.in_reach.sum()) - int(having.sum())
        rest = f"{counted(others, 'other node')} {'offers' if others == 1 else 'offer'} no {resource}" if others else ""
        free = having & ~situation.short_of(resource)
        if free.any():
            n_short = int((having & ~free).sum())
            used_up = f"{counted(n_short, 'node')} {'has' if n_short == 1 else 'have'} too few {resource} free"
            found = (obstacles_on(situation, free), used_up if n_short else "")
            evidence = tuple(_strangers(situation, resource, free))
        else:
            found, evidence = (_taken(situation, resource, having), _unhealthy_words(situation, resource, having)), ()
        rule = "devices-in-use" if not free.any() else "device-nodes"
        advice = tuple(_repairs(situation, resource, having)) if not free.any() else ()
        yield Diagnosis(rule=rule, cause=together(situation, *found, rest), evidence=evidence, advice=advice)


def _unhealthy(situation: Situation, resource: str, having: Mask) -> Iterator[tuple[Node, int]]:
    """Yield the nodes with devices that their device plugin reports and the kubelet does not offer, with the number."""
    for row in all_rows(having)[:_SEARCHED]:
        node = situation.cluster.nodes.objects[row]
        had = known_amounts({resource: node.status.capacity.get(resource, "0")}).get(resource, 0)
        if (gone := had - int(situation.offered(resource)[row])) > 0:
            yield node, gone


def _unhealthy_words(situation: Situation, resource: str, having: Mask) -> str:
    """Return the devices that are not offered although their node has them, as a clause; empty for none."""
    found = [f"{gone} of {node.name}" for node, gone in _unhealthy(situation, resource, having)]
    of = f"{listed(found, most=_MOST)} {'is' if len(found) == 1 and found[0].startswith('1 ') else 'are'}"
    return f"{of} unhealthy (more in its capacity than in allocatable)" if found else ""


def _repairs(situation: Situation, resource: str, having: Mask) -> Iterator[Advice]:
    """Yield the advice to repair devices that are not offered although their node has them."""
    for node, gone in list(_unhealthy(situation, resource, having))[:1]:
        yield Advice(
            summary=f"repair the {counted(gone, 'unhealthy device')} of {node.name}: the log of its device plugin says "
            "why; restart or replace the node if it stays",
            risk=Risk.MISTAKE,
            untried="the device plugin checks the devices",
            command=f"kubectl describe node {node.name}",
        )


def _taken(situation: Situation, resource: str, having: Mask) -> str:
    """Return the use of devices of which too few are free, with the workloads that hold them."""
    total, used = int(situation.offered(resource)[having].sum()), int(situation.used(resource)[having].sum())
    where = situation.names(having)[0] if having.sum() == 1 else counted(int(having.sum()), "node")
    holders = Counter[str]()
    pods, amounts = situation.cluster.pods, _requests_by_pod(situation, resource)
    on = having[pods.node_row] & (pods.node_row >= 0) & (amounts > 0)
    records = list(pods.records)
    for index in np.flatnonzero(on).tolist():
        kind, namespace, name = workload_of(situation.cluster, records[index].metadata)
        holders[f"{kind} {namespace}/{name}"] += int(amounts[index])
    by = listed([f"{name} {amount}" for name, amount in holders.most_common()], most=3)
    held = f", by {by}" if by else ""
    if used >= total:
        return f"all {total} {resource} on {where} are in use{held}"
    most = int((situation.offered(resource) - situation.used(resource))[having].max())
    wanted = situation.requests[resource]
    return f"{used} of {total} {resource} on {where} are in use{held}: the pod wants {wanted}, the most free is {most}"


def _requests_by_pod(situation: Situation, resource: str) -> Int64Array:
    """Return the amount of a resource that each pod of the cluster requests: int64, shape (n_pods,)."""
    columns, pods = situation.columns, situation.cluster.pods
    amounts: Int64Array = columns.per_class[columns.index[resource]][pods.class_id]
    return amounts


def _strangers(situation: Situation, resource: str, free: Mask) -> Iterator[str]:
    """Yield what pods without a device use on nodes with free devices and too little of something else."""
    pods = situation.cluster.pods
    on = free[pods.node_row] & (pods.node_row >= 0) & (_requests_by_pod(situation, resource) == 0)
    for other in (CPU, MEMORY):
        if other not in situation.requests or not (free & situation.short_of(other)).any():
            continue
        amounts = _requests_by_pod(situation, other)
        used = int(amounts[on].sum())
        if used:
            n_pods = int((on & (amounts > 0)).sum())
            request = "requests" if n_pods == 1 else "request"
            held = f"{format_amount(other, used)} {other}"
            have = "has" if n_pods == 1 else "have"
            yield f"{counted(n_pods, 'pod')} there that {request} no {resource} {have} {held}"


_DEVICE_CLAIMS_PLUGIN: Final = "DynamicResources"
#: The reasons of at most 50 nodes are looked at.
_SAMPLE: Final = 50


class _ClassUse(msgspec.Struct, frozen=True):
    """A DeviceClass that a claim of the pod requests."""

    claim: ResourceClaim
    #: The name of the class.
    name: str
    #: The path of the name in the claim.
    path: tuple[str | int, ...]


def device_claims(situation: Situation) -> Iterator[Diagnosis]:
    """ResourceClaims for devices that nobody publishes: a DeviceClass or a driver that does not exist.

    A DeviceClass selects devices, most often by their driver. The driver's kubelet plugin publishes the devices of its node
    as ResourceSlices. Charts of drivers have parts that are switched on separately, so one driver of a vendor may publish
    devices while another publishes none. Operators switch the driver on, or correct the name of the class. A pod without
    its claim would start and fail.
    """
    # Yield classes that do not exist, drivers without devices, and devices on nodes that cannot hold the pod.
    outcome = situation.decision.pre_filter
    if not situation.filtered:
        if outcome is not None and outcome.status.plugin == _DEVICE_CLAIMS_PLUGIN:
            known = [each.name for each in situation.cluster.list(DeviceClass)]
            for use in _uses(situation):
                if use.name in known:
                    continue
                near = meant(use.name, known)
                there = f"; there is {listed(near or sorted(known))}" if known else ", and there is no other"
                yield Diagnosis(
                    rule="missing-device-class",
                    cause=f"claim {use.claim.key} requests DeviceClass {use.name}, which does not exist{there}",
                    remedies=tuple(_device_claims_renamed(situation, use, other) for other in near),
                    advice=()
                    if near
                    else (
                        Advice(
                            summary=f"install the driver that DeviceClass {use.name} belongs to; its chart creates the class",
                            risk=Risk.MISTAKE,
                            untried="the devices of the driver are not known",
                        ),
                    ),
                    checks=("kubectl get deviceclasses",),
                )
        return
    reach = situation.in_reach
    refused = reach & situation.rejected_by(_DEVICE_CLAIMS_PLUGIN)
    if not refused.any():
        return
    usable = reach & ~refused
    silent = [] if usable.any() else list(_silent_drivers(situation))
    if silent:
        yield from silent
    elif usable.any():
        n_refused = int(refused.sum())
        rest = (
            f"{counted(n_refused, 'other node')} {'has' if n_refused == 1 else 'have'} no usable devices for the claims"
        )
        yield Diagnosis(rule="device-nodes", cause=together(situation, obstacles_on(situation, usable), rest))
    else:
        supplies: list[RequestSupply] = []
        for row in all_rows(refused)[:_SAMPLE]:
            operands = [one for one in situation.operands(row, _DEVICE_CLAIMS_PLUGIN) if isinstance(one, NotAllocated)]
            supplies += [request for one in operands for request in one.requests if request.lacking]
        matching = [one for one in supplies if one.matching]
        if not matching or any(one.free for one in matching) or any(True for _ in finished_holders(situation)):
            return
        holders = list(dict.fromkeys(str(holder) for one in matching for holder in one.holders))
        where = counted(len({id(one) for one in matching}), "node")
        held = f", held by {listed(holders, most=3)}" if holders else ""
        n_others = int(refused.sum()) - len(matching)
        others = (
            f"; {counted(n_others, 'other node')} {'has' if n_others == 1 else 'have'} none" if n_others > 0 else ""
        )
        yield Diagnosis(
            rule="devices-in-use",
            cause=f"all matching devices of DeviceClass {matching[0].device_class} on {where} are in use{held}{others}",
        )


def _uses(situation: Situation) -> Iterator[_ClassUse]:
    """Yield the classes that the pod's claims without an allocation request."""
    pod = situation.pod
    made = {each.name: each.resource_claim_name for each in pod.status.resource_claim_statuses}
    for entry in pod.spec.resource_claims:
        name = entry.resource_claim_name or made.get(entry.name, "")
        claim = situation.cluster.get(ResourceClaim, name, pod.namespace) if name else None
        if claim is None or claim.status.allocation is not None:
            continue
        for i, request in enumerate(claim.spec.devices.requests):
            at = ("spec", "devices", "requests", i)
            if request.exactly is not None:
                yield _ClassUse(claim, request.exactly.device_class_name, (*at, "exactly", "deviceClassName"))
            for j, sub in enumerate(request.first_available):
                yield _ClassUse(claim, sub.device_class_name, (*at, "firstAvailable", j, "deviceClassName"))


def _device_claims_renamed(situation: Situation, use: _ClassUse, other: str) -> Remedy:
    """Return the correction of a class's name. A claim cannot be changed, so it is created again."""
    owner = use.claim.metadata.controller
    templates = [each.resource_claim_template_name for each in situation.pod.spec.resource_claims]
    made_from = next((name for name in templates if name), "")
    what = f"ResourceClaimTemplate {made_from}" if owner is not None and made_from else f"claim {use.claim.key}"
    return Remedy(
        summary=f"DeviceClass {other} instead of {use.name} in {what}",
        scope=RemedyScope.CLUSTER,
        changes=(patched(use.claim, replace_operation(other, *use.path)),),
        risk=Risk.MISTAKE,
        family=("device class", use.name),
        command=f"# correct {what} and create the claim again: claims cannot be changed",
    )


def _silent_drivers(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the drivers that requested classes select and that publish no device."""
    if situation.cluster.is_forbidden(ResourceSlice):
        return
    published: dict[str, set[str]] = {}
    for one in situation.cluster.list(ResourceSlice):
        published.setdefault(one.spec.driver, set()).add(one.spec.node_name or one.name)
    for use in _uses(situation):
        wanted = drivers_of_class(situation.cluster, use.name)
        if not wanted or any(driver in published for driver in wanted):
            continue
        driver = wanted[0]
        siblings = [name for name in sorted(published) if name.split(".", 1)[-1] == driver.split(".", 1)[-1]]
        others = [f"{name} ({counted(len(published[name]), 'node')})" for name in siblings or sorted(published)]
        instead = f"; those of {listed(others)} exist" if others else ", and no other driver publishes any"
        verb = "switch on the part of the driver" if siblings else "install the driver"
        cure, command = f"{verb} that publishes devices of {driver}", f"# {verb} that publishes devices of {driver}"
        sick = next(_sick_agents(situation, driver), None)
        if sick is not None:
            node, agent = sick
            instead, cure, command = f", and {agent.clause} on {node}", agent.cure(node), agent.command
        yield Diagnosis(
            rule="no-device-of-the-class",
            cause=f"no ResourceSlice is of the driver {driver}, which DeviceClass {use.name} selects{instead}",
            evidence=(f"claim {use.claim.key} requests DeviceClass {use.name}",),
            advice=(
                Advice(
                    summary=cure,
                    risk=Risk.MISTAKE,
                    untried="its kubelet plugin then publishes ResourceSlices that the snapshot does not contain",
                    command=command,
                ),
            ),
            checks=("kubectl get resourceslices", "kubectl get daemonsets -A"),
        )
        return


def _sick_agents(situation: Situation, driver: str) -> Iterator[tuple[str, Agent]]:
    """Yield the nodes within reach on which a pod of a driver is not ready, with the pod."""
    for row in all_rows(situation.in_reach)[:_SAMPLE]:
        agent = agent_on(situation.cluster, driver, row, "dra")
        if agent is not None and agent.pod and not agent.runs:
            yield situation.cluster.nodes.names[row], agent


_ERROR: Final = "is smaller than number of claims"


def unscored_claims(situation: Situation) -> Iterator[Diagnosis]:
    """kube-scheduler 1.35 cannot score the nodes for a pod with several ResourceClaims of which one is allocated already.

    Its plugin DynamicResources allocates only the new claims, then expects an allocation for each claim of the pod, and
    returns an error. The pod is tried again and again, with the same error, unless only one node fits: then nodes are not
    scored. kube-scheduler 1.36 scores such pods.
    """
    # Yield the allocated claims, if the nodes cannot be scored because of them.
    state = situation.decision.state.read(State)
    if state is None or not situation.decision.error.endswith(_ERROR):
        return
    allocated = [claim.name for claim in state.claims if claim.status.allocation is not None]
    new = [claim.name for claim in state.claims if claim.status.allocation is None]
    yield Diagnosis(
        rule="unscored-claims",
        cause=(
            "kube-scheduler 1.35 cannot score nodes for a pod with both allocated and new ResourceClaims: allocated "
            f"{listed(allocated)}, new {listed(new)}"
        ),
        advice=(
            Advice(
                summary="upgrade kube-scheduler to 1.36, which scores such pods",
                risk=Risk.SHARED,
                untried="another release decides differently elsewhere, too: diff --against-version 1.36",
            ),
            Advice(
                summary="disable the extension point score of DynamicResources in the profile of kube-scheduler",
                risk=Risk.SHARED,
                untried="the configuration is a file on the control plane",
                command="# plugins: {score: {disabled: [{name: DynamicResources}]}}",
            ),
            Advice(
                summary="request all devices in one ResourceClaim",
                risk=Risk.POD,
                untried="the claims of a pod cannot be changed, so a new claim and a new pod are needed",
            ),
        ),
    )
