"""Pods of the node's own components that are not ready: device plugins, CSI drivers, the network plugin, kube-proxy.

Without them a node offers no devices, attaches no volumes or starts no pods. They matter if pods are pending, so the
rule is silent without pending pods.

Operators look at the component's log and restart it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from kschedctl.common.wording import listed
from kschedctl.diagnosis.cluster_diagnosis import ClusterDiagnosis, ClusterSituation
from kschedctl.diagnosis.diagnosis import Advice
from kschedctl.diagnosis.node_health import condition_of_pod, is_unhealthy, since
from kschedctl.scheduler.framework.remedy import Risk

_SYSTEM: Final = "kube-system"
#: The names of such components outside ``kube-system``.
_COMPONENT: Final = re.compile(
    r"device-plugin|deviceplugin|(^|-)csi(-|$)|(^|-)cni(-|$)|calico|cilium|flannel|weave|kube-proxy|"
    r"dra-driver|kubelet-plugin|multus"
)


def check(situation: ClusterSituation) -> Iterator[ClusterDiagnosis]:
    """Yield the DaemonSets of components with pods that are not ready on healthy nodes."""
    if not situation.n_pending:
        return
    pods, nodes = situation.cluster.pods, situation.cluster.nodes
    for (kind, namespace, name), members in situation.pods_by_owner.items():
        if kind != "DaemonSet" or not (namespace == _SYSTEM or _COMPONENT.search(name)):
            continue
        ill: dict[str, datetime | None] = {}
        for index in members:
            record, row = pods.records[index], int(pods.node_row[index])
            ready = condition_of_pod(record, "Ready")
            if row < 0 or ready is None or ready.status != "False" or is_unhealthy(nodes.objects[row]):
                continue
            ill[record.node_name] = ready.last_transition_time
        if ill:
            first = min((time for time in ill.values() if time is not None), default=None)
            yield ClusterDiagnosis(
                rule="sick-component",
                cause=f"its pods are not ready on {listed(list(ill), most=3)}{since(first)}: what it provides there, "
                "such as devices, volumes or the network, is missing",
                advice=(
                    Advice(
                        summary=f"repair DaemonSet {namespace}/{name} on {listed(list(ill), most=3)}",
                        risk=Risk.MISTAKE,
                        untried="the component runs on the nodes",
                        command=f"kubectl rollout restart daemonset -n {namespace} {name}",
                    ),
                ),
                checks=(f"kubectl logs -n {namespace} daemonset/{name}",),
                kind="DaemonSet",
                namespace=namespace,
                name=name,
                state=f"is not ready on {len(ill)} of {len(members)} nodes",
                since=first,
            )
