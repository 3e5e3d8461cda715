"""The registry of documents: the function that lays out each kind of answer, a cluster or a simulation."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final, cast

from kschedctl.common.frames import ShownInNotebooks
from kschedctl.common.text.patterns import pattern
from kschedctl.questions.answer import NONE_PENDING, AnswerList, AnswerStream
from kschedctl.questions.document import Document, Paragraph, Tone
from kschedctl.questions.frame import View, one_by_one

_OF_QUESTION: Final = pattern(r"kschedctl\.questions\.(\w+)\.answer")
#: The question whose ``document`` module has the function, and the function, by the name of the type; by default
#: ``document`` of the question that has the answer. Lists without an entry are laid out item by item.
_DOCUMENTS: Final[Mapping[str, tuple[str, str]]] = {
    "BudgetDescription": ("inventory", "budget_document"),
    "BudgetsOverview": ("inventory", "list_document"),
    "CapacityList": ("capacity", "list_document"),
    "ClusterSummary": ("inventory", "cluster_document"),
    "DaemonSetExplanation": ("explain", "daemon_set_document"),
    "DevicesOverview": ("devices", "overview_document"),
    "DeviceSupply": ("devices", "supply_document"),
    "Emptied": ("optimum", "emptied_document"),
    "ExplanationSummary": ("explain", "many_document"),
    "LeaderOverview": ("leader", "overview_document"),
    "LeaderSimulation": ("leader", "simulation_document"),
    "NodeDescription": ("nodes", "description_document"),
    "NodesOverview": ("nodes", "overview_document"),
    "PodsOverview": ("inventory", "list_document"),
    "PreemptionList": ("preempt", "list_document"),
    "Purchased": ("optimum", "purchase_document"),
    "RulePages": ("lint", "rule_document"),
    "SchedulingCluster": ("nodes", "loaded_cluster_document"),
    "SearchResults": ("inventory", "search_document"),
    "Simulation": ("simulate", "simulation_document"),
    "Threat": ("preempt", "threat_document"),
    "VolumesList": ("volumes", "list_document"),
    "WorkloadDescription": ("inventory", "workload_document"),
    "WorkloadsOverview": ("inventory", "list_document"),
}


def layout_of(kind: type) -> Callable[[Any, View], Document] | None:
    """Return the function that lays out objects of a type, or of a type that it derives from; ``None`` if none does."""
    found = next((_DOCUMENTS[base.__name__] for base in kind.__mro__ if base.__name__ in _DOCUMENTS), None)
    if found is None:
        own = _OF_QUESTION.fullmatch(kind.__module__)
        if own is None or issubclass(kind, AnswerList):
            return None
        found = own[1], "document"
    module, function = found
    return cast(
        "Callable[[Any, View], Document]", getattr(import_module(f"kschedctl.questions.{module}.document"), function)
    )


def document(answer: ShownInNotebooks | AnswerStream[Any], view: View) -> Document:
    """Lay out an answer, a cluster or a simulation, or the answers of a stream as they become available."""
    if answer.total == 0 if isinstance(answer, AnswerStream) else isinstance(answer, AnswerList) and not answer.answers:
        yield Paragraph(NONE_PENDING, Tone.GOOD, heading=("Pods",))
        return
    if isinstance(answer, AnswerStream):
        from kschedctl.questions.explain.document import stream_document

        yield from stream_document(answer, view, document)
        return
    lay_out = layout_of(type(answer))
    if lay_out is not None:
        yield from lay_out(answer, view)
        return
    assert isinstance(answer, AnswerList), f"no document of {type(answer).__name__}"
    yield from one_by_one(answer.answers, view, document)
