"""Measurement of a case: computes the numbers of columns from the result of the analysis and the final cluster."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import InputError
from kschedctl.common.wording import similar
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.controllers.workloads.template import NODE_BOUND
from kschedctl.objects.meta import ObjectMeta
from kschedctl.objects.releases.release import Release
from kschedctl.objects.resources import RequestRules
from kschedctl.objects.well_known import HOSTNAME, ZONE, zone_of
from kschedctl.questions.sweep.answer import Ask

# The columns of the table: the quantities that can be measured in a case, with their descriptions.

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
    Ask.CAPACITY: {"copies": "copies of the pod that fit", "nodesTaking": "nodes on which copies fit"},
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

    Raises InputError if there is no such column for the analysis.
    """
    plain = {**OWN[ask], **{column: text for column, text in OF_CLUSTER.items() if "." not in column}}
    if name in plain or any(name.startswith(start) and len(name) > len(start) for start in (UTILISATION, SKEW)):
        return
    close = similar(name, (*plain, "utilisation.cpu", "utilisation.memory", "skew.zone"))
    known = f"the columns of {ask} are {', '.join(plain)}, utilisation.RESOURCE and skew.LABEL"
    raise InputError(f'"{name}" is not a column', hint=f"did you mean {close[0]}?" if close else known)


def split_utilisation(name: str) -> tuple[str, str]:
    """Split a column into the resource and the statistic over nodes, which is empty for all nodes together.

    >>> split_utilisation("utilisation.nvidia.com/gpu.max"), split_utilisation("utilisation.cpu")
    (('nvidia.com/gpu', 'max'), ('cpu', ''))
    """
    rest = name.removeprefix(UTILISATION)
    resource, _, last = rest.rpartition(".")
    return (resource, last) if resource and last in STATISTICS else (rest, "")


#: The number of decimal places to which numbers are rounded.
_DIGITS: Final = 6
Number = int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """The result of an analysis."""

    #: The cluster at the end of the analysis.
    cluster: Cluster
    #: The Kubernetes release whose rules apply.
    release: Release
    #: The columns that the analysis itself provides.
    own: dict[str, Number | None]
    #: The pods that were to be scheduled.
    pods: tuple[ObjectMeta, ...] = ()
    #: The reasons why the cluster's own scheduler may decide differently.
    doubts: tuple[str, ...] = field(default=())


def measure(answered: CaseResult, columns: Iterable[str]) -> dict[str, Number | None]:
    """Return the numbers of columns, rounded to 6 decimal places.

    A number is ``None`` if there is nothing to measure, such as the utilisation of a resource that no node has.
    """
    return {column: _measured(answered, column) for column in columns}


def _measured(answered: CaseResult, column: str) -> Number | None:
    if column in answered.own:
        return _rounded(answered.own[column])
    if column == "nodes":
        return len(answered.cluster.nodes)
    if column == "nodesUsed":
        used: set[int] = set()
        for record, row in zip(answered.cluster.pods.records, answered.cluster.pods.node_row.tolist(), strict=True):
            if row >= 0 and row not in used:
                owner = record.metadata.controller
                if owner is None or owner.kind not in NODE_BOUND:
                    used.add(row)
        return len(used)
    if column.startswith(UTILISATION):
        return _rounded(_utilisation(answered, *split_utilisation(column)))
    key = column.removeprefix(SKEW)
    return _skew(answered, DOMAINS.get(key, key))


def _rounded(number: Number | None) -> Number | None:
    return round(number, _DIGITS) if isinstance(number, float) else number


def _utilisation(answered: CaseResult, resource: str, statistic: str) -> float | None:
    columns = answered.cluster.resources(RequestRules.of(answered.release))
    index = columns.index.get(resource)
    if index is None:
        return None
    offered, requested = columns.allocatable[index], columns.requested[index]
    has = offered > 0
    if not has.any():
        return None
    if not statistic:
        return int(requested.sum()) / int(offered.sum())
    shares = requested[has] / offered[has]
    return float({"min": shares.min(), "max": shares.max(), "mean": shares.mean()}.get(statistic, shares.std()))


def _skew(answered: CaseResult, label: str) -> int | None:
    """Return the largest skew of a workload over the label's values; ``None`` without values or workloads.

    The skew is the largest number of the workload's pods in a domain minus the smallest. Pods without a controller and
    pods of DaemonSets do not count.
    """
    cluster = answered.cluster
    wanted = {workload_of(cluster, pod) for pod in answered.pods if pod.controller is not None}
    wanted = {workload for workload in wanted if workload[0] != "DaemonSet"}
    labels = (node.metadata.labels for node in cluster.nodes.objects)
    domains = [zone_of(own) if label == ZONE else own.get(label, "") for own in labels]
    every = sorted({domain for domain in domains if domain})
    if not wanted or not every:
        return None
    namespaces = {namespace for _, namespace, _ in wanted}
    counts: dict[tuple[str, str, str], Counter[str]] = {workload: Counter() for workload in wanted}
    owners: dict[tuple[str, str, str], tuple[str, str, str]] = {}
    pods = cluster.pods
    for record, row in zip(pods.records, pods.node_row.tolist(), strict=True):
        metadata = record.metadata
        if row < 0 or metadata.namespace not in namespaces or not domains[row]:
            continue
        owner = metadata.controller
        if owner is None:
            continue
        key = (owner.kind, metadata.namespace, owner.name)
        workload = owners.get(key)
        if workload is None:
            workload = owners[key] = workload_of(cluster, metadata)
        if workload in counts:
            counts[workload][domains[row]] += 1
    return max(max(own[domain] for domain in every) - min(own[domain] for domain in every) for own in counts.values())
