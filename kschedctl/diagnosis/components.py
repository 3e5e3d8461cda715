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
from kschedctl.objects.volume import CSIDriver, StorageClass
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


def ill_provisioner(cluster: Cluster, provisioner: str) -> tuple[str, str] | None:
    """Return the workload of a provisioner none of whose pods is ready, and its state.

    The pods of DaemonSets serve single nodes; they only count for a provisioner without other pods.

    Args:
        provisioner: The provisioner of a class, or the CSI driver that has replaced it.

    Returns: The workload, such as ``Deployment kube-system/ebs-csi-controller``, and a clause such as ``Deployment
        kube-system/ebs-csi-controller is not ready``; ``None`` if a pod is ready or none is recognized.
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
        and _has_words(record, words)
    ]
    central = [
        record for record in found if (owner := record.metadata.controller) is None or owner.kind != "DaemonSet"
    ] or found
    if not central or any(record.node_name and _is_ready(record) for record in central):
        return None
    kind, namespace, name = workload_of(cluster, central[0].metadata)
    workload = f"{kind} {namespace}/{name}"
    if not any(record.node_name for record in central):
        return workload, f"{workload} has only pending pods"
    ready = condition_of_pod(next(record for record in central if record.node_name), "Ready")
    return workload, f"{workload} is not ready{since(ready.last_transition_time) if ready is not None else ''}"


def _has_words(record: PodRecord, words: list[str]) -> bool:
    name = f"{record.metadata.namespace}/{record.metadata.name}".lower()
    if not _PROVISIONER.search(record.metadata.name):
        return False
    # A short word such as pd must not be a part of another one.
    return any(word in (re.split(r"[/-]+", name) if len(word) < len("abc") else name) for word in words)


def _is_ready(record: PodRecord) -> bool:
    """Report whether a pod is not known to be unready; the stored form keeps the condition only if it is false."""
    ready = condition_of_pod(record, "Ready")
    return ready is None or ready.status == "True"


# Provisioners of volumes: their CSI drivers, and the advice to install or repair one.


def unregistered_driver(cluster: Cluster, storage_class: StorageClass | None) -> str:
    """Return the CSI driver of a class if no node has registered it; empty if one has, or if that is unknown.

    It is unknown for provisioners that are no CSI drivers, and in a snapshot without CSINodes.
    """
    provisioner = storage_class.provisioner if storage_class is not None else ""
    driver = driver_of(provisioner)
    nodes = CSINodes.of(cluster)
    if not nodes.present.any() or cluster.get(CSIDriver, driver) is not None or nodes.installed(driver).any():
        return ""
    return driver if is_csi_driver(cluster, driver) else ""


def is_csi_driver(cluster: Cluster, provisioner: str) -> bool:
    """Report whether a provisioner is a CSI driver: it is registered as one, or its name says so."""
    registered = cluster.get(CSIDriver, provisioner) is not None or CSINodes.of(cluster).installed(provisioner).any()
    return bool(registered) or "csi" in provisioner.lower()


def driver_of(provisioner: str) -> str:
    """Return the CSI driver that has replaced an in-tree provisioner, or the provisioner itself."""
    plugin = PLUGINS_BY_NAME.get(provisioner)
    return plugin.driver if plugin is not None else provisioner


def install_advice(driver: str) -> Advice:
    """Return the advice to install a CSI driver."""
    return Advice(
        summary=f"install CSI driver {driver}, or repair it: no node has registered it",
        risk=Risk.MISTAKE,
        untried="the driver creates the volume outside the scheduler",
        command=f"kubectl get csidriver {driver}; kubectl get pods -A | grep -i csi",
    )


def repair_advice(workload: str) -> Advice:
    """Return the advice to repair a provisioner whose pods are not ready."""
    kind, _, name = workload.partition(" ")
    namespace, _, name = name.partition("/")
    return Advice(
        summary=f"repair {workload}: look at its log and its events",
        risk=Risk.MISTAKE,
        untried="the provisioner creates the volume outside the scheduler",
        command=f"kubectl logs -n {namespace} {kind.lower()}/{name} --all-containers --previous",
    )
