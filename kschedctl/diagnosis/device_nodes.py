"""Signs that a node has devices, whether or not it offers them: labels, machine types, and device plugins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.node_selection import nodes_matching_pod
from kschedctl.objects.core import Node
from kschedctl.objects.pod import PodSpec
from kschedctl.objects.workload import DaemonSet, Deployment
from kschedctl.scheduler.plugins.taint_toleration import untolerated_taint

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

    Parameters
    ----------
    node : Node
        A node that offers none.
    resource : str
        The extended resource.
    """
    if resource in node.status.capacity or resource in node.status.allocatable:
        return f"it reports 0 {resource}"
    domain, labels = resource.partition("/")[0], node.metadata.labels
    machine = next((labels[key] for key in _MACHINE_TYPE if key in labels), "")
    if machine and domain in _MACHINES and re.fullmatch(_MACHINES[domain], machine):
        return f"instance type {machine}"
    for key, value in labels.items():
        known = domain in _LABELS and re.fullmatch(_LABELS[domain], f"{key}={value}", re.IGNORECASE)
        if known or (_is_of(key, domain) and value.lower() not in ("false", "0", "no")):
            return f"label {key}={value}"
    return ""


def _is_of(key: str, domain: str) -> bool:
    """Report whether a label is one by which a vendor marks nodes with its devices."""
    where, slash, name = key.partition("/")
    # Labels of a vendor about software, such as the state of an operator's components, do not depend on a device.
    return bool(slash) and (where == domain or where.endswith(f".{domain}")) and not name.startswith("gpu.deploy.")


def plugin_state(cluster: Cluster, resource: str, row: int) -> tuple[bool, str]:
    """Report whether the snapshot has a device plugin for a resource, and describe its state on a node as a clause.

    Device plugins are recognized by the names and images of pods and DaemonSets.
    """
    pods = cluster.pods
    for index in pods.on_node(row).tolist():
        pod = pods.pod(index)
        if _is_plugin(pod.name, pod.spec, resource):
            ready = next((each for each in pod.status.conditions if each.type == "Ready"), None)
            if ready is not None and ready.status != "True":
                return True, f"its device plugin, pod {pod.key}, is not ready"
            return True, f"its device plugin, pod {pod.key}, offers no device"
    for each in cluster.list(DaemonSet):
        spec = each.spec.template.spec if each.spec.template is not None else PodSpec()
        if _is_plugin(each.name, spec, resource):
            why = next(_keeps_away(cluster, spec, row), "")
            return True, f"DaemonSet {each.namespace}/{each.name} has no pod there{f', as {why}' if why else ''}"
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


def _keeps_away(cluster: Cluster, spec: PodSpec, row: int) -> Iterator[str]:
    """Yield the reasons why the pods of a DaemonSet do not run on a node."""
    node = cluster.nodes.objects[row]
    if not nodes_matching_pod(cluster.nodes, spec)[row]:
        yield "its node selector does not match the node"
    taint = untolerated_taint(node.spec.taints, spec.tolerations)
    if taint is not None:
        yield f"it does not tolerate the taint {taint}"
