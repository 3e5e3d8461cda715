"""Which claims and pods ``volumes`` is about: named, or in manifests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from kschedctl.api.defaults import DEFAULT_NAMESPACE
from kschedctl.api.meta import ApiObject
from kschedctl.api.pod import Pod
from kschedctl.api.volume import PersistentVolumeClaim
from kschedctl.cli.cluster_options import ClusterOptions
from kschedctl.cli.selection import in_namespace, named_pod, split_arguments
from kschedctl.cli.streams import stdin
from kschedctl.errors import InputError, ManifestError
from kschedctl.face import SchedulingCluster
from kschedctl.snapshot.location import Location
from kschedctl.snapshot.pod_choice import STDIN
from kschedctl.snapshot.reading import read_manifest

_CLAIM_PREFIXES: Final = ("pvc/", "persistentvolumeclaim/", "persistentvolumeclaims/")
_POD_PREFIXES: Final = ("pod/", "pods/", "po/")


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectOptions:
    """The options that say which claims and pods of which cluster are meant."""

    cluster: ClusterOptions
    names: tuple[str, ...]
    filenames: tuple[str, ...]
    namespace: str
    all_namespaces: bool


@dataclass(frozen=True, slots=True)
class Subject:
    """A claim or a pod, the arguments that ask for it, and where it was read."""

    subject: Pod | PersistentVolumeClaim
    arguments: tuple[str, ...] = ()
    where: str = ""


def find_subjects(options: SubjectOptions) -> tuple[SchedulingCluster, list[Subject]]:
    """Load the cluster and find what is named; nothing where all claims are meant.

    Raises
    ------
    KschedctlError
        Where the cluster or a manifest cannot be read, or there is no such claim or pod.
    """
    paths, names = split_arguments(options.names)
    given = [*((path, (path,)) for path in paths), *((path, ("-f", path)) for path in options.filenames)]
    if [*(path for path, _ in given), *options.cluster.inputs].count(STDIN) > 1:
        raise ManifestError("standard input (-) is given twice", hint="name a file for one of them")
    subjects: list[Subject] = []
    others: list[tuple[ApiObject, Location]] = []
    for path, words in given:
        pods, rest = _read(path, words, options.namespace)
        subjects += pods or [Subject(o, words, str(at)) for o, at in rest if isinstance(o, PersistentVolumeClaim)]
        others += rest
        if not subjects:
            raise ManifestError("holds no pod and no claim", where=path)
    cluster = options.cluster.load(others)
    stored = [_stored(cluster, subject) for subject in subjects]
    return cluster, [*stored, *(_named(cluster, name, options) for name in names)]


def _stored(cluster: SchedulingCluster, asked: Subject) -> Subject:
    """A claim of a manifest as the cluster has it, with its defaults."""
    own = asked.subject
    if isinstance(own, Pod):
        return asked
    return Subject(cluster.cluster.get(PersistentVolumeClaim, own.name, own.namespace) or own, asked.arguments)


def _read(path: str, words: tuple[str, ...], namespace: str) -> tuple[list[Subject], list[tuple[ApiObject, Location]]]:
    """The pods of a manifest, and what else it adds to the cluster."""
    pods: list[Subject] = []
    rest: list[tuple[ApiObject, Location]] = []
    for obj, place in read_manifest(path, stdin=stdin() if path == STDIN else None):
        if isinstance(obj, Pod):
            pods.append(Subject(in_namespace(obj, namespace), words, str(place)))
        elif isinstance(obj, PersistentVolumeClaim):
            own = obj.metadata.namespace or namespace or DEFAULT_NAMESPACE
            rest.append((replace(obj, metadata=replace(obj.metadata, namespace=own)), place))
        else:
            rest.append((obj, place))
    return pods, rest


def _named(cluster: SchedulingCluster, text: str, options: SubjectOptions) -> Subject:
    """The claim or pod that an argument names; where there are both, the claim."""
    prefix = next((prefix for prefix in _CLAIM_PREFIXES if text.startswith(prefix)), "")
    if prefix or not text.startswith(_POD_PREFIXES):
        own, _, name = text.removeprefix(prefix).rpartition("/")
        if options.namespace and own and own != options.namespace:
            raise InputError(f'"{text}" is of another namespace than -n {options.namespace}')
        namespace = own or _namespace(options)
        claims = [c for c in _claims(cluster, namespace) if c.name == name]
        if len(claims) == 1:
            return Subject(claims[0], (f"{claims[0].namespace}/{name}",))
        if claims:
            names = ", ".join(f"{claim.namespace}/{claim.name}" for claim in claims)
            raise InputError(f"the snapshot has {len(claims)} claims of the name {name}", hint=f"name one: {names}")
        pods = [key for key in cluster.pods.index if key[1] == name and namespace in ("", key[0])]
        if prefix or not pods:
            raise _no_such_claim(cluster, name, namespace)
    asked = named_pod(cluster.pods, text, options.namespace, everywhere=options.all_namespaces)
    return Subject(asked.pod, asked.arguments)


def all_claims(cluster: SchedulingCluster, options: SubjectOptions) -> list[PersistentVolumeClaim]:
    """All claims of the namespace that is meant, or of all.

    Raises
    ------
    InputError
        Where there are none.
    """
    namespace = _namespace(options)
    claims = _claims(cluster, namespace)
    if not claims:
        where = f"namespace {namespace}" if namespace else "the snapshot"
        raise InputError(f"{where} has no claims", hint="-A looks in all namespaces" if namespace else "")
    return claims


def _claims(cluster: SchedulingCluster, namespace: str) -> list[PersistentVolumeClaim]:
    claims = cluster.cluster.list(PersistentVolumeClaim)
    return [claim for claim in claims if namespace in ("", claim.namespace)]


def _namespace(options: SubjectOptions) -> str:
    """The namespace of what is named without one; empty for all."""
    return "" if options.all_namespaces else options.namespace or DEFAULT_NAMESPACE


def _no_such_claim(cluster: SchedulingCluster, name: str, namespace: str) -> InputError:
    from difflib import get_close_matches

    claims = _claims(cluster, "")
    close = {name} if any(c.name == name for c in claims) else set(get_close_matches(name, {c.name for c in claims}))
    keys = [f"{claim.namespace}/{claim.name}" for claim in claims if claim.name in close]
    where = f"{namespace}/{name}" if namespace else name
    hint = f"there is {', '.join(keys[:5])}" if keys else "kschedctl volumes -A lists all claims"
    return InputError(f"the snapshot has no claim and no pod {where}", hint=hint)
