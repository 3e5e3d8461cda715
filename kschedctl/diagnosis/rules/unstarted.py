"""A pod is bound to a node and does not start: scheduling is done, and the kubelet is the next to act.

Its ``nodeName`` names no node, its node is unhealthy, or a container waits for a reason that the kubelet reports in the
pod's status, such as an image that cannot be pulled. Another node would rarely help.

Operators repair what the reason names. The node of a pod cannot be changed: a pod with a wrong ``nodeName`` is
recreated.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.diagnosis.bound_pods import is_lost, is_misnamed, misnamed_node, on_unhealthy_node, waiting_containers
from kschedctl.diagnosis.diagnosis import Diagnosis
from kschedctl.diagnosis.situation import Situation


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield what keeps a bound pod from starting."""
    pod, node, cluster = situation.pod, situation.node, situation.cluster
    if not node or pod.status.phase != "Pending":
        return
    if node in cluster.nodes.row:
        yield from on_unhealthy_node(cluster, node)
        yield from waiting_containers(pod)
    elif is_misnamed(pod) and is_lost(cluster, node):
        yield misnamed_node(cluster, pod, node)
