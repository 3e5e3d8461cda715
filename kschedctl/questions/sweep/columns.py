"""The columns of the table: the quantities that can be measured in a case, with their descriptions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kschedctl.common.errors import InputError
from kschedctl.common.wording import similar
from kschedctl.objects.well_known import HOSTNAME, ZONE
from kschedctl.questions.answers.sweep import Ask

UTILISATION: Final = "utilisation."
SKEW: Final = "skew."
#: The statistics over the utilisation of the single nodes.
STATISTICS: Final = ("min", "max", "mean", "stdev")
#: Short names of labels.
DOMAINS: Final[Mapping[str, str]] = {"zone": ZONE, "hostname": HOSTNAME}

#: The columns that belong to one analysis, with their descriptions, by analysis.
OWN: Final[Mapping[Ask, Mapping[str, str]]] = {
    Ask.SIMULATE: {
        "pods": "pods to place, including pods recreated by their controllers",
        "placed": "pods that got a node",
        "waiting": "pods that are pending at the end",
        "evicted": "pods that were preempted",
        "attempts": "scheduling cycles",
        "seconds": "duration by the cluster's clock, in seconds",
    },
    Ask.EXPLAIN: {
        "pods": "pods in the request, each scheduled by itself",
        "placed": "pods that fit",
        "waiting": "pods that do not fit",
        "feasibleNodes": "number of feasible nodes of the pod with the fewest",
        "score": "mean of the pods' best scores; empty if no pod fits",
    },
    Ask.CAPACITY: {
        "copies": "copies of the pod that fit",
        "nodesTaking": "nodes on which copies fit",
    },
    Ask.DRAIN: {
        "drained": "nodes that can be drained",
        "evicted": "pods evicted from them",
        "blocked": "pods that disruption budgets never allow to be evicted",
        "waiting": "pods that are pending at the end and were not before",
        "seconds": "duration by the cluster's clock, in seconds",
    },
}
#: The columns about the cluster at the end of the analysis. ``explain`` and ``capacity`` do not change the cluster.
OF_CLUSTER: Final[Mapping[str, str]] = {
    "nodes": "number of nodes",
    "nodesUsed": "nodes with a pod that is neither a DaemonSet pod nor a static pod",
    "utilisation.RESOURCE": "requests for a resource divided by the allocatable of all nodes, from 0 to 1",
    "utilisation.RESOURCE.min": "the same for the node with the smallest share; also `.max`, `.mean` and `.stdev`, "
    "over the nodes that have the resource",
    "skew.LABEL": "skew of a workload's pods over the values of a node label: the most pods in one value minus "
    "the fewest, for the workload with the largest skew among those with pods to place; `skew.zone` and "
    "`skew.hostname` are short forms",
}
_DEFAULT: Final = ("nodesUsed", f"{UTILISATION}cpu", f"{UTILISATION}memory")


def default_columns(ask: Ask) -> tuple[str, ...]:
    """Return the columns of a plan that names none."""
    if ask is Ask.SIMULATE:
        return ("placed", "waiting", "evicted", *_DEFAULT)
    return tuple(OWN[ask])


def check_column(name: str, ask: Ask) -> None:
    """Check that a column exists.

    Raises
    ------
    InputError
        If there is no such column for the analysis.
    """
    plain = {**OWN[ask], **{column: text for column, text in OF_CLUSTER.items() if "." not in column}}
    if name in plain or any(name.startswith(start) and len(name) > len(start) for start in (UTILISATION, SKEW)):
        return
    close = similar(name, (*plain, "utilisation.cpu", "utilisation.memory", "skew.zone"))
    known = f"the columns of {ask} are {', '.join(plain)}, utilisation.RESOURCE and skew.LABEL"
    raise InputError(f'"{name}" is not a column', hint=f"did you mean {close[0]}?" if close else known)


def split_utilisation(name: str) -> tuple[str, str]:
    """Split a column into the resource and the statistic over nodes, which is empty for all nodes together.

    Examples
    --------
    >>> split_utilisation("utilisation.nvidia.com/gpu.max"), split_utilisation("utilisation.cpu")
    (('nvidia.com/gpu', 'max'), ('cpu', ''))
    """
    rest = name.removeprefix(UTILISATION)
    resource, _, last = rest.rpartition(".")
    return (resource, last) if resource and last in STATISTICS else (rest, "")
