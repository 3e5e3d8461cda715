"""The addresses of pages: of the objects that texts name, and of the next questions of documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final
from weakref import WeakKeyDictionary

from kschedctl.cluster.cluster import Cluster
from kschedctl.controllers.workloads.ownership import MAKERS
from kschedctl.objects.volume import PersistentVolumeClaim
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.questions.document import Question
from kschedctl.questions.inventory.analysis import pods_by_workload
from kschedctl.web.pages.visit import Visit, path_of

#: The pages of kinds, by kind; those of workloads have the kind in their path.
_PAGES: Final[Mapping[str, str]] = {
    "Pod": "pods",
    "Node": "nodes",
    "PersistentVolumeClaim": "claims",
    "PodDisruptionBudget": "budgets",
    **dict.fromkeys((kind.__name__ for kind in MAKERS), "workloads"),
}
#: The pages that answer a command, and the parameter for the object that it is about, if that is not in the path.
_COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "capacity": ("/capacity", "pod"),
    "drain": ("/drain", "node"),
    "nodes": ("/nodes", ""),
    "pending": ("/pending", ""),
    "simulate": ("/simulate", ""),
}
#: The options of next questions that pages have as parameters.
_OPTIONS: Final = frozenset(
    (
        "by",
        "ignore_daemonsets",
        "node",
        "output",
        "place_pending_first",
        "prefer",
        "sampling",
        "sort_by",
        "why",
        "withstand",
    )
)
_workloads: WeakKeyDictionary[Cluster, frozenset[tuple[str, str, str]]] = WeakKeyDictionary()


class Links:
    """The addresses of pages about a cluster, with the what-ifs of a visit.

    Parameters
    ----------
    visit : Visit
        The visit.
    cluster : Cluster
        The cluster; only its objects have addresses.
    prefer : str
        The kind of a name that several objects have; pods by default.
    """

    def __init__(self, visit: Visit, cluster: Cluster, prefer: str = "Pod") -> None:
        self._visit = visit
        self._cluster = cluster
        self._kinds = tuple(dict.fromkeys((prefer, "Pod", "PersistentVolumeClaim", "PodDisruptionBudget")))

    def __call__(self, text: str) -> str:
        """Return the address of the page about an object, by its name as answers write it; empty if there is none.

        Nodes have one word, pods, claims and budgets ``namespace/name``, and workloads ``Deployment namespace/name``.
        """
        kind, space, key = text.rpartition(" ")
        namespace, slash, name = key.partition("/")
        if not slash:
            return "" if space else self.of("Node", "", text)
        for each in (kind,) if space else self._kinds:
            if address := self.of(each, namespace, name):
                return address
        return ""

    def of(self, kind: str, namespace: str, name: str) -> str:
        """Return the address of the page about an object; empty if the kind has none, or the object does not exist."""
        page = _PAGES.get(kind, "")
        if not page or not self._exists(kind, namespace, name):
            return ""
        parts = (name,) if kind == "Node" else (namespace, name)
        path = path_of(page, kind, *parts) if page == "workloads" else path_of(page, *parts)
        return self._visit.address(path) if path else ""

    def question(self, question: Question) -> str:
        """Return the address of the page that answers a next question; empty if there is none."""
        values = tuple(_values(question))
        if len(values) < sum(value is not None for value in question.options.values()) or question.snapshot:
            return ""
        page = self(question.about) if question.about else ""
        match question.command:
            case "explain" | "preempt" | "volumes":
                address = page
            case "nodes" if question.about:
                address = page
            case command if command in _COMMANDS:
                path, parameter = _COMMANDS[command]
                values = (((parameter, question.about),) if question.about and parameter else ()) + values
                address = self._visit.address(path)
            case _:
                address = ""
        if not address:
            return ""
        full = self._visit.address(address.partition("?")[0], values)
        return "" if full == self._visit.here else full

    def _exists(self, kind: str, namespace: str, name: str) -> bool:
        cluster = self._cluster
        match kind:
            case "Node":
                return name in cluster.nodes.row
            case "Pod":
                return (namespace, name) in cluster.pods.index
            case "PersistentVolumeClaim":
                return cluster.get(PersistentVolumeClaim, name, namespace) is not None
            case "PodDisruptionBudget":
                return cluster.get(PodDisruptionBudget, name, namespace) is not None
            case _:
                return (kind, namespace, name) in _workloads_of(cluster)


def _workloads_of(cluster: Cluster) -> frozenset[tuple[str, str, str]]:
    found = _workloads.get(cluster)
    if found is None:
        found = _workloads[cluster] = frozenset(pods_by_workload(cluster))
    return found


def _values(question: Question) -> Iterator[tuple[str, str]]:
    """Yield the options of a question as parameters of a page."""
    for name, value in question.options.items():
        if name not in _OPTIONS or value is None:
            continue
        every = value if isinstance(value, tuple) else (value,)
        for one in every:
            yield name.replace("_", "-"), "true" if one is True else str(one)
