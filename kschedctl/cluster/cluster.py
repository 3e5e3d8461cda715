"""A cluster at one moment, as the scheduler sees it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
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
from kschedctl.cluster.unread import Unread
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
        #: The cluster that this one was derived from, the pods of it that are gone, and how many are new.
        self._before: tuple[Cluster, PodIndices, int] | None = None
        #: What rooms above work out of nodes and objects.
        self._derived: dict[tuple[type, Hashable], object] = {}

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
        kept, worlds = Numbering.of(rows, len(self.nodes)).find(self.pods.nominated_row[nominated])
        return Overlay(self.pods, rows, PodsInWorlds(rows, worlds, nominated[kept]))

    def resources(self, rules: RequestRules) -> ResourceColumns:
        """What nodes offer and pods request, under a release's rules."""
        columns = self._resources.get(rules)
        if columns is None and self._before is not None:
            before, removed, n_added = self._before
            columns = before.resources(rules).moved(before.pods, self.pods, removed, n_added)
            # The rules are those of one release: what came before is not asked again.
            self._before = None
        if columns is None:
            columns = ResourceColumns(self.nodes, self.pods, rules)
        self._resources[rules] = columns
        return columns

    def derived(self, kind: type[V], rules: Hashable, make: Callable[[], V]) -> V:
        """What a room above works out of nodes and objects, made once per kind and rules; pods play no part in it.

        Parameters
        ----------
        kind : type
            What is made.
        rules : hashable
            What it depends on besides these.
        make : callable
            Makes it.
        """
        found = self._derived.get((kind, rules))
        if not isinstance(found, kind):
            found = self._derived[kind, rules] = make()
        return found

    def kept(self, kind: type[V]) -> tuple[tuple[Hashable, V], ...]:
        """What ``derived`` has made of a kind so far, with the rules of each."""
        found = ((rules, made) for (of, rules), made in self._derived.items() if of is kind)
        return tuple((rules, made) for rules, made in found if isinstance(made, kind))

    def with_pods(self, *, removed: Iterable[int] = (), added: Iterable[Pod] = ()) -> Cluster:
        """The cluster with some pods gone and others there.

        Parameters
        ----------
        removed : iterable of int
            Indices into ``pods``.
        added : iterable of Pod
            Pods that name their node; one with the name of a pod that is there takes its place.
        """
        before = self.pods
        new = [self._interner.record(pod) for pod in added]
        gone = set(removed)
        if new:
            gone |= {before.index.get((r.metadata.namespace, r.metadata.name), -1) for r in new} - {-1}
        indices = np.array(sorted(gone), dtype=np.int64)
        classes = self._interner.classes if new else before.classes
        pods = before.moved(indices, new, classes)
        cluster = self._with(pods=pods)
        cluster._derived = self._derived
        # Classes are only ever added, so that clusters that are derived from one another can share them.
        cluster.__dict__["_interner"] = self._interner
        cluster._before = (self, indices, len(new))
        return cluster

    def with_nodes(self, nodes: Iterable[Node]) -> Cluster:
        """The cluster with other nodes; pods on a node that is gone are lost."""
        rows = Nodes(tuple(nodes))
        return self._with(nodes=rows, pods=Pods(self.pods.records, self.pods.classes, rows))

    def with_objects(self, kind: type[T], objects: Iterable[T]) -> Cluster:
        """The cluster with other objects of a kind that is neither Node nor Pod."""
        by_name = {(obj.namespace, obj.name): obj for obj in objects}
        return self._with(objects={**self._objects, kind: by_name})

    def with_added(self, objects: Iterable[ApiObject]) -> Cluster:
        """The cluster with some objects more, of kinds that are neither Node nor Pod; the same name replaces."""
        by_kind = dict(self._objects)
        for obj in objects:
            by_kind[type(obj)] = {**by_kind.get(type(obj), {}), (obj.namespace, obj.name): obj}
        return self._with(objects=by_kind)

    def _with(
        self, *, nodes: Nodes | None = None, pods: Pods | None = None, objects: ObjectMap | None = None
    ) -> Cluster:
        cluster = Cluster(
            nodes if nodes is not None else self.nodes,
            pods if pods is not None else self.pods,
            objects if objects is not None else self._objects,
            server_version=self.server_version,
            taken_at=self.taken_at,
            warnings=self.warnings,
            unread=self.unread,
            not_listed=self.not_listed,
        )
        if nodes is None and pods is None:
            cluster._resources, cluster._before = self._resources, self._before
        return cluster

    @cached_property
    def _interner(self) -> PodInterner:
        return PodInterner.continuing(self.pods.classes)

    @property
    def kinds(self) -> tuple[type[ApiObject], ...]:
        """The kinds of objects besides nodes and pods."""
        return tuple(self._objects)

    @cached_property
    def namespace_labels(self) -> dict[str, Labels]:
        """The labels of every namespace object."""
        return {namespace.name: namespace.metadata.labels for namespace in self.list(Namespace)}
