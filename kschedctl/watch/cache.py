"""The cache of a running cluster: each change becomes a derived cluster.

Deriving costs only as much as the change, and a change that scheduling ignores (the heartbeat of a node, the status of
a container) derives nothing. However, the data that derived clusters share only grows: a class per kind of pod that
ever existed, a code per value of a label. So every change that may add to this data is counted. If there are more such
changes than nodes and pods, and more than 4,096, the cluster is rebuilt from its objects (`Cluster.compacted`). Memory
is therefore limited to that of a cluster with twice as many different pods as the largest state of this one, however
long it runs. Rebuilding costs as much as that many changes, so that a change costs twice as much on average.

Objects are kept in the order in which a server lists them, so that answers equal those of a snapshot of that moment.
Only pods are in the order in which they came or last changed, until the cluster is rebuilt: of equally important pods,
others may be named as victims.
"""

from collections.abc import Mapping
from typing import Final, TypeVar

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.core import Node
from kschedctl.objects.defaults import default_object
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.quantity import QuantityError
from kschedctl.objects.resources import parse_resources
from kschedctl.objects.selectors import SelectorError
from kschedctl.watch.feed import FeedChanges, Name

T = TypeVar("T", bound=ApiObject)
#: With up to 4,096 changes the cluster is never rebuilt.
FEW_CHANGES: Final = 4096
#: Invalid objects by type, namespace and name, each with its problem.
LeftOut = dict[tuple[type[ApiObject], Name], str]
_FINISHED: Final = frozenset({"Succeeded", "Failed"})


class Cache:
    """The state of a running cluster, as far as scheduling reads it.

    compactions: The number of times that the cluster was rebuilt.
    left_out: Invalid objects, by type, namespace and name, each with its problem. An API server accepts no such
        objects.

    Args:
        few_changes: The number of changes up to which the cluster is not rebuilt.
        left_out: The invalid objects that the initial cluster was built without.
    """

    def __init__(self, cluster: Cluster, few_changes: int = FEW_CHANGES, left_out: LeftOut | None = None) -> None:
        self.cluster = cluster
        self.compactions = 0
        self.left_out: LeftOut = dict(left_out or {})
        self._few_changes = few_changes
        self._grown = 0

    def apply(self, changes: FeedChanges) -> bool:
        """Apply changes, and report whether they make a difference to scheduling."""
        before = self.cluster
        for kind in (*changes.lists, *changes.objects):
            of_kind: Mapping[Name, ApiObject | None] = changes.objects.get(kind, {})
            if kind in changes.lists:
                of_kind = changes.lists[kind]
            if kind is Node:
                every = kind in changes.lists
                known = {("", node.name): node for node in self.cluster.nodes.objects}
                nodes = dict(known)
                for name in [name for name in known if name not in of_kind] if every else ():
                    del nodes[name]
                for name, obj in of_kind.items():
                    node = self._understood(name, obj) if isinstance(obj, Node) else None
                    if node is None:
                        nodes.pop(name, None)
                    elif nodes.get(name) != node:
                        nodes[name] = node
                        self._grown += 1
                if nodes.keys() != known.keys() or any(nodes[name] is not known[name] for name in nodes):
                    self.cluster = self.cluster.with_nodes(nodes[name] for name in sorted(nodes))
            elif kind is not Pod:
                self._apply_objects(kind, of_kind, every=kind in changes.lists)
        # Pods come after the nodes that they name.
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
            self.cluster = self.cluster.with_objects(
                kind, (objects[name] for name in sorted(objects, key=lambda name: "/".join(name)))
            )

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
        """Report whether the cluster has exactly this pod; ``None`` if the pod is invalid."""
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
    """Return an object without its resource version, which also changes with fields that scheduling does not read."""
    return replace(obj, metadata=replace(obj.metadata, resource_version=""))
