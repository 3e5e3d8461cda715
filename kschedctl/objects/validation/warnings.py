"""Warnings of an API server about an accepted object (``WarningsOnCreate`` of each kind)."""

from __future__ import annotations

from typing import Any, Final

from kschedctl.objects.names import label_problems
from kschedctl.objects.validation.context import Found, Tree
from kschedctl.objects.validation.pod_warnings import pod_warnings
from kschedctl.objects.validation.shared_warnings import OLD_NODE_LABELS, OLD_VOLUMES, claim_spec, node_term, warning

_STORAGE_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_VOLUME_ANNOTATIONS: Final = {
    _STORAGE_CLASS: 'deprecated since v1.8; use "storageClassName" attribute instead',
    "volume.beta.kubernetes.io/mount-options": 'deprecated since v1.31; use "mountOptions" attribute instead',
}
_VOLUME_PLUGINS: Final = ("cephfs", "photonPersistentDisk", "scaleIO", "storageos", "glusterfs", "rbd")
_HOSTNAME: Final = {
    "v1/Pod": "the Pod's hostname",
    "apps/v1/Deployment": "Pod names and hostnames",
    "apps/v1/ReplicaSet": "Pod names and hostnames",
    "v1/ReplicationController": "Pod names and hostnames",
    "batch/v1/Job": "Pod names and hostnames",
    "batch/v1/CronJob": "Pod names and hostnames",
}
#: The numbers of completions and of parallel pods above which an API server warns about an Indexed Job.
_COMPLETIONS, _PARALLELISM = 100_000, 10_000
_TOO_MANY_INDEXES: Final = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes "
    "might not be able to track completedIndexes when a big number of indexes fail"
)


def warnings(tree: Tree, kind: str, path: str) -> Found:
    """Yield the warnings of an API server about an accepted object.

    Parameters
    ----------
    tree : dict
        The object.
    kind : str
        The object's version and kind, such as ``apps/v1/Deployment``.
    path : str
        The path of the pod template in the object; empty for a Pod itself.
    """
    metadata = tree.get("metadata", {})
    if kind in _HOSTNAME:
        yield from _hostname(metadata.get("name", ""), _HOSTNAME[kind])
    match kind:
        case "v1/PersistentVolume":
            yield from _volume(tree)
        case "v1/PersistentVolumeClaim":
            yield from _claim(tree)
        case "storage.k8s.io/v1/StorageClass":
            yield from _storage_class(tree)
        case "batch/v1/Job" | "batch/v1/CronJob":
            at = path.removesuffix(".template")
            yield from _job(_inside(tree, at), at)
    if path or kind == "v1/Pod":
        template = _inside(tree, path)
        own = template.get("metadata", {}).get("annotations", {})
        yield from pod_warnings(template.get("spec", {}), own, f"{path}." if path else "")
    if kind == "apps/v1/StatefulSet":
        yield from _stateful_set(tree.get("spec", {}))


def _claim(tree: Tree) -> Found:
    if _STORAGE_CLASS in tree.get("metadata", {}).get("annotations", {}):
        yield warning(f"metadata.annotations[{_STORAGE_CLASS}]", _VOLUME_ANNOTATIONS[_STORAGE_CLASS])
    yield from claim_spec(tree.get("spec", {}), "spec")


def _storage_class(tree: Tree) -> Found:
    for i, term in enumerate(tree.get("allowedTopologies", ())):
        for n, requirement in enumerate(term.get("matchLabelExpressions", ())):
            if message := OLD_NODE_LABELS.get(requirement.get("key", "")):
                yield warning(f"allowedTopologies[{i}].matchLabelExpressions[{n}].key", message)


def _inside(tree: Tree, path: str) -> Any:
    inside: Any = tree
    for step in path.split(".") if path else ():
        inside = inside.get(step, {})
    return inside


def _job(spec: Tree, path: str) -> Found:
    if spec.get("completionMode") != "Indexed":
        return
    if spec.get("completions", 0) > _COMPLETIONS and spec.get("parallelism", 0) > _PARALLELISM:
        yield warning(path, _TOO_MANY_INDEXES)


def _stateful_set(spec: Tree) -> Found:
    for i, claim in enumerate(spec.get("volumeClaimTemplates", ())):
        yield from claim_spec(claim.get("spec", {}), f"spec.volumeClaimTemplates[{i}]")
    if spec.get("revisionHistoryLimit", 0) < 0:
        problem = "a negative value retains all historical revisions; a value >= 0 is recommended"
        yield warning("spec.revisionHistoryLimit", problem)


def _hostname(name: str, whose: str) -> Found:
    if name and (problems := label_problems(name)):
        advice = "which can result in surprising behavior; a DNS label is recommended"
        yield warning("metadata.name", f"this is used in {whose}, {advice}: [{' '.join(problems)}]")


def _volume(tree: Tree) -> Found:
    spec = tree.get("spec", {})
    for key, message in _VOLUME_ANNOTATIONS.items():
        if key in tree.get("metadata", {}).get("annotations", {}):
            yield warning(f"metadata.annotations[{key}]", message)
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        advice = "Instead, the recommended approach is to use dynamic provisioning."
        message = f"The Recycle reclaim policy is deprecated. {advice}"
        yield warning("spec.persistentVolumeReclaimPolicy", message)
    for i, term in enumerate(spec.get("nodeAffinity", {}).get("required", {}).get("nodeSelectorTerms", ())):
        yield from node_term(term, f"spec.nodeAffinity.required.nodeSelectorTerms[{i}]", values=False)
    for name in _VOLUME_PLUGINS:
        if name in spec:
            shown, message = OLD_VOLUMES[name]
            yield warning(f"spec.{shown}", message)
