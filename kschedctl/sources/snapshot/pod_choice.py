"""Selection of a single pod: a pod of the snapshot by name, or the pod of a manifest."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from kschedctl.cluster.pods import Pods
from kschedctl.cluster.records import PodInterner
from kschedctl.common.errors import InputError, ManifestError
from kschedctl.common.findings import Location, ObjectRef, Subject, Where, found_at
from kschedctl.common.wording import similar
from kschedctl.objects.defaults import DEFAULT_NAMESPACE, default_pod
from kschedctl.objects.kinds import kind_by_name, kind_type, split_name
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.quantity import QUANTITY_HINT, QuantityError
from kschedctl.objects.releases.release import Release
from kschedctl.objects.schema.schema import unknown_fields
from kschedctl.objects.selectors import SelectorError
from kschedctl.sources.snapshot.decoding import decode
from kschedctl.sources.snapshot.load import read_manifest
from kschedctl.sources.snapshot.manifest import refuse, refused

STDIN: Final = "-"
_MANIFEST_SUFFIXES: Final = (".yaml", ".yml", ".json", ".yaml.gz", ".yml.gz", ".json.gz")
_PATHS: Final = ("/", "./", "../")
_SHOWN: Final = 5


def is_manifest(text: str) -> bool:
    """Report whether a text is the path of a manifest or of a folder of manifests, rather than the name of an object.

    A name with a kind in front, such as ``deploy/web``, is no folder, though a repository may have one of that path,
    and no folder without manifests.
    """
    if text == STDIN or text.endswith("/") or text.startswith(_PATHS) or text.lower().endswith(_MANIFEST_SUFFIXES):
        return True
    path, has_kind = Path(text), "/" in text and kind_by_name(text.partition("/")[0]) is not None
    return path.is_file() or (bool(text) and not has_kind and path.is_dir() and _has_manifests(path))


def _has_manifests(folder: Path) -> bool:
    return any(path.name.lower().endswith(_MANIFEST_SUFFIXES) for path in folder.rglob("*"))


def find_pod(pods: Pods, name: str, namespace: str | None) -> Pod:
    """Return a pod of the snapshot by name.

    Args:
        namespace: The namespace of the pod; ``None`` to search all namespaces.

    Raises ManifestError if there is no pod of that name, or several.
    """
    if namespace is not None:
        index = pods.index.get((namespace, name))
        if index is None:
            raise ManifestError(f"the snapshot has no pod {namespace}/{name}", hint=_similar_names_hint(pods, name))
        return pods.pod(index)
    found = [index for (_, own), index in pods.index.items() if own == name]
    if not found:
        raise ManifestError(f"the snapshot has no pod {name} in any namespace", hint=_similar_names_hint(pods, name))
    if len(found) > 1:
        names = _some_names(pods.key(index) for index in found)
        raise ManifestError(f"the snapshot has {len(found)} pods named {name}", hint=f"name one: {names}")
    return pods.pod(found[0])


def only_pod(objects: Iterable[tuple[ApiObject, Location]], where: str) -> tuple[Pod, Location]:
    """Return the only pod of a manifest, and its location.

    Raises ManifestError if there is no pod, or several.
    """
    pods = [(obj, place) for obj, place in objects if isinstance(obj, Pod)]
    if len(pods) != 1:
        raise ManifestError(f"holds {len(pods) or 'no'} pods, one is expected", where=where)
    return pods[0]


def pod_of(data: Mapping[str, Any]) -> Pod:
    """Return the pod of a manifest given as data; data without a kind is taken for a pod.

    Raises ManifestError if the data is of another kind, or a field is invalid.
    """
    kind, version = data.get("kind", "Pod"), data.get("apiVersion", "v1")
    if kind_type(str(version), str(kind)) is not Pod:
        raise ManifestError(f"a {kind} ({version}) is not a Pod", path="kind")
    ManifestError.raise_any(refused([*unknown_fields(data, "v1", "Pod")]), "the pod")
    try:
        return decode(msgspec.json.encode(data), Pod)
    except InputError as error:
        raise ManifestError.together(error.findings).at("the pod") from None
    except TypeError as error:
        raise ManifestError(f"contains a value that JSON cannot represent: {error}", where="the pod") from None


def given_pod(
    pods: Pods, pod: Pod | Mapping[str, Any] | str | Path, where: Where = "", *, release: Release
) -> tuple[Pod, Where]:
    """Return the requested pod, as it was written, and its location.

    Args:
        pod: The pod: an object, its manifest as data, ``namespace/name`` of a pod of the cluster, or the path of a
            manifest with one pod.
        where: The location of the pod; by default the location found while reading.
        release: The release whose API server validates a manifest.

    Raises ManifestError if there is no such pod, or an API server would reject it.
    """
    if isinstance(pod, str) and not is_manifest(pod):
        namespace, name = split_name(pod, Pod) or ("", pod)
        return find_pod(pods, name, namespace or DEFAULT_NAMESPACE), where
    if isinstance(pod, str | Path):
        manifest = read_manifest(pod)
        found, place = only_pod(manifest.objects, str(pod))
        refuse(manifest.read, release)
        return found, where or place
    # A pod given as data may omit fields that scheduling does not depend on; admission checks the rest.
    if isinstance(pod, Mapping):
        return pod_of(pod), where
    if not isinstance(pod, Pod):
        raise ManifestError(
            f"a pod is expected, not {type(pod).__name__}", hint="give a Pod, a mapping, a name or a path"
        )
    return pod, where


def defaulted(pod: Pod, where: Where) -> tuple[Pod, Subject]:
    """Return a pod with the defaults of an API server, and its location with its name.

    Raises ManifestError if a quantity or a selector of the pod is invalid.
    """
    subject = found_at(ObjectRef("Pod", pod.name, pod.namespace or DEFAULT_NAMESPACE, "v1"), where)
    try:
        pod = default_pod(pod)
        # Parse every quantity and selector once, where the location of an invalid one is known.
        PodInterner().record(pod)
    except (QuantityError, SelectorError) as error:
        hint = QUANTITY_HINT if isinstance(error, QuantityError) else ""
        raise ManifestError(str(error), where=subject, path=error.path, hint=hint) from None
    return pod, subject


def _similar_names_hint(pods: Pods, name: str) -> str:
    elsewhere = [pods.key(index) for (_, own), index in pods.index.items() if own == name]
    if elsewhere:
        return f"did you mean {_some_names(elsewhere)}?"
    close = similar(name, (own for _, own in pods.index))
    if close:
        return f"did you mean {_some_names(pods.key(i) for (_, own), i in pods.index.items() if own in close)}?"
    return "finished pods are left out" if len(pods) else "the snapshot has no pods"


def _some_names(names: Iterable[str]) -> str:
    """Return up to 5 names, and the number of the others."""
    every = list(names)
    shown = ", ".join(every[:_SHOWN])
    return f"{shown} and {len(every) - _SHOWN} more" if len(every) > _SHOWN else shown
