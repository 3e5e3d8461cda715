"""Effect of ``--apply``: overlays objects on the cluster, or adds copies of nodes and pods."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.default_storage_class import with_default_class
from kschedctl.common.errors import InputError
from kschedctl.common.findings import Place, Subject
from kschedctl.common.wording import counted, listed
from kschedctl.controllers.admission.chain import admit
from kschedctl.controllers.admission.priority import admit_pod_group
from kschedctl.controllers.workloads.ownership import MAKERS, pods_made_by
from kschedctl.controllers.workloads.pods import update_revision
from kschedctl.controllers.workloads.template import fresh_pod
from kschedctl.objects.core import Node
from kschedctl.objects.defaults import default_object, default_pod
from kschedctl.objects.device import ResourceSlice
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroup
from kschedctl.objects.releases.release import Release
from kschedctl.objects.volume import CSINode, PersistentVolumeClaim
from kschedctl.objects.workload import StatefulSet
from kschedctl.sources.snapshot.manifest import ManifestObject, refuse
from kschedctl.trials.whatif.node_copies import copies_of_belongings, copy_of_node, numbered_names
from kschedctl.trials.whatif.pods import move_pods
from kschedctl.trials.whatif.workload_pods import with_pods_of

if TYPE_CHECKING:
    from kschedctl.trials.whatif.edit import Changed

Placed = tuple[ApiObject, Place]


def apply(
    cluster: Cluster,
    objects: Sequence[Placed],
    copies: int | None,
    *,
    read: Sequence[ManifestObject],
    release: Release,
) -> Changed:
    """Overlay objects on the cluster, or add copies of them.

    Parameters
    ----------
    objects : sequence of (object, place)
        The objects, each with its position in the input.
    copies : int or None
        The number of copies; ``None`` to apply the objects themselves.
    read : sequence of ManifestObject
        The objects as they were written.
    release : Release
        The Kubernetes release whose API server validates and admits the objects.

    Raises
    ------
    InputError
        If an API server would reject an object, or an object to be copied is neither a node nor a pod, nor a CSINode or
        ResourceSlice of a copied node.
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
        changes += _told(Node, cluster.nodes.row, laid.nodes.names)
        nodes = {node.name: node for node in (*cluster.nodes.objects, *laid.nodes.objects)}
        cluster = cluster.with_nodes(nodes.values())
    n_pods = 0
    places = {_key(default_object(obj)): place for obj, place in objects if isinstance(obj, PodGroup)}
    # Claims read the classes that are applied with them, workloads the claims, and groups the workloads.
    for kind in sorted(laid.kinds, key=lambda kind: (kind is PodGroup, kind in MAKERS, kind is PersistentVolumeClaim)):
        before = {_key(obj): obj for obj in cluster.list(kind)}
        after = {_key(obj): _admitted(obj, cluster, places, release) for obj in laid.list(kind)}
        changes += _told(kind, before, after)
        cluster = cluster.with_objects(kind, (before | after).values())
        if kind in MAKERS:
            for obj in laid.list(kind):
                cluster, told, n_added = _with_its_pods(cluster, obj, release, n_pods)
                changes.append(told)
                n_pods += n_added
    pods = [_stored(obj, cluster, place, release) for obj, place in objects if isinstance(obj, Pod)]
    if pods:
        index = cluster.pods.index
        changes += _told(Pod, [key for key in map(_key, pods) if tuple(key.split("/")) in index], map(_key, pods))
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


def _admitted(obj: ApiObject, cluster: Cluster, places: Mapping[str, Place], release: Release) -> ApiObject:
    """Return an object as the API server's admission plugins and its controller store it."""
    match obj:
        case PodGroup():
            return admit_pod_group(obj, cluster, release=release, where=Subject(places[_key(obj)], obj.ref))
        case PersistentVolumeClaim() if cluster.get(PersistentVolumeClaim, obj.name, obj.namespace) is None:
            return with_default_class(obj, cluster)
        case StatefulSet() if obj.spec.template is not None and not obj.status.update_revision:
            revision = update_revision(obj, obj.spec.template, cluster)
            return replace(obj, status=replace(obj.status, update_revision=revision))
        case _:
            return obj


def _with_its_pods(cluster: Cluster, workload: ApiObject, release: Release, n_before: int) -> tuple[Cluster, str, int]:
    """Add the missing pods of a workload. Its existing pods stay: a snapshot does not model a rollout."""
    own = pods_made_by(cluster, type(workload), workload.namespace, workload.name)
    cluster, n_added = with_pods_of(cluster, workload, release=release, where=workload.ref, n_before=n_before)
    told = []
    if own:
        told.append(f"{counted(len(own), 'pod')} {'is' if len(own) == 1 else 'are'} unchanged")
    if n_added or not own:
        told.append(f"{counted(n_added, 'pod')} {'is' if n_added == 1 else 'are'} pending")
    return cluster, f"{type(workload).__name__} {_key(workload)}: {', '.join(told)}", n_added


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


def _told(kind: type[ApiObject], before: Collection[str], new: Iterable[str]) -> Iterator[str]:
    """Describe the added objects and the replaced objects, one line each."""
    names = list(new)
    replaced = [name for name in names if name in before]
    added = [name for name in names if name not in before]
    if added:
        yield f"{kind.__name__} {listed(added)} added"
    if replaced:
        yield f"{kind.__name__} {listed(replaced)} replaced"
