"""Pods of the cluster's own components that are not ready: provisioners of volumes, and network plugins.

Components are recognized by the names of their pods and namespaces, as nothing else in a snapshot tells them apart.
"""

import re
from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import PodRecord
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.diagnosis.diagnosis import Advice
from kschedctl.diagnosis.node_health import condition_of_pod, since
from kschedctl.objects.volume import CSIDriver
from kschedctl.scheduler.framework.risk import Risk
from kschedctl.scheduler.volumes.csi_nodes import PLUGINS_BY_NAME, CSINodes

#: The names of pods of network plugins (CNI).
_NETWORK_PLUGIN: Final = re.compile(
    r"(^|-)cni(-|$)|calico|canal|cilium|flannel|weave|antrea|kindnet|kube-ovn|ovnkube|aws-node|kube-router"
)
#: The names of pods that may create volumes.
_PROVISIONER: Final = re.compile(r"csi|provisioner")
#: Words in the names of provisioners that tell no two of them apart.
_COMMON: Final = frozenset(
    {"csi", "com", "io", "k8s", "x", "org", "net", "dev", "cloud", "cluster", "local", "driver", "storage", "sigs"}
    | {"kubernetes", "provisioner", "external"}
)


def ill_network_plugin(cluster: Cluster, row: int) -> tuple[str, str, str] | None:
    """Return the workload of a network plugin whose pod on a node is not ready: kind, namespace and name."""
    for index in cluster.pods.on_node(row).tolist():
        record = cluster.pods.records[index]
        if _NETWORK_PLUGIN.search(record.metadata.name) and not _is_ready(record):
            return workload_of(cluster, record.metadata)
    return None


def _ill_provisioner(cluster: Cluster, provisioner: str) -> tuple[tuple[str, str, str], str] | None:
    """Return the workload of a provisioner none of whose pods is ready, and its state.

    The pods of DaemonSets serve single nodes; they only count for a provisioner without other pods.

    Args:
        provisioner: The provisioner of a class, or the CSI driver that has replaced it.

    Returns: Kind, namespace and name of the workload, and its state, such as ``is not ready``; ``None`` if a pod is
        ready or none is recognized.
    """
    # The words that tell a provisioner apart, such as ``ebs`` of ``ebs.csi.aws.com``.
    before, _, after = provisioner.partition("csi.")
    split = (
        [word for word in re.split(r"[./_-]+", part.lower()) if word and word not in _COMMON]
        for part in (before, after)
    )
    words = next(filter(None, split), [])
    found = [
        record
        for record in cluster.pods.records
        if record.metadata.deletion_timestamp is None
        and record.status.phase not in ("Succeeded", "Failed")
        and _PROVISIONER.search(record.metadata.name)
        and (full := f"{record.metadata.namespace}/{record.metadata.name}".lower())
        # A short word such as pd must not be a part of another one.
        and any(word in (re.split(r"[/-]+", full) if len(word) < len("abc") else full) for word in words)
    ]
    central = [
        record for record in found if (owner := record.metadata.controller) is None or owner.kind != "DaemonSet"
    ] or found
    if not central or any(record.node_name and _is_ready(record) for record in central):
        return None
    workload = workload_of(cluster, central[0].metadata)
    started = next((record for record in central if record.node_name), None)
    if started is None:
        return workload, "has only pending pods"
    ready = condition_of_pod(started, "Ready")
    return workload, f"is not ready{since(ready.last_transition_time) if ready is not None else ''}"


def _is_ready(record: PodRecord) -> bool:
    """Report whether a pod is not known to be unready; the stored form keeps the condition only if it is false."""
    ready = condition_of_pod(record, "Ready")
    return ready is None or ready.status == "True"


# Provisioners of volumes, and their CSI drivers.


def provisioner_fault(cluster: Cluster, provisioner: str) -> tuple[str, list[Advice], bool]:
    """Return what keeps a provisioner from creating volumes, as a clause, its repair, and whether its pods are ill.

    The clause is empty if nothing is known to. Whether a driver is registered is unknown for a provisioner that is no
    CSI driver, and in a snapshot without CSINodes.
    """
    driver, nodes = driver_of(provisioner), CSINodes.of(cluster)
    if (ill := _ill_provisioner(cluster, driver)) is not None:
        (kind, namespace, name), state = ill
        repair = Advice(
            summary=f"repair {kind} {namespace}/{name}: look at its log and its events",
            risk=Risk.MISTAKE,
            untried="the provisioner creates the volume outside the scheduler",
            command=f"kubectl logs -n {namespace} {kind.lower()}/{name} --all-containers --previous",
        )
        return f"{kind} {namespace}/{name} {state}", [repair], True
    registered = cluster.get(CSIDriver, driver) is not None or nodes.installed(driver).any()
    if registered or not nodes.present.any() or not is_csi_driver(cluster, driver):
        return "", [], False
    install = Advice(
        summary=f"install CSI driver {driver}, or repair it: no node has registered it",
        risk=Risk.MISTAKE,
        untried="the driver creates the volume outside the scheduler",
        command=f"kubectl get csidriver {driver}; kubectl get pods -A | grep -i csi",
    )
    return f"no node has registered CSI driver {driver}", [install], False


def is_csi_driver(cluster: Cluster, provisioner: str) -> bool:
    """Report whether a provisioner is a CSI driver: it is registered as one, or its name says so."""
    registered = cluster.get(CSIDriver, provisioner) is not None or CSINodes.of(cluster).installed(provisioner).any()
    return bool(registered) or "csi" in provisioner.lower()


def driver_of(provisioner: str) -> str:
    """Return the CSI driver that has replaced an in-tree provisioner, or the provisioner itself."""
    plugin = PLUGINS_BY_NAME.get(provisioner)
    return plugin.driver if plugin is not None else provisioner
