"""Which pods a command is about: named, in manifests, or selected from the snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kschedctl.api.defaults import DEFAULT_NAMESPACE
from kschedctl.api.meta import ApiObject
from kschedctl.api.pod import Pod
from kschedctl.api.selectors import matches
from kschedctl.api.wording import listed
from kschedctl.cli.label_query import parse_label_query
from kschedctl.cli.streams import stdin
from kschedctl.cluster.pods import PENDING, Pods
from kschedctl.errors import InputError, ManifestError
from kschedctl.snapshot.location import Location
from kschedctl.snapshot.pod_choice import STDIN, find_pod, is_manifest
from kschedctl.snapshot.reading import read_manifest

_POD_PREFIXES = ("pod/", "pods/", "po/")


@dataclass(frozen=True, slots=True)
class Asked:
    """A pod, the arguments that ask for it alone, and where it was read where that is a manifest."""

    pod: Pod
    arguments: tuple[str, ...]
    where: str = ""


@dataclass(frozen=True, slots=True)
class Manifests:
    """What manifests hold.

    Attributes
    ----------
    pods : tuple of Asked
        Their pods.
    others : tuple of (object, place)
        What else would be in the cluster once they are applied.
    """

    pods: tuple[Asked, ...]
    others: tuple[tuple[ApiObject, Location], ...]


def split_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Tell manifests from pods among arguments."""
    manifests = [text for text in arguments if is_manifest(text)]
    return manifests, [text for text in arguments if text not in manifests]


def read_manifests(paths: Sequence[str], options: Sequence[str], snapshots: Sequence[str], namespace: str) -> Manifests:
    """Read manifests.

    Parameters
    ----------
    paths : sequence of str
        Those given as arguments.
    options : sequence of str
        Those given with ``-f``.
    snapshots : sequence of str
        The snapshot's paths: only one thing can be read from standard input.
    namespace : str
        The namespace of pods that name none; empty for the default.

    Raises
    ------
    ManifestError
        Where something is wrong with them, or they have no pod.
    """
    if [*paths, *options, *snapshots].count(STDIN) > 1:
        raise ManifestError("standard input (-) is given twice", hint="name a file for one of them")
    pods: list[Asked] = []
    others: list[tuple[ApiObject, Location]] = []
    for path, words in [*((p, (p,)) for p in paths), *((p, ("-f", p)) for p in options)]:
        found = read_manifest(path, stdin=stdin() if path == STDIN else None)
        own = [(obj, place) for obj, place in found if isinstance(obj, Pod)]
        if not own:
            kinds = listed(sorted({type(obj).__name__ for obj, _ in found}))
            raise ManifestError("holds no pod", where=path, hint=f"it holds {kinds}: give a Pod")
        others += [(obj, place) for obj, place in found if not isinstance(obj, Pod)]
        pods += [Asked(in_namespace(pod, namespace), words, str(place)) for pod, place in own]
    return Manifests(tuple(pods), tuple(others))


def in_namespace(pod: Pod, namespace: str) -> Pod:
    """A pod of a manifest in the namespace that the command names.

    Raises
    ------
    ManifestError
        Where the pod is of another namespace.
    """
    from msgspec.structs import replace

    own = pod.metadata.namespace
    if namespace and own and own != namespace:
        raise ManifestError(
            f"the pod {own}/{pod.name} is not of the namespace {namespace} that is given with -n",
            hint="leave -n out, or change the manifest",
        )
    return replace(pod, metadata=replace(pod.metadata, namespace=own or namespace or DEFAULT_NAMESPACE))


def named_pod(pods: Pods, text: str, namespace: str, *, everywhere: bool) -> Asked:
    """The pod of the snapshot that an argument names.

    Raises
    ------
    InputError
        Where there is none, or the argument is not a pod's name.
    """
    prefix = next((prefix for prefix in _POD_PREFIXES if text.startswith(prefix)), "")
    own, slash, name = text.removeprefix(prefix).rpartition("/")
    if not name or "/" in own or (prefix and slash):
        raise InputError(f'"{text}" names no pod', hint="give NAMESPACE/NAME, pod/NAME, NAME or the path of a manifest")
    if namespace and own and own != namespace:
        raise InputError(f'"{text}" is of another namespace than -n {namespace}')
    wanted = own or namespace or (None if everywhere else DEFAULT_NAMESPACE)
    pod = find_pod(pods, name, wanted)
    return Asked(pod, (pod.key,))


def selected_pods(pods: Pods, selector: str, namespace: str, *, everywhere: bool) -> list[Asked]:
    """The pods with some labels, or without a selector those that are pending.

    Raises
    ------
    InputError
        Where no pod has the labels, or the selector is wrong.
    """
    wanted = parse_label_query(selector) if selector else None
    chosen = None if everywhere else namespace or DEFAULT_NAMESPACE
    found = []
    for index, record in enumerate(pods.records):
        if chosen is not None and record.metadata.namespace != chosen:
            continue
        if pods.node_row[index] == PENDING if wanted is None else matches(wanted, record.metadata.labels):
            found.append(Asked(pods.pod(index), (pods.key(index),)))
    if not found:
        where = "any namespace" if chosen is None else f"namespace {chosen}"
        what = f"has the labels {selector}" if selector else "is pending"
        hint = "name one: NAMESPACE/NAME, or a manifest" + ("" if everywhere else "; -A looks in all namespaces")
        raise InputError(f"no pod in {where} {what}", hint=hint)
    return found
