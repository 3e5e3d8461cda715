"""The columns of the table: the quantities that can be measured in a case, with their descriptions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kschedctl.answers.sweep import Ask
from kschedctl.api.well_known import HOSTNAME, ZONE
from kschedctl.api.wording import similar
from kschedctl.errors import InputError

UTILISATION: Final = "utilisation."
SKEW: Final = "skew."
#: The statistics over the utilisation of the single nodes.
STATISTICS: Final = ("min", "max", "mean", "stdev")
#: Short names of labels.
DOMAINS: Final[Mapping[str, str]] = {"zone": ZONE, "hostname": HOSTNAME}

#: The columns that belong to one analysis, with their descriptions, by analysis.
OWN: Final[Mapping[Ask, Mapping[str, str]]] = {
    Ask.SIMULATE: {
        "pods": "how many pods were to be placed, those made again included",
        "placed": "how many of them got a node",
        "waiting": "how many wait in the end",
        "evicted": "how many pods were evicted for others",
        "attempts": "how many scheduling cycles it took",
        "seconds": "how long it took, by the cluster's clock",
    },
    Ask.EXPLAIN: {
        "pods": "how many pods were asked about, each by itself",
        "placed": "how many of them fit",
        "waiting": "how many do not",
        "feasibleNodes": "on how many nodes the pod fits that fits on the fewest",
        "score": "the mean of the pods' best scores; nothing where none fits",
    },
    Ask.CAPACITY: {
        "copies": "how many copies more fit",
        "nodesTaking": "how many nodes take any",
    },
    Ask.DRAIN: {
        "drained": "how many of the nodes can be drained",
        "evicted": "how many pods were evicted from them",
        "blocked": "how many pods budgets hold there for ever",
        "waiting": "how many pods wait in the end",
        "seconds": "how long it took, by the cluster's clock",
    },
}
#: The columns about the cluster at the end of the analysis. ``explain`` and ``capacity`` do not change the cluster.
OF_CLUSTER: Final[Mapping[str, str]] = {
    "nodes": "how many nodes there are",
    "nodesUsed": "how many of them have a pod that no DaemonSet and no file of theirs made",
    "utilisation.RESOURCE": "what is requested of a resource, of all that nodes offer: from 0 to 1",
    "utilisation.RESOURCE.min": "the same of the node with the smallest share; also `.max`, `.mean` and `.stdev`, "
    "over the nodes that offer any",
    "skew.LABEL": "how unevenly the pods of a workload are spread over the values of a node's label: the most in one "
    "less the fewest, of the workload that is worst, of those whose pods were to be placed; `skew.zone` and "
    "`skew.hostname` are short",
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
    known = f"of {ask} there are {', '.join(plain)}, utilisation.RESOURCE and skew.LABEL"
    raise InputError(f'"{name}" cannot be measured', hint=f"did you mean {close[0]}?" if close else known)


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
