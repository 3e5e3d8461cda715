"""The registry of documents: the function that lays out each kind of answer, a cluster or a simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final, cast

from kschedctl.common.frames import ShownInNotebooks
from kschedctl.common.wording import counted, listed
from kschedctl.questions.answer import AnswerList, AnswerStream
from kschedctl.questions.document import Document, Paragraph, Tone
from kschedctl.questions.explain.document import stream_document
from kschedctl.questions.face import SchedulingCluster
from kschedctl.questions.frame import View, one_by_one
from kschedctl.questions.nodes.document import overview_document
from kschedctl.trials.simulate.simulated_cluster import pending_pods

#: The module below this package and the function in it, by the name of the type. Lists without an entry are
#: laid out item by item.
_DOCUMENTS: Final[Mapping[str, tuple[str, str]]] = {
    "BudgetDescription": ("inventory", "budget_document"),
    "BudgetsOverview": ("inventory", "budgets_document"),
    "CapacityList": ("capacity", "list_document"),
    "ClaimVolumes": ("volumes", "document"),
    "ClusterSummary": ("inventory", "cluster_document"),
    "DaemonSetExplanation": ("explain.daemon_set", "document"),
    "DevicesOverview": ("devices", "overview_document"),
    "DeviceSupply": ("devices", "supply_document"),
    "Diff": ("diff", "document"),
    "Drained": ("drain", "document"),
    "Emptied": ("consolidation", "emptied_document"),
    "Explanation": ("explain.text", "document"),
    "ExplanationSummary": ("explain.many", "document"),
    "LeaderOverview": ("leader", "overview_document"),
    "LeaderSimulation": ("leader_simulation", "simulation_document"),
    "LintReport": ("lint", "document"),
    "NodeDescription": ("nodes", "description_document"),
    "NodesOverview": ("nodes", "overview_document"),
    "Optimum": ("optimum", "document"),
    "Pending": ("pending", "document"),
    "PodCapacity": ("capacity", "document"),
    "PodVolumes": ("volumes", "document"),
    "PodsOverview": ("inventory", "pods_document"),
    "Preemption": ("preempt", "document"),
    "PreemptionList": ("preempt", "list_document"),
    "Purchased": ("purchase", "purchase_document"),
    "RolledOut": ("rollout", "document"),
    "RulePages": ("rule", "document"),
    "SchedulingCluster": ("cluster", "document"),
    "SearchResults": ("inventory", "search_document"),
    "Simulated": ("simulate", "document"),
    "Simulation": ("simulation", "document"),
    "SnapshotInfo": ("snapshot", "document"),
    "Sweep": ("sweep", "document"),
    "Threat": ("threat", "threat_document"),
    "Verification": ("verify", "document"),
    "VolumesList": ("volumes", "list_document"),
    "WorkloadDescription": ("inventory", "workload_document"),
    "WorkloadsOverview": ("inventory", "workloads_document"),
}


def layout_of(kind: type) -> Callable[[Any, View], Document] | None:
    """Return the function that lays out objects of a type, or of a type that it derives from; ``None`` if none does."""
    found = next((_DOCUMENTS[base.__name__] for base in kind.__mro__ if base.__name__ in _DOCUMENTS), None)
    if found is None:
        return None
    module, function = found
    return cast(
        "Callable[[Any, View], Document]",
        getattr(import_module(f"kschedctl.questions.presentation.{module}"), function),
    )


def document(answer: ShownInNotebooks | AnswerStream[Any], view: View) -> Document:
    """Lay out an answer, a cluster or a simulation, or the answers of a stream as they become available."""
    if isinstance(answer, AnswerStream):
        yield from stream_document(answer, view, document)
        return
    lay_out = layout_of(type(answer))
    if lay_out is not None:
        yield from lay_out(answer, view)
        return
    assert isinstance(answer, AnswerList), f"no document of {type(answer).__name__}"
    yield from one_by_one(answer.answers, view, document)


# The document of a loaded cluster, which notebooks show: its pending pods, and the overview of its nodes.

#: The number of pending pods that are named.
_FEW: Final = 5


def cluster_document(cluster: SchedulingCluster, view: View) -> Document:
    """Lay out the state of a cluster; nothing is simulated, so that a large cluster is shown at once."""
    pending = [cluster.pods.key(index) for index in pending_pods(cluster.cluster)]
    if pending:
        verb = "is" if len(pending) == 1 else "are"
        of = f"{len(pending)} of {counted(len(cluster.pods), 'pod')} {verb} pending"
        yield Paragraph(f"{of}: {listed(pending, most=_FEW)}", Tone.MIXED)
    else:
        yield Paragraph("no pod is pending", Tone.GOOD)
    yield from overview_document(cluster.nodes_overview(), view)
