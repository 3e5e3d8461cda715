"""A cluster at one moment, as the scheduler sees it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import TypeVar, cast

import numpy as np

from kschedctl.api.core import Namespace, Node
from kschedctl.api.meta import ApiObject, Labels
from kschedctl.api.pod import Pod
from kschedctl.api.resources import RequestRules
from kschedctl.api.wording import counted
from kschedctl.arrays import PodIndices, Rows
from kschedctl.cluster.interning import PodInterner
from kschedctl.cluster.nodes import Nodes
from kschedctl.cluster.overlay import Overlay
from kschedctl.cluster.pods import Pods
from kschedctl.cluster.requests import ResourceColumns
from kschedctl.cluster.unread_objects import Unread
from kschedctl.cluster.versions import Versions, next_version
from kschedctl.cluster.worlds import Numbering, PodsInWorlds

T = TypeVar("T", bound=ApiObject)
V = TypeVar("V")
ObjectMap = Mapping[type[ApiObject], Mapping[tuple[str, str], ApiObject]]


class Cluster:
    """Nodes and pods as columns, all other objects by kind and name. Never changed once built.

    Parameters
    ----------
    pods : Pods
        The pods that have not finished.
    objects : mapping
        All other objects: kind -> (namespace, name) -> object.
    server_version : str
        The control plane's version, such as ``v1.36.3``; empty where the snapshot does not tell.
    taken_at : datetime, optional
        When the snapshot was taken.
    warnings : iterable of str
        What the reading of the snapshot came across.
    unread : iterable of Unread
        What looks like part of the cluster and is not in it.
    not_listed : mapping of str to str, optional
        The kinds that the reader may not list, and what that means.
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
        not_listed: Mapping[str, str] | None = None,
    ) -> None:
        self.nodes = nodes
        self.pods = pods
        self.server_version = server_version
        self.taken_at = taken_at
        self.warnings = tuple(warnings)
        self.unread = tuple(unread)
        self.not_listed = dict(not_listed or {})
        self._objects = objects
        self._resources: dict[RequestRules, ResourceColumns] = {}
        #: Changes with the objects of a kind.
        self._kind_versions = dict.fromkeys(objects, next_version())
        #: What rooms above work out of nodes and objects.
        self._derived: dict[tuple[type, Hashable], tuple[object, Collection[type[ApiObject]]]] = {}
        # Made here, so that all clusters that are derived from this one share it.
        self._interner_of: list[PodInterner] = []

    def __repr__(self) -> str:
        parts = (counted(len(self.nodes), "node"), counted(len(self.pods), "pod"), self.server_version)
        return f"<Cluster: {', '.join(part for part in parts if part)}>"

    def get(self, kind: type[T], name: str, namespace: str = "") -> T | None:
        """The object of a kind and name, or ``None``."""
        return cast("T | None", self._objects.get(kind, {}).get((namespace, name)))

    def list(self, kind: type[T]) -> Iterable[T]:
        """All objects of a kind, in the order of the snapshot."""
        return cast("Iterable[T]", self._objects.get(kind, {}).values())

    def overlay(self, rows: Rows | None = None, nominated: PodIndices | None = None) -> Overlay:
        """An overlay without changes: a world for every node, or for some.

        Parameters
        ----------
        rows : ndarray of int64, shape (n_worlds,), optional
            The nodes; by default all.
        nominated : ndarray of int64, optional
            Nominated pods that count in the worlds of their nodes, by default none; those of other nodes do not count.
        """
        rows = self.nodes.rows if rows is None else rows
        if nominated is None or not len(nominated):
            return Overlay(self.pods, rows)
        kept, worlds = Numbering.of(rows, len(self.nodes)).find(self.pods.nominated_to(nominated))
        return Overlay(self.pods, rows, PodsInWorlds(rows, worlds, nominated[kept]))

    def resources(self, rules: RequestRules) -> ResourceColumns:
        """What nodes offer and pods request, under a release's rules."""
        # Those of the cluster that this one was derived from may be there.
        columns = self._resources.get(rules)
        if columns is None or not columns.are_of(self.nodes, self.pods):
            columns = columns.moved(self.nodes, self.pods) if columns is not None else None
            if columns is None:
                columns = ResourceColumns(self.nodes, self.pods, rules)
            self._resources[rules] = columns
        return columns

    def derived(self, kind: type[V], rules: Hashable, make: Callable[[], V], *, of: Collection[type[ApiObject]]) -> V:
        """What a room above works out of nodes and objects, made once per kind and rules; pods play no part in it.

        It goes along with derived clusters for as long as nodes and objects are the same.

        Parameters
        ----------
        kind : type
            What is made.
        rules : hashable
            What it depends on besides these.
        make : callable
            Makes it.
        of : collection of type
            The kinds of objects that it is worked out of.
        """
        found, _ = self._derived.get((kind, rules), (None, ()))
        if not isinstance(found, kind):
            found = make()
            self._derived[kind, rules] = found, of
        return found

    def kept(self, kind: type[V]) -> tuple[tuple[Hashable, V], ...]:
        """What ``derived`` has made of a kind so far, with the rules of each."""
        found = ((rules, made) for (of, rules), (made, _) in self._derived.items() if of is kind)
        return tuple((rules, made) for rules, made in found if isinstance(made, kind))

    def has(self, pod: Pod) -> bool:
        """Whether a pod is there that is the same as far as scheduling reads it; what it names its node by included.

        Raises
        ------
        QuantityError, SelectorError
            With the field's path, where a quantity or a selector of the pod is not one.
        """
        record = self._interner.record(pod)
        index = self.pods.index.get(record.name)
        return index is not None and self.pods.records[index] == record

    def compacted(self) -> Cluster:
        """The same cluster built anew, without what is left of pods and nodes that are gone; its pods by name.

        What clusters that are derived from one another share only grows: classes of pods, values of labels, whatever
        was worked out for them. Nothing of it is shared with this one.
        """
        nodes = Nodes(self.nodes.objects)
        records = sorted(self.pods.records, key=lambda record: "/".join(record.name))
        class_ids = {class_id: i for i, class_id in enumerate(dict.fromkeys(record.class_id for record in records))}
        pods = Pods(
            [replace(record, class_id=class_ids[record.class_id]) for record in records],
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
            not_listed=self.not_listed,
        )

    def with_pods(self, *, removed: Iterable[int] = (), added: Iterable[Pod] = ()) -> Cluster:
        """The cluster with some pods gone and others there.

        Parameters
        ----------
        removed : iterable of int
            Indices into ``pods``.
        added : iterable of Pod
            Pods that name their node; one with the name of a pod that is there takes its place, behind the others.
        """
        new = [self._interner.record(pod) for pod in added]
        gone = set(removed)
        if new:
            index = self.pods.index
            gone.update(there for record in new if (there := index.get(record.name)) is not None)
        pods = self.pods.moved(np.array(sorted(gone), dtype=np.int64), new)
        return self._with(pods=pods)

    def with_nodes(self, nodes: Iterable[Node]) -> Cluster:
        """The cluster with other nodes; pods on a node that is gone are lost."""
        rows = self.nodes.moved(tuple(nodes))
        return self._with(nodes=rows, pods=self.pods.on(rows))

    def with_objects(self, kind: type[T], objects: Iterable[T]) -> Cluster:
        """The cluster with other objects of a kind that is neither Node nor Pod."""
        by_name = {(obj.namespace, obj.name): obj for obj in objects}
        return self._with(objects={**self._objects, kind: by_name}, changed=(kind,))

    def with_added(self, objects: Iterable[ApiObject]) -> Cluster:
        """The cluster with some objects more, of kinds that are neither Node nor Pod; the same name replaces."""
        by_kind: dict[type[ApiObject], dict[tuple[str, str], ApiObject]] = {}
        for obj in objects:
            by_kind.setdefault(type(obj), {})[obj.namespace, obj.name] = obj
        more = {kind: {**self._objects.get(kind, {}), **own} for kind, own in by_kind.items()}
        return self._with(objects={**self._objects, **more}, changed=by_kind)

    def without(self, objects: Iterable[ApiObject]) -> Cluster:
        """The cluster without some of its objects, of kinds that are neither Node nor Pod."""
        by_kind: dict[type[ApiObject], set[tuple[str, str]]] = {}
        for obj in objects:
            by_kind.setdefault(type(obj), set()).add((obj.namespace, obj.name))
        left = {
            kind: {name: obj for name, obj in self._objects.get(kind, {}).items() if name not in gone}
            for kind, gone in by_kind.items()
        }
        return self._with(objects={**self._objects, **left}, changed=by_kind)

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
        # Classes are only ever added, so that clusters that are derived from one another can share them.
        return new

    @property
    def _interner(self) -> PodInterner:
        if not self._interner_of:
            self._interner_of.append(PodInterner.continuing(self.pods.class_table.all))
        return self._interner_of[0]

    @cached_property
    def versions(self) -> Versions:
        """Numbers by which to see what differs from another cluster."""
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
