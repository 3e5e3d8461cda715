"""Nodes with the devices that the pod requests matter; nodes without them do not.

If all devices are in use, the cause is who uses them. If some are free, the cause is what else keeps the pod away from
their nodes; often these are pods that request no device and fill the node. Operators add a node with devices, wait, or
move such pods to other nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.common.wording import counted, listed
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.diagnosis.diagnosis import Diagnosis
from kschedctl.diagnosis.extended_resources import requested_devices
from kschedctl.diagnosis.rules.obstacles import obstacles_on, together
from kschedctl.diagnosis.rules.unhealthy_nodes import only_unhealthy
from kschedctl.diagnosis.situation import Situation
from kschedctl.objects.resources import CPU, MEMORY, format_amount
from kschedctl.scheduler.cycle.pod_group_decision import group_of


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the obstacles on the nodes with devices, and those who hold the devices."""
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
            found = (obstacles_on(situation, free), _used_up(situation, resource, having & ~free))
            evidence = tuple(_strangers(situation, resource, free))
        else:
            found, evidence = (_taken(situation, resource, having), ""), ()
        yield Diagnosis(
            rule="devices-in-use" if not free.any() else "device-nodes",
            cause=together(situation, *found, rest),
            evidence=evidence,
        )


def _taken(situation: Situation, resource: str, having: Mask) -> str:
    """Return the use of devices of which too few are free, with the workloads that hold them."""
    total, used = int(situation.offered(resource)[having].sum()), int(situation.used(resource)[having].sum())
    where = situation.names(having)[0] if having.sum() == 1 else counted(int(having.sum()), "node")
    holders = Counter[str]()
    pods, amounts = situation.cluster.pods, _amounts(situation, resource)
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


def _used_up(situation: Situation, resource: str, nodes: Mask) -> str:
    if not nodes.any():
        return ""
    n_nodes = int(nodes.sum())
    return f"{counted(n_nodes, 'node')} {'has' if n_nodes == 1 else 'have'} too few {resource} free"


def _amounts(situation: Situation, resource: str) -> Int64Array:
    """Return the amount of a resource that each pod of the cluster requests: int64, shape (n_pods,)."""
    columns, pods = situation.columns, situation.cluster.pods
    amounts: Int64Array = columns.per_class[columns.index[resource]][pods.class_id]
    return amounts


def _strangers(situation: Situation, resource: str, free: Mask) -> Iterator[str]:
    """Yield what pods without a device use on nodes with free devices and too little of something else."""
    pods = situation.cluster.pods
    on = free[pods.node_row] & (pods.node_row >= 0) & (_amounts(situation, resource) == 0)
    for other in (CPU, MEMORY):
        if other not in situation.requests or not (free & situation.short_of(other)).any():
            continue
        amounts = _amounts(situation, other)
        used = int(amounts[on].sum())
        if used:
            n_pods = int((on & (amounts > 0)).sum())
            request = "requests" if n_pods == 1 else "request"
            held = f"{format_amount(other, used)} {other}"
            have = "has" if n_pods == 1 else "have"
            yield f"{counted(n_pods, 'pod')} there that {request} no {resource} {have} {held}"
