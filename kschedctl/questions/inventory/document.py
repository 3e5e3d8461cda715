"""The documents of lists of objects: pods, workloads, disruption budgets and search."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kschedctl.questions.document import GAP, Document, Heading, Paragraph, Tone, table
from kschedctl.questions.frame import View, cautions, first_line, header
from kschedctl.questions.inventory.answer import (
    BudgetDescription,
    BudgetsOverview,
    ClusterSummary,
    PodItem,
    PodsOverview,
    SearchResults,
    WorkloadDescription,
    WorkloadsOverview,
)


def cluster_document(answer: ClusterSummary, view: View) -> Document:
    """Lay out the size of a cluster."""
    yield from first_line(answer, answer.summary, heading=("Cluster",))
    yield from header(answer, view.now)
    yield GAP
    yield table(("kind", "objects"), [(kind, str(number)) for kind, number in answer.kinds.items()], numeric=(1,))
    yield from cautions(answer)


class _Columns(NamedTuple):
    """The table of objects of one kind: its headings, and the cells of an object."""

    headings: tuple[str, ...]
    cells: Callable[[Any], tuple[str, ...]]
    numeric: tuple[int, ...] = ()
    identifiers: tuple[int, ...] = (0,)


#: The tables by the name of the field of an answer that has the objects.
_COLUMNS: Final[Mapping[str, _Columns]] = {
    "pods": _Columns(
        ("pod", "node", "state", "workload"),
        lambda pod: (pod.key, pod.node or "-", _state(pod), pod.workload or "-"),
        identifiers=(0, 1, 3),
    ),
    "workloads": _Columns(
        ("workload", "wanted", "on nodes", "pending", "nodes"),
        lambda item: (
            item.ref,
            "-" if item.wanted is None else str(item.wanted),
            *map(str, (item.on_nodes, item.pending, item.nodes)),
        ),
        numeric=(1, 2, 3, 4),
    ),
    "budgets": _Columns(
        ("budget", "limit", "allowed", "healthy", "desired", "expected", "selected"),
        lambda item: (
            item.key,
            item.limit or "-",
            *map(str, (item.allowed, item.healthy, item.desired, item.expected, item.selected)),
        ),
        numeric=(2, 3, 4, 5, 6),
    ),
    "objects": _Columns(
        ("kind", "namespace", "name"), lambda item: (item.kind, item.namespace or "-", item.name), identifiers=(1, 2)
    ),
}


#: The headings of the lists.
_HEADINGS: Final = {"pods": "Pods", "workloads": "Workloads", "budgets": "Disruption budgets", "objects": "Search"}


def _objects_table(what: str, items: Sequence[Any], total: int) -> Document:
    if items:
        columns = _COLUMNS[what]
        rows = map(columns.cells, items)
        yield GAP
        yield table(columns.headings, rows, numeric=columns.numeric, identifiers=columns.identifiers)
    if items and total > len(items):
        yield Paragraph(f"and {total - len(items):,} more {what}", Tone.FAINT)


def list_document(answer: PodsOverview | WorkloadsOverview | BudgetsOverview, view: View) -> Document:
    """Lay out a list of pods, workloads or disruption budgets."""
    what = next(name for name in _COLUMNS if hasattr(answer, name))
    yield from first_line(answer, answer.summary, heading=(_HEADINGS[what],))
    yield from header(answer, view.now)
    yield from _objects_table(what, getattr(answer, what), answer.total)
    yield from cautions(answer)


def workload_document(answer: WorkloadDescription, view: View) -> Document:
    """Lay out a workload and its pods."""
    yield from first_line(
        answer, answer.summary, Tone.BAD if answer.workload.pending else Tone.PLAIN, (answer.workload.ref,)
    )
    yield from header(answer, view.now)
    for what, names in (("Disruption budgets", answer.budgets), ("Claims", answer.claims)):
        if names:
            yield Heading(what)
            yield table(("name",), [(name,) for name in names], identifiers=(0,))
    yield Heading("Pods")
    yield from _objects_table("pods", answer.pods, answer.total)
    yield from cautions(answer)


def budget_document(answer: BudgetDescription, view: View) -> Document:
    """Lay out a disruption budget and its pods."""
    blocks = not answer.budget.allowed and answer.budget.selected
    yield from first_line(answer, answer.summary, Tone.BAD if blocks else Tone.PLAIN, (f"Budget {answer.budget.key}",))
    if answer.budget.problem:
        yield Paragraph(f"It allows no eviction at all: {answer.budget.problem}")
    yield from header(answer, view.now)
    yield from _objects_table("budgets", (answer.budget,), 1)
    yield Heading("Pods")
    yield from _objects_table("pods", answer.pods, answer.total)
    yield from cautions(answer)


def search_document(answer: SearchResults, view: View) -> Document:
    """Lay out the objects that a search found."""
    yield from first_line(answer, answer.summary, heading=(_HEADINGS["objects"],))
    yield from _objects_table("objects", answer.items, answer.total)
    yield from cautions(answer)


def _state(pod: PodItem) -> str:
    if pod.terminating:
        return "terminating"
    if pod.node:
        return "bound"
    return f"pending, nominated to {pod.nominated_node}" if pod.nominated_node else "pending"
