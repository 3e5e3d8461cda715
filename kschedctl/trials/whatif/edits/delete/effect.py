"""Effect of ``--delete``: deletes an object with the objects that depend on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import counted
from kschedctl.controllers.workloads.ownership import MAKERS, intermediate_owners, pods_made_by, workloads
from kschedctl.objects.core import Namespace, Node
from kschedctl.objects.defaults import DEFAULT_NAMESPACE
from kschedctl.objects.kinds import is_namespaced
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import Release
from kschedctl.trials.whatif.nodes import without_nodes
from kschedctl.trials.whatif.pods import freed_in_words, move_pods
from kschedctl.trials.whatif.targets import find_kind, find_node, not_found

if TYPE_CHECKING:
    from kschedctl.trials.whatif.edit import Changed


def delete(cluster: Cluster, kind_name: str, name: str, namespace: str, *, release: Release) -> Changed:
    """Delete an object with the objects that depend on it.

    Parameters
    ----------
    kind_name : str
        The kind, in any form that kubectl accepts.
    name, namespace : str
        The name and the namespace of the object; an empty namespace is ``default``.
    release : Release
        The Kubernetes release whose API server admits the pods that are recreated.

    Raises
    ------
    InputError
        If the cluster has no object of that kind and name.
    """
    kind = find_kind(kind_name)
    if kind is Node:
        evicted = without_nodes(cluster, [find_node(cluster, name)], release=release)
        return evicted.cluster, (f"Node {name} is deleted: {evicted}", *freed_in_words(evicted.freed))
    if kind is Namespace:
        return _namespace(cluster, name)
    namespace = (namespace or DEFAULT_NAMESPACE) if is_namespaced(kind) else ""
    key = (namespace, name)
    shown = f"{kind.__name__} {namespace}/{name}" if namespace else f"{kind.__name__} {name}"
    if kind is Pod:
        known = set(cluster.pods.index)
    elif kind in MAKERS:
        known = workloads(cluster, kind)
    else:
        known = {(obj.namespace, obj.name) for obj in cluster.list(kind)}
    if key not in known:
        raise not_found(cluster, kind, key, known)
    if kind is Pod:
        moved = move_pods(cluster, removed=[cluster.pods.index[key]])
        return moved.cluster, (f"{shown} is deleted", *moved.told)
    gone = ""
    told: tuple[str, ...] = ()
    if kind in MAKERS:
        pods = pods_made_by(cluster, kind, *key)
        gone = f" with {counted(len(pods), 'pod')}"
        through = intermediate_owners(cluster, kind, *key)
        moved = move_pods(cluster, removed=pods)
        cluster, told = moved.cluster, moved.told
        if through:
            kept = [obj for obj in cluster.list(type(through[0])) if obj not in through]
            cluster = cluster.with_objects(type(through[0]), kept)
    kept = [obj for obj in cluster.list(kind) if (obj.namespace, obj.name) != key]
    return cluster.with_objects(kind, kept), (f"{shown} is deleted{gone}", *told)


def _namespace(cluster: Cluster, name: str) -> Changed:
    pods = [i for i, record in enumerate(cluster.pods.records) if record.metadata.namespace == name]
    if not pods and cluster.get(Namespace, name) is None:
        known = {("", obj.name) for obj in cluster.list(Namespace)}
        known |= {("", record.metadata.namespace) for record in cluster.pods.records}
        raise not_found(cluster, Namespace, ("", name), known)
    for kind in cluster.kinds:
        kept = [obj for obj in cluster.list(kind) if name != (obj.name if kind is Namespace else obj.namespace)]
        cluster = cluster.with_objects(kind, kept)
    cluster = cluster.with_pods(removed=pods)
    return cluster, (f"Namespace {name} is deleted with {counted(len(pods), 'pod')}",)
