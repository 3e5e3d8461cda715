"""The effects of ``--apply``, ``--delete`` and ``--set-replicas``, imported once such an edit is used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.default_storage_class import with_default_class
from kschedctl.cluster.node_copies import copies_of_belongings, copy_of_node, numbered_names
from kschedctl.common.errors import InputError
from kschedctl.common.findings import Place, Subject
from kschedctl.common.wording import counted, listed
from kschedctl.controllers.admission.chain import admit
from kschedctl.controllers.admission.priority import admit_pod_group
from kschedctl.controllers.workloads.ownership import (
    MAKERS,
    SCALABLE,
    Scalable,
    intermediate_owners,
    pods_made_by,
    with_replicas,
    workloads,
)
from kschedctl.controllers.workloads.pods import ordinal_of, update_revision
from kschedctl.controllers.workloads.template import fresh_pod
from kschedctl.objects.core import Namespace, Node
from kschedctl.objects.defaults import DEFAULT_NAMESPACE, default_object, default_pod
from kschedctl.objects.device import ResourceSlice
from kschedctl.objects.karpenter import NODE_POOL_LABEL, NodePool
from kschedctl.objects.kinds import is_namespaced
from kschedctl.objects.meta import ApiObject, ObjectMeta
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import CompositePodGroup, PodGroup
from kschedctl.objects.releases.release import Release
from kschedctl.objects.volume import CSINode, PersistentVolumeClaim
from kschedctl.objects.workload import StatefulSet
from kschedctl.sources.snapshot.manifest import ManifestObject, refuse
from kschedctl.trials.whatif.nodes import without_nodes
from kschedctl.trials.whatif.pods import freed_in_words, move_pods, with_pods_of
from kschedctl.trials.whatif.targets import find_kind, not_found

if TYPE_CHECKING:
    from kschedctl.trials.whatif.edit import Changed


Placed = tuple[ApiObject, Place]


def apply(
    cluster: Cluster, objects: Sequence[Placed], copies: int | None, *, read: Sequence[ManifestObject], release: Release
) -> Changed:
    """Overlay objects on the cluster, or add copies of them.

    Args:
        copies: The number of copies; ``None`` to apply the objects themselves.
        read: The objects as they were written.
        release: The Kubernetes release whose API server validates and admits the objects.

    Raises InputError if an API server would reject an object, or an object to be copied is neither a node nor a
        pod, nor a CSINode or ResourceSlice of a copied node.
    """
    refuse(read, release)
    # Run the checks and defaulting of the snapshot reader on these objects alone.
    builder = ClusterBuilder()
    for obj, place in objects:
        builder.add(obj, place)
    laid = builder.build()
    if copies is not None:
        return _copied(cluster, laid, objects, copies, release)
    changes: list[str] = []
    if len(laid.nodes):
        changes += _new_objects(Node, cluster.nodes.row, laid.nodes.names)
        nodes = {node.name: node for node in (*cluster.nodes.objects, *laid.nodes.objects)}
        cluster = cluster.with_nodes(nodes.values())
    n_pods = 0
    groups = (PodGroup, CompositePodGroup)
    places: dict[tuple[type[ApiObject], str], Place] = {
        (type(obj), _key(default_object(obj))): place for obj, place in objects if isinstance(obj, groups)
    }
    # Claims read the classes that are applied with them, workloads the claims, and groups the workloads.
    for kind in sorted(laid.kinds, key=lambda kind: (kind in groups, kind in MAKERS, kind is PersistentVolumeClaim)):
        before = {_key(obj): obj for obj in cluster.list(kind)}
        after = {_key(obj): _admitted(obj, cluster, places, release) for obj in laid.list(kind)}
        changes += _new_objects(kind, before, after)
        cluster = cluster.with_objects(kind, (before | after).values())
        if kind in MAKERS:
            for obj in laid.list(kind):
                # Its existing pods stay: a snapshot does not model a rollout.
                own = pods_made_by(cluster, kind, obj.namespace, obj.name)
                cluster, n_added = with_pods_of(cluster, obj, release=release, where=obj.ref, n_before=n_pods)
                told = []
                if own:
                    told.append(f"{counted(len(own), 'pod')} {'is' if len(own) == 1 else 'are'} unchanged")
                if n_added or not own:
                    told.append(f"{counted(n_added, 'pod')} {'is' if n_added == 1 else 'are'} pending")
                changes.append(f"{kind.__name__} {_key(obj)}: {', '.join(told)}")
                n_pods += n_added
    pods = [_stored(obj, cluster, place, release) for obj, place in objects if isinstance(obj, Pod)]
    if pods:
        index = cluster.pods.index
        changes += _new_objects(
            Pod, [key for key in map(_key, pods) if tuple(key.split("/")) in index], map(_key, pods)
        )
        # The cluster has no finished pods: a finished pod only removes the pod of its name. A replaced pod keeps its
        # claims.
        finished = {(pod.namespace, pod.name) for pod in pods} - laid.pods.index.keys()
        moved = move_pods(
            cluster,
            removed=[index[key] for key in finished if key in index],
            added=[pod for pod in pods if (pod.namespace, pod.name) not in finished],
        )
        cluster = moved.cluster
        changes += moved.told
    return cluster, tuple(changes)


def _admitted(
    obj: ApiObject, cluster: Cluster, places: Mapping[tuple[type[ApiObject], str], Place], release: Release
) -> ApiObject:
    """Return an object as the API server's admission plugins and its controller store it."""
    match obj:
        case PodGroup() | CompositePodGroup():
            where = Subject(places[type(obj), _key(obj)], obj.ref)
            return admit_pod_group(obj, cluster, release=release, where=where)
        case PersistentVolumeClaim() if cluster.get(PersistentVolumeClaim, obj.name, obj.namespace) is None:
            return with_default_class(obj, cluster)
        case StatefulSet() if obj.spec.template is not None and not obj.status.update_revision:
            revision = update_revision(obj, obj.spec.template, cluster)
            return replace(obj, status=replace(obj.status, update_revision=revision))
        case _:
            return obj


def _copied(cluster: Cluster, laid: Cluster, objects: Sequence[Placed], copies: int, release: Release) -> Changed:
    changes = []
    for obj, place in objects:
        names: list[str]
        also = ""
        if isinstance(obj, Node):
            names = list(islice(numbered_names(obj.name, cluster.nodes.row), copies))
            belongings = copies_of_belongings((cluster, laid), obj.name, names)
            nodes = (*cluster.nodes.objects, *(copy_of_node(obj, name) for name in names))
            cluster = cluster.with_nodes(nodes)
            if belongings:
                cluster = cluster.with_added(belongings)
            n_slices = sum(isinstance(one, ResourceSlice) for one in belongings) // copies
            if n_slices:
                each = "each " if copies > 1 else ""
                also = f", {each}with {counted(n_slices, 'ResourceSlice')}"
        elif isinstance(obj, Pod):
            pod = _stored(obj, cluster, place, release)
            taken = {name for namespace, name in cluster.pods.index if namespace == pod.namespace}
            names = list(islice(numbered_names(pod.name, taken), copies))
            waiting = replace(pod, spec=replace(pod.spec, node_name=""))
            cluster = move_pods(cluster, added=[fresh_pod(waiting, name=name) for name in names]).cluster
        elif _of_node(obj) in laid.nodes.row:
            continue
        else:
            hint = "only nodes and pods can be copied; put this object into a separate file"
            raise InputError(f"{type(obj).__name__} {obj.name} cannot be copied", where=place, hint=hint)
        changes.append(f"{type(obj).__name__} {listed(names)} added, like {obj.name}{also}")
    return cluster, tuple(changes)


def _of_node(obj: ApiObject) -> str | None:
    """Return the name of the node that a ResourceSlice or CSINode belongs to."""
    if isinstance(obj, ResourceSlice):
        return obj.spec.node_name
    return obj.name if isinstance(obj, CSINode) else None


def _stored(pod: Pod, cluster: Cluster, place: Place, release: Release) -> Pod:
    """Return the pod as an API server stores it. A pod with ``spec.priority`` has been admitted already."""
    pod = default_pod(pod)
    if pod.spec.priority is not None:
        return pod
    return admit(pod, cluster, release=release, where=Subject(place, pod.ref)).pod


def _key(obj: ApiObject) -> str:
    return f"{obj.namespace}/{obj.name}" if obj.namespace else obj.name


def _new_objects(kind: type[ApiObject], before: Collection[str], new: Iterable[str]) -> Iterator[str]:
    """Describe the added objects and the replaced objects, one line each."""
    names = list(new)
    replaced = [name for name in names if name in before]
    added = [name for name in names if name not in before]
    if added:
        yield f"{kind.__name__} {listed(added)} added"
    if replaced:
        yield f"{kind.__name__} {listed(replaced)} replaced"


# Effect of ``--delete``: deletes an object with the objects that depend on it.


def delete(cluster: Cluster, kind_name: str, name: str, namespace: str, *, release: Release) -> Changed:
    """Delete an object with the objects that depend on it.

    Args:
        kind_name: The kind, in any form that kubectl accepts.
        name, namespace: The name and the namespace of the object; an empty namespace is ``default``.
        release: The Kubernetes release whose API server admits the pods that are recreated.

    Raises InputError if the cluster has no object of that kind and name.
    """
    kind = find_kind(kind_name)
    if kind is Node:
        evicted = without_nodes(cluster, [cluster.nodes.find(name)], release=release)
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
        index = cluster.pods.index[key]
        moved = move_pods(cluster, removed=[index])
        for_good = " for good: no controller recreates it" if cluster.pods.owner(index) is None else ""
        return moved.cluster, (f"{shown} is deleted{for_good}", *moved.told)
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
    if kind is NodePool:
        own = sum(node.metadata.labels.get(NODE_POOL_LABEL) == name for node in cluster.nodes.objects)
        gone = f"; {counted(own, 'node')} of it stay in this answer, which Karpenter would drain" if own else ""
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


# Effect of ``--set-replicas``: scales a workload up or down.
#
# A smaller ReplicaSet, or a smaller Deployment through its ReplicaSets, loses nearly the pods that the controller would
# delete (upstream ``ActivePodsWithRanks``): first pods without a node, then pods that do not run yet, then pods on the
# nodes with most of the workload's pods, then the youngest pods. Readiness, restarts and the deletion cost of pods are
# ignored, and the ReplicaSets of a rollout count as one. For a StatefulSet the ordinals are exact.

_PHASES: Final = {"Pending": 0, "Unknown": 1}


def set_replicas(cluster: Cluster, kind_name: str, key: tuple[str, str], replicas: int, *, release: Release) -> Changed:
    """Scale a workload: add pending pods or remove pods.

    Args:
        kind_name: The kind, in any form that kubectl accepts.
        release: The Kubernetes release whose API server admits new pods.

    Raises InputError if the workload does not exist or its kind has no replicas, or if there is neither a pod that
        could be copied nor a template, or if more than 10,000 pods would be added.
    """
    kind = find_kind(kind_name)
    if not issubclass(kind, SCALABLE):
        kinds = ", ".join(each.__name__ for each in SCALABLE)
        raise InputError(f"a {kind.__name__} has no replicas", hint=f"kinds with replicas: {kinds}")
    stored = cluster.get(kind, key[1], key[0])
    if stored is None and key not in (known := workloads(cluster, kind)):
        raise not_found(cluster, kind, key, known)
    shown = f"{kind.__name__} {'/'.join(key)}"
    every = pods_made_by(cluster, kind, *key)
    # Controllers do not count terminating pods; a StatefulSet recreates a pod only when its name is free.
    active = [i for i in every if cluster.pods.records[i].metadata.deletion_timestamp is None]
    workload = with_replicas(stored or kind(metadata=ObjectMeta(name=key[1], namespace=key[0])), replicas)
    has_template = workload.spec.template is not None
    if replicas and not active and not has_template:
        hint = f"add the {kind.__name__} or its pods with --apply"
        raise InputError(f"the cluster has no pod of {'/'.join(key)} to copy and no pod template", hint=hint)
    if stored is not None:
        cluster = cluster.with_added([workload])
    cluster, n_added = with_pods_of(cluster, workload, release=release, where=workload.ref, new=False)
    surplus = _surplus(cluster, workload, replicas)
    moved = move_pods(cluster, removed=surplus)
    n_removed = len(surplus)
    before = counted(len(active), "replica")
    change = f"{shown} has {replicas} instead of {before}"
    if n_added:
        like = "from the pod template" if has_template else "like the newest"
        change += f": {counted(n_added, 'new pod')} {'is' if n_added == 1 else 'are'} pending, {like}"
    elif n_removed:
        order = (
            "the highest ordinals"
            if kind is StatefulSet
            else "pending pods first, then pods that share a node, then the youngest"
        )
        change += f": {counted(n_removed, 'pod')} {'is' if n_removed == 1 else 'are'} removed ({order})"
    return moved.cluster, (change, *moved.told)


def _surplus(cluster: Cluster, workload: Scalable, replicas: int) -> list[int]:
    """Return the pods that the workload loses, as indices into ``Cluster.pods``."""
    kind, records = type(workload), cluster.pods.records
    every = pods_made_by(cluster, kind, workload.namespace, workload.name)
    if isinstance(workload, StatefulSet):
        start = workload.spec.ordinals.start
        ordinals = ((index, ordinal_of(records[index].metadata.name)) for index in every)
        return [index for index, own in ordinals if own is None or not start <= own < start + replicas]
    active = [index for index in every if records[index].metadata.deletion_timestamp is None]
    pods = cluster.pods
    rows = pods.node_row[active].tolist()
    per_node = Counter(rows)

    def rank(position: int) -> tuple[bool, int, int, float]:
        record = pods.records[active[position]]
        created = record.metadata.creation_timestamp
        together = per_node[rows[position]] if record.node_name else 0
        age = -created.timestamp() if created is not None else 0.0
        return bool(record.node_name), _PHASES.get(record.status.phase, 2), -together, age

    return [active[position] for position in sorted(range(len(active)), key=rank)][: max(len(active) - replicas, 0)]
