"""The users of the capacity that a pod lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np

from kschedctl.objects.resources import exact_quantity
from kschedctl.questions.answers.explain import NodeData, OwnerUsageData, UsageData
from kschedctl.scheduler.cycle.decision import Decision

#: At most 5 owners are reported.
_MOST: Final = 5


def usage_data(decision: Decision, nodes: Sequence[NodeData]) -> UsageData | None:
    """Return the owners that request most of the resource that is short on most nodes.

    Only nodes that could hold the pod if they were empty count.

    Parameters
    ----------
    decision : Decision
        The decision for a pod.
    nodes : sequence of NodeData
        The verdicts on the nodes, in the order of their rows.

    Returns
    -------
    UsageData or None
        ``None`` if the pod fits, or no node that could hold it if empty is short of a resource that pods request.
    """
    if decision.best:
        return None
    cluster = decision.cluster
    columns, pods = cluster.resources(decision.framework.handle.request_rules), cluster.pods
    rows: dict[str, list[int]] = {}
    for row, node in enumerate(nodes):
        shortages = [each.operands.shortfall() if each.operands is not None else None for each in node.reasons]
        # Room on a node that another filter rejects as well, or that is too small, would not help.
        if any(found is None or found.hopeless for found in shortages):
            continue
        for found in shortages:
            # Not everything that can be short is requested by pods: claims hold devices.
            if found is not None and found.resource in columns.index:
                rows.setdefault(found.resource, []).append(row)
    if not rows:
        return None
    resource, lacking = max(rows.items(), key=lambda item: len(item[1]))
    amounts = columns.per_class[columns.index[resource]][pods.class_id]
    there = np.flatnonzero(np.isin(pods.node_row, lacking) & (amounts > 0))
    used: Counter[str] = Counter()
    number: Counter[str] = Counter()
    for index in there.tolist():
        owner = pods.owner(index)
        namespace = pods.records[index].metadata.namespace
        name = f"{owner.kind} {namespace}/{owner.name}" if owner is not None else f"Pod {pods.key(index)}"
        used[name] += int(amounts[index])
        number[name] += 1
    return UsageData(
        resource,
        len(lacking),
        exact_quantity(resource, used.total()),
        tuple(
            OwnerUsageData(name, number[name], exact_quantity(resource, amount))
            for name, amount in used.most_common(_MOST)
        ),
    )
