"""A builder that collects objects one by one, as a reader yields them, and creates a ``Cluster``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from msgspec.structs import replace

from kschedctl.api.core import Node
from kschedctl.api.defaults import DEFAULT_NAMESPACE, default_object
from kschedctl.api.meta import ApiObject, LabelSelector
from kschedctl.api.pod import Pod
from kschedctl.api.quantity import QUANTITY_HINT, QuantityError
from kschedctl.api.resources import parse_resources
from kschedctl.api.selectors import SelectorError, parse_label_selector
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.interning import PodInterner
from kschedctl.cluster.nodes import Nodes
from kschedctl.cluster.pods import Pods
from kschedctl.cluster.records import PodRecord
from kschedctl.cluster.unread_objects import Unread
from kschedctl.errors import SnapshotError
from kschedctl.findings.finding import Place, Subject

_FINISHED = frozenset({"Succeeded", "Failed"})


class ClusterBuilder:
    """A collector of a cluster's objects. A later object replaces one of the same kind and name, with a warning."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.unread: list[Unread] = []
        self.listed: dict[str, str] = {}
        self.not_listed: set[str] = set()
        self._nodes: dict[str, Node] = {}
        self._pods: dict[tuple[str, str], PodRecord] = {}
        self._objects: dict[type[ApiObject], dict[tuple[str, str], ApiObject]] = {}
        self._places: dict[tuple[type[ApiObject], str, str], Place] = {}
        self._interner = PodInterner()

    def add(self, obj: ApiObject, place: Place = "") -> None:
        """Add an object.

        Parameters
        ----------
        obj : ApiObject
            An object of any kind that scheduling depends on.
        place : Location or str
            The location it was read from, for warnings and errors.

        Raises
        ------
        SnapshotError
            If a quantity or a selector of the object is invalid.
        """
        if type(obj) is Pod:
            with _errors_at(place, obj):
                self._add_pod(obj, place)
            return
        if type(obj) is Node:
            with _errors_at(place, obj):
                parse_resources(obj.status.allocatable, "status.allocatable")
            self._note(obj, place)
            self._nodes[obj.name] = obj
            return
        obj = default_object(obj)
        self._warn_of_selector(obj)
        self._note(obj, place)
        self._objects.setdefault(type(obj), {})[obj.namespace, obj.name] = obj

    def build(
        self, *, server_version: str = "", taken_at: datetime | None = None, dated_by_files: bool = False
    ) -> Cluster:
        """Return the cluster of all objects added so far."""
        nodes = Nodes(tuple(self._nodes.values()))
        pods = Pods(tuple(self._pods.values()), self._interner.classes, nodes)
        return Cluster(
            nodes,
            pods,
            self._objects,
            server_version=server_version,
            taken_at=taken_at,
            dated_by_files=dated_by_files,
            warnings=self.warnings,
            unread=self.unread,
            listed=self.listed,
            not_listed=self.not_listed,
        )

    def _note(self, obj: ApiObject, place: Place) -> None:
        key = (type(obj), obj.namespace, obj.name)
        earlier = self._places.get(key)
        if earlier is not None and place != "":
            name = f"{obj.namespace}/{obj.name}" if obj.namespace else obj.name
            self.warnings.append(f"{type(obj).__name__} {name} is in {earlier} and again in {place}; the later counts")
        if place != "":
            self._places[key] = place

    def _warn_of_selector(self, obj: ApiObject) -> None:
        """Warn if a controller or disruption budget has an invalid selector: the scheduler ignores such an object."""
        selector = getattr(getattr(obj, "spec", None), "selector", None)
        if isinstance(selector, LabelSelector):
            try:
                parse_label_selector(selector)
            except SelectorError as error:
                self.warnings.append(f"{obj.ref} is ignored: spec.selector.{error.path}: {error}")

    def _add_pod(self, pod: Pod, place: Place) -> None:
        if not pod.namespace:
            pod = replace(pod, metadata=replace(pod.metadata, namespace=DEFAULT_NAMESPACE))
        self._note(pod, place)
        # Removed first, so that a duplicate takes its own position in the order of the snapshot.
        self._pods.pop((pod.namespace, pod.name), None)
        if pod.status.phase not in _FINISHED:
            self._pods[pod.namespace, pod.name] = self._interner.record(pod)


@contextmanager
def _errors_at(place: Place, obj: ApiObject) -> Iterator[None]:
    """Add the location of the object to errors about an invalid quantity or selector."""
    try:
        yield
    except (QuantityError, SelectorError) as error:
        raise SnapshotError(
            str(error),
            where=Subject(place, obj.ref),
            path=error.path,
            hint=QUANTITY_HINT if isinstance(error, QuantityError) else "",
        ) from None
