"""A cluster at one point in time, as the scheduler sees it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from datetime import datetime
from functools import cached_property
from itertools import repeat
from typing import TypeVar, cast

import numpy as np
from msgspec import structs

from kschedctl.cluster.nodes import Nodes
from kschedctl.cluster.overlay import Numbering, Overlay, PodsInWorlds
from kschedctl.cluster.pods import Pods
from kschedctl.cluster.records import PodInterner
from kschedctl.cluster.requests import ResourceColumns
from kschedctl.cluster.unread_objects import Unread
from kschedctl.cluster.versions import Versions, next_version
from kschedctl.common.arrays import PodIndices, Rows
from kschedctl.common.wording import counted
from kschedctl.objects.core import Namespace, Node
from kschedctl.objects.meta import ApiObject, Labels
from kschedctl.objects.pod import Pod
from kschedctl.objects.resources import RequestRules

T = TypeVar("T", bound=ApiObject)
V = TypeVar("V")
ObjectMap = Mapping[type[ApiObject], Mapping[tuple[str, str], ApiObject]]


class Cluster:
    """A cluster: nodes and pods as columns, all other objects by kind and name. Immutable.

    Parameters
    ----------
    pods : Pods
        The pods that have not finished.
    objects : mapping
        All other objects: kind -> (namespace, name) -> object.
    server_version : str
        The control plane's version, such as ``v1.36.3``; empty if the snapshot does not contain it.
    taken_at : datetime, optional
        The time of the state, up to which ages are computed. Derived clusters have the same, whatever changes in them.
    warnings : iterable of str
        Warnings from reading the snapshot.
    unread : iterable of Unread
        Objects that seem to belong to the cluster and were not read.
    listed : mapping of str to str, optional
        The kinds of which every object was read: the only namespace that was listed, empty for all. If there is no
        object of such a kind, the cluster has none.
    not_listed : collection of str
        The kinds that the reader is not allowed to list in all namespaces.
    """

    def __init__(
        self,
        nodes: Nodes,
        pods: Pods,
        objects: ObjectMap,
        *,
        server_version: str = "",
        taken_at: datetime | None = None,
        warnings: Iterable[str] = (),
        unread: Iterable[Unread] = (),
        listed: Mapping[str, str] | None = None,
        not_listed: Collection[str] = (),
    ) -> None:
        self.nodes = nodes
        self.pods = pods
        self.server_version = server_version
        self.taken_at = taken_at
        self.warnings = tuple(warnings)
        self.unread = tuple(unread)
        self.listed = dict(listed or {})
        self.not_listed = frozenset(not_listed)
        self._objects = objects
        self._resources: dict[RequestRules, ResourceColumns] = {}
        #: The cluster that this one was derived from in any number of steps; itself if from none.
        self.origin = self
        #: A version number per kind, which changes with the objects of the kind.
        self._kind_versions = dict.fromkeys(objects, next_version())
        #: Values that other packages computed from nodes and objects, and their kinds (see ``derived``).
        self._derived: dict[tuple[type, Hashable], tuple[object, Collection[type[ApiObject]]]] = {}
        # The list is created here, so that all clusters derived from this one share its content.
        self._interner_of: list[PodInterner] = []

    def __repr__(self) -> str:
        parts = (counted(len(self.nodes), "node"), counted(len(self.pods), "pod"), self.server_version)
        return f"<Cluster: {', '.join(part for part in parts if part)}>"

    def get(self, kind: type[T], name: str, namespace: str = "") -> T | None:
        """Return the object of a kind and name, or ``None``."""
        return cast("T | None", self._objects.get(kind, {}).get((namespace, name)))

    def list(self, kind: type[T]) -> Collection[T]:
        """Return all objects of a kind, in the order of the snapshot."""
        return cast("Collection[T]", self._objects.get(kind, {}).values())

    def is_forbidden(self, kind: type[ApiObject] | str, namespace: str = "") -> bool:
        """Report whether the reader was not allowed to list a kind, in a namespace if one is given.

        An object of such a kind that the cluster does not have may exist all the same.
        """
        name = kind if isinstance(kind, str) else kind.__name__
        covered = self.listed.get(name)
        return name in self.not_listed and (covered is None or covered not in ("", namespace))

    @property
    def is_as_read(self) -> bool:
        """True unless the cluster was derived from another one, by a what-if or a step of a simulation."""
        return self.origin is self

    def overlay(self, rows: Rows | None = None, nominated: PodIndices | None = None) -> Overlay:
        """Return an overlay without changes, with a world for every node or for some nodes.

        Parameters
        ----------
        rows : ndarray of int64, shape (n_worlds,), optional
            The nodes; by default all.
        nominated : ndarray of int64, optional
            Nominated pods to count in the worlds of their nodes; by default none. Pods nominated to other nodes are
            ignored.
        """
        rows = self.nodes.rows if rows is None else rows
        if nominated is None or not len(nominated):
            return Overlay(self.pods, rows)
        kept, worlds = Numbering.of(rows, len(self.nodes)).find(self.pods.nominated_to(nominated))
        return Overlay(self.pods, rows, PodsInWorlds(rows, worlds, nominated[kept]))

    def resources(self, rules: RequestRules) -> ResourceColumns:
        """Return the allocatable resources of nodes and the requests of pods, under a release's rules."""
        # The columns may still be those of the cluster that this one was derived from.
        columns = self._resources.get(rules)
        if columns is None and self.origin is not self:
            # All other clusters that are derived from it will need them.
            columns = self.origin.resources(rules)
        if columns is None or not columns.are_of(self.nodes, self.pods):
            columns = columns.moved(self.nodes, self.pods) if columns is not None else None
            if columns is None:
                columns = ResourceColumns(self.nodes, self.pods, rules)
            self._resources[rules] = columns
        return columns

    def forget_sums(self) -> None:
        """Drop the resources of nodes and pods, of a state that was left behind; they are computed again if needed."""
        if self.origin is not self:
            self._resources.clear()

    def derived(self, kind: type[V], rules: Hashable, make: Callable[[], V], *, of: Collection[type[ApiObject]]) -> V:
        """Return a value that another package computes from nodes and objects, computed once per kind and rules.

        The value must not depend on pods. Derived clusters share it as long as nodes and those objects are the same.

        Parameters
        ----------
        kind : type
            The type of the value.
        rules : hashable
            Anything else that the value depends on.
        make : callable
            Computes the value.
        of : collection of type
            The kinds of objects that the value depends on.
        """
        found, _ = self._derived.get((kind, rules), (None, ()))
        if not isinstance(found, kind):
            found = make()
            self._derived[kind, rules] = found, of
        return found

    def kept(self, kind: type[V]) -> tuple[tuple[Hashable, V], ...]:
        """Return the values of a kind that ``derived`` has cached, each with its rules."""
        found = ((rules, made) for (of, rules), (made, _) in self._derived.items() if of is kind)
        return tuple((rules, made) for rules, made in found if isinstance(made, kind))

    def has(self, pod: Pod) -> bool:
        """Report whether the cluster has a pod equal in all fields that scheduling depends on, and in its node name.

        Raises
        ------
        QuantityError, SelectorError
            If a quantity or a selector of the pod is invalid; the error has the field's path.
        """
        record = self._interner.record(pod)
        index = self.pods.index.get(record.name)
        return index is not None and self.pods.records[index] == record

    def compacted(self) -> Cluster:
        """Return the same cluster rebuilt without data about deleted pods and nodes, with its pods sorted by name.

        Data that derived clusters share only grows: pod classes, label values, and everything computed from them. The
        returned cluster shares none of it with this one.
        """
        nodes = Nodes(self.nodes.objects)
        records = sorted(self.pods.records, key=lambda record: "/".join(record.name))
        class_ids = {class_id: i for i, class_id in enumerate(dict.fromkeys(record.class_id for record in records))}
        pods = Pods(
            [structs.replace(record, class_id=class_ids[record.class_id]) for record in records],
            [self.pods.classes[class_id] for class_id in class_ids],
            nodes,
        )
        return Cluster(
            nodes,
            pods,
            self._objects,
            server_version=self.server_version,
            taken_at=self.taken_at,
            warnings=self.warnings,
            unread=self.unread,
            listed=self.listed,
            not_listed=self.not_listed,
        )

    def with_pods(self, *, removed: Iterable[int] = (), added: Iterable[Pod] = ()) -> Cluster:
        """Return the cluster with some pods removed and others added.

        Parameters
        ----------
        removed : iterable of int
            Indices into ``pods``.
        added : iterable of Pod
            Pods with their node name set. A pod replaces an existing pod of the same name, and moves to the end of the
            list.
        """
        new = [self._interner.record(pod) for pod in added]
        gone = set(removed)
        if new:
            index = self.pods.index
            gone.update(there for record in new if (there := index.get(record.name)) is not None)
        return self._with(pods=self.pods.moved(np.array(sorted(gone), dtype=np.int64), new))

    def with_equal_pods(self, pods: Iterable[tuple[Pod, int]]) -> Cluster:
        """Return the cluster with new pods, each with copies that are counted but that no name leads to.

        Parameters
        ----------
        pods : iterable of tuple
            Pods with a node, each with the number of pods that are like it, itself included; only the last of them is
            found by its name, which no pod of the cluster has.
        """
        interner = self._interner
        new = [record for pod, number in pods for record in repeat(interner.record(pod), number)]
        return self._with(pods=self.pods.moved(np.zeros(0, dtype=np.int64), new))

    def with_copies(self, pod: Pod, nodes: Iterable[str]) -> Cluster:
        """Return the cluster with a copy of a pod on each of some nodes, under names that no pod can have."""
        own = self._interner.record(pod)
        copies = [
            structs.replace(own, metadata=structs.replace(own.metadata, name=f"{pod.name}\0{number}"), node_name=node)
            for number, node in enumerate(nodes, len(self.pods))
        ]
        return self._with(pods=self.pods.moved(np.zeros(0, dtype=np.int64), copies))

    def with_nodes(self, nodes: Iterable[Node]) -> Cluster:
        """Return the cluster with other nodes; pods on a removed node get the row ``LOST``."""
        rows = self.nodes.moved(tuple(nodes))
        return self._with(nodes=rows, pods=self.pods.on(rows))

    def with_objects(self, kind: type[T], objects: Iterable[T]) -> Cluster:
        """Return the cluster with other objects of a kind, which is neither Node nor Pod."""
        by_name = {(obj.namespace, obj.name): obj for obj in objects}
        return self._with(objects={**self._objects, kind: by_name}, changed=(kind,))

    def with_added(self, objects: Iterable[ApiObject]) -> Cluster:
        """Return the cluster with objects added or replaced by name, of kinds other than Node and Pod."""
        by_kind: dict[type[ApiObject], dict[tuple[str, str], ApiObject]] = {}
        for obj in objects:
            by_kind.setdefault(type(obj), {})[obj.namespace, obj.name] = obj
        more = {kind: {**self._objects.get(kind, {}), **own} for kind, own in by_kind.items()}
        return self._with(objects={**self._objects, **more}, changed=by_kind)

    def without(self, objects: Iterable[ApiObject]) -> Cluster:
        """Return the cluster without some of its objects, of kinds other than Node and Pod."""
        by_kind: dict[type[ApiObject], set[tuple[str, str]]] = {}
        for obj in objects:
            by_kind.setdefault(type(obj), set()).add((obj.namespace, obj.name))
        left = {
            kind: {name: obj for name, obj in self._objects.get(kind, {}).items() if name not in gone}
            for kind, gone in by_kind.items()
        }
        return self._with(objects={**self._objects, **left}, changed=by_kind)

    def at(self, moment: datetime) -> Cluster:
        """Return the same cluster as the state of another moment: one that is followed is that of now."""
        new = self._with()
        new.taken_at = moment
        return new

    def _with(
        self,
        *,
        nodes: Nodes | None = None,
        pods: Pods | None = None,
        objects: ObjectMap | None = None,
        changed: Iterable[type[ApiObject]] = (),
    ) -> Cluster:
        new = object.__new__(Cluster)
        new.__dict__.update(self.__dict__)
        new._resources = self._resources.copy()
        new.__dict__.pop("versions", None)
        if nodes is not None:
            new.nodes = nodes
        if pods is not None:
            new.pods = pods
        if objects is not None:
            new._objects = objects
            new._kind_versions = {**self._kind_versions, **dict.fromkeys(changed, next_version())}
            if Namespace in changed:
                new.__dict__.pop("namespace_labels", None)
        if nodes is not None and nodes is not self.nodes:
            new._derived = {}
        elif objects is not None:
            gone = set(changed)
            new._derived = {key: found for key, found in self._derived.items() if gone.isdisjoint(found[1])}
        # Classes are only added and never removed, so derived clusters can share them.
        return new

    @property
    def _interner(self) -> PodInterner:
        if not self._interner_of:
            self._interner_of.append(PodInterner.continuing(self.pods.class_table.all))
        return self._interner_of[0]

    @cached_property
    def versions(self) -> Versions:
        """Version numbers of the cluster's parts, for comparison with another cluster."""
        pods, nodes = self.pods, self.nodes
        return Versions(pods.version, pods.row_version, nodes.version, nodes.row_version, self._kind_versions)

    @property
    def kinds(self) -> tuple[type[ApiObject], ...]:
        """The kinds of objects besides nodes and pods."""
        return tuple(self._objects)

    @cached_property
    def namespace_labels(self) -> dict[str, Labels]:
        """The labels of every namespace object."""
        return {namespace.name: namespace.metadata.labels for namespace in self.list(Namespace)}
