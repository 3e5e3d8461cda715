"""A cluster that moves: what changes in a running one becomes another derived cluster.

Deriving costs what changes, and what comes to the same for scheduling (the heartbeat of a node, the status of a
container) derives nothing. What derived clusters share only grows, however: a class per kind of pod that ever came, a
code per value of a label. So every change that could have added to it is counted, and once there were more of them than
there are nodes and pods, the cluster is built anew from what it holds (`Cluster.compacted`). Memory is therefore that
of a cluster with twice as many different pods as this one had at most, however long it lives; and as building anew
costs what as many changes do, a change costs twice as much in all.

Objects are kept in the order in which a server lists them, so that answers are those of a snapshot of that moment. Pods
alone are in the order in which they came or last changed, until the cluster is built anew: of pods that are equally
important, others may be named as victims.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

from msgspec.structs import replace

from kschedctl.api.core import Node
from kschedctl.api.defaults import default_object
from kschedctl.api.meta import ApiObject
from kschedctl.api.pod import Pod
from kschedctl.api.quantity import QuantityError
from kschedctl.api.resources import parse_resources
from kschedctl.api.selectors import SelectorError
from kschedctl.cluster.cluster import Cluster
from kschedctl.watch.feed import Changes, Name

T = TypeVar("T", bound=ApiObject)
#: So many changes are never worth building anew.
FEW_CHANGES: Final = 4096
_FINISHED: Final = frozenset({"Succeeded", "Failed"})


class Cache:
    """The state of a running cluster, as far as scheduling reads it.

    Parameters
    ----------
    cluster : Cluster
        The cluster at first.
    few_changes : int
        After fewer changes it is not built anew.

    Attributes
    ----------
    cluster : Cluster
        The cluster as it is now.
    compactions : int
        How often it was built anew.
    left_out : dict
        Objects that cannot be understood, by type, namespace and name, each with what is wrong. No API server takes
        such.
    """

    def __init__(self, cluster: Cluster, few_changes: int = FEW_CHANGES) -> None:
        self.cluster = cluster
        self.compactions = 0
        self.left_out: dict[tuple[type[ApiObject], Name], str] = {}
        self._few_changes = few_changes
        self._grown = 0

    def apply(self, changes: Changes) -> bool:
        """Take over what has changed; whether scheduling can tell the difference."""
        before = self.cluster
        for kind in (*changes.lists, *changes.objects):
            of_kind: Mapping[Name, ApiObject | None] = changes.objects.get(kind, {})
            if kind in changes.lists:
                of_kind = changes.lists[kind]
            if kind is Node:
                self._apply_nodes(of_kind, every=kind in changes.lists)
            elif kind is not Pod:
                self._apply_objects(kind, of_kind, every=kind in changes.lists)
        # Behind the nodes that they name.
        if Pod in changes.lists:
            self._apply_pods(changes.lists[Pod], every=True)
        elif Pod in changes.objects:
            self._apply_pods(changes.objects[Pod], every=False)
        moved = self.cluster is not before
        if self._grown > max(self._few_changes, len(self.cluster.pods) + len(self.cluster.nodes)):
            self.cluster = self.cluster.compacted()
            self.compactions += 1
            self._grown = 0
        return moved

    def _apply_nodes(self, changed: Mapping[Name, ApiObject | None], *, every: bool) -> None:
        known = {("", node.name): node for node in self.cluster.nodes.objects}
        nodes = dict(known)
        for name in [name for name in known if name not in changed] if every else ():
            del nodes[name]
        for name, obj in changed.items():
            node = self._understood(name, obj) if isinstance(obj, Node) else None
            if node is None:
                nodes.pop(name, None)
            elif nodes.get(name) != node:
                nodes[name] = node
                self._grown += 1
        if nodes.keys() != known.keys() or any(nodes[name] is not known[name] for name in nodes):
            self.cluster = self.cluster.with_nodes(nodes[name] for name in sorted(nodes))

    def _apply_objects(self, kind: type[ApiObject], changed: Mapping[Name, ApiObject | None], *, every: bool) -> None:
        known = {(obj.namespace, obj.name): obj for obj in self.cluster.list(kind)}
        objects = {} if every else dict(known)
        for name, obj in changed.items():
            if obj is None:
                objects.pop(name, None)
                continue
            now = default_object(unversioned(obj))
            there = known.get(name)
            objects[name] = there if there is not None and there == now else now
        if objects.keys() != known.keys() or any(objects[name] is not known[name] for name in objects):
            self.cluster = self.cluster.with_objects(kind, _in_order(objects))

    def _apply_pods(self, changed: Mapping[Name, ApiObject | None], *, every: bool) -> None:
        index = self.cluster.pods.index
        gone = {index[name] for name in index if name not in changed} if every else set()
        come = []
        for name, obj in changed.items():
            if isinstance(obj, Pod) and obj.status.phase not in _FINISHED:
                same = self._is_there(name, obj)
                if same:
                    continue
                if same is not None:
                    come.append(obj)
                    continue
            if (there := index.get(name)) is not None:
                gone.add(there)
        if gone or come:
            self._grown += len(gone) + len(come)
            self.cluster = self.cluster.with_pods(removed=gone, added=come)

    def _is_there(self, name: Name, pod: Pod) -> bool | None:
        """Whether a pod is there as it is; ``None`` where it cannot be understood."""
        try:
            found = self.cluster.has(pod)
        except (QuantityError, SelectorError) as error:
            self.left_out[Pod, name] = f"{pod.ref}: {error.path}: {error}"
            return None
        self.left_out.pop((Pod, name), None)
        return found

    def _understood(self, name: Name, node: Node) -> Node | None:
        try:
            parse_resources(node.status.allocatable, "status.allocatable")
        except QuantityError as error:
            self.left_out[Node, name] = f"{node.ref}: {error.path}: {error}"
            return None
        self.left_out.pop((Node, name), None)
        return unversioned(node)


def unversioned(obj: T) -> T:
    """An object without the version that it had, which changes with everything that scheduling does not read."""
    return replace(obj, metadata=replace(obj.metadata, resource_version=""))


def _in_order(objects: Mapping[Name, ApiObject]) -> Iterable[ApiObject]:
    """Objects as a server lists them, by the keys that it stores them under."""
    return (objects[name] for name in sorted(objects, key=lambda name: "/".join(name)))
