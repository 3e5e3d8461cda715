"""The documents of lists of objects: pods, workloads, disruption budgets and search."""

from collections.abc import Sequence

from kschedctl.questions.document import GAP, Document, Heading, Paragraph, Table, Tone, table
from kschedctl.questions.frame import View, cautions, first_line, header
from kschedctl.questions.inventory.answer import (
    BudgetDescription,
    BudgetItem,
    BudgetsOverview,
    ClusterSummary,
    PodItem,
    PodsOverview,
    SearchResults,
    WorkloadDescription,
    WorkloadItem,
    WorkloadsOverview,
)


def cluster_document(answer: ClusterSummary, view: View) -> Document:
    """Lay out the size of a cluster."""
    yield from first_line(answer, answer.summary)
    yield from header(answer, view.now)
    yield GAP
    yield table(("kind", "objects"), [(kind, str(number)) for kind, number in answer.kinds.items()], numeric=(1,))
    yield from cautions(answer)


def pods_document(answer: PodsOverview, view: View) -> Document:
    """Lay out a list of pods."""
    yield from first_line(answer, answer.summary)
    yield from header(answer, view.now)
    yield from _pods_table(answer.pods, answer.total)
    yield from cautions(answer)


def workloads_document(answer: WorkloadsOverview, view: View) -> Document:
    """Lay out a list of workloads."""
    yield from first_line(answer, answer.summary)
    yield from header(answer, view.now)
    if answer.workloads:
        yield from (GAP, _workloads(answer.workloads))
        yield from _beyond(len(answer.workloads), answer.total, "workloads")
    yield from cautions(answer)


def workload_document(answer: WorkloadDescription, view: View) -> Document:
    """Lay out a workload and its pods."""
    yield from first_line(answer, answer.summary, Tone.BAD if answer.workload.pending else Tone.PLAIN)
    yield from header(answer, view.now)
    for what, names in (("Disruption budgets", answer.budgets), ("Claims", answer.claims)):
        if names:
            yield Heading(what)
            yield table(("name",), [(name,) for name in names], identifiers=(0,))
    yield Heading("Pods")
    yield from _pods_table(answer.pods, answer.total)
    yield from cautions(answer)


def budgets_document(answer: BudgetsOverview, view: View) -> Document:
    """Lay out a list of disruption budgets."""
    yield from first_line(answer, answer.summary)
    yield from header(answer, view.now)
    if answer.budgets:
        yield from (GAP, _budgets(answer.budgets))
        yield from _beyond(len(answer.budgets), answer.total, "budgets")
    yield from cautions(answer)


def budget_document(answer: BudgetDescription, view: View) -> Document:
    """Lay out a disruption budget and its pods."""
    blocks = not answer.budget.allowed and answer.budget.selected
    yield from first_line(answer, answer.summary, Tone.BAD if blocks else Tone.PLAIN)
    if answer.budget.problem:
        yield Paragraph(f"It allows no eviction at all: {answer.budget.problem}")
    yield from header(answer, view.now)
    yield from (GAP, _budgets((answer.budget,)))
    yield Heading("Pods")
    yield from _pods_table(answer.pods, answer.total)
    yield from cautions(answer)


def search_document(answer: SearchResults, view: View) -> Document:
    """Lay out the objects that a search found."""
    yield from first_line(answer, answer.summary)
    if answer.items:
        yield GAP
        rows = [(item.kind, item.namespace or "-", item.name) for item in answer.items]
        yield table(("kind", "namespace", "name"), rows, identifiers=(1, 2))
        yield from _beyond(len(answer.items), answer.total, "objects")
    yield from cautions(answer)


def _pods_table(pods: Sequence[PodItem], total: int) -> Document:
    if not pods:
        return
    yield GAP
    rows = [(pod.key, pod.node or "-", _state(pod), pod.workload or "-") for pod in pods]
    yield table(("pod", "node", "state", "workload"), rows, identifiers=(0, 1, 3))
    yield from _beyond(len(pods), total, "pods")


def _state(pod: PodItem) -> str:
    if pod.terminating:
        return "terminating"
    if pod.node:
        return "bound"
    return f"pending, nominated to {pod.nominated_node}" if pod.nominated_node else "pending"


def _workloads(items: Sequence[WorkloadItem]) -> Table:
    rows = [
        (
            item.ref,
            "-" if item.wanted is None else str(item.wanted),
            str(item.on_nodes),
            str(item.pending),
            str(item.nodes),
        )
        for item in items
    ]
    headings = ("workload", "wanted", "on nodes", "pending", "nodes")
    return table(headings, rows, numeric=(1, 2, 3, 4), identifiers=(0,))


def _budgets(items: Sequence[BudgetItem]) -> Table:
    rows = [
        (
            item.key,
            item.limit or "-",
            *map(str, (item.allowed, item.healthy, item.desired, item.expected, item.selected)),
        )
        for item in items
    ]
    headings = ("budget", "limit", "allowed", "healthy", "desired", "expected", "selected")
    return table(headings, rows, numeric=(2, 3, 4, 5, 6), identifiers=(0,))


def _beyond(shown: int, total: int, what: str) -> Document:
    if total > shown:
        yield Paragraph(f"and {total - shown:,} more {what}", Tone.FAINT)
