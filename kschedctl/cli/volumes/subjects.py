"""Which claims and pods ``volumes`` is about: named, or in manifests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

from kschedctl.api.defaults import DEFAULT_NAMESPACE
from kschedctl.api.pod import Pod
from kschedctl.api.volume import PersistentVolumeClaim
from kschedctl.api.wording import similar
from kschedctl.cli.manifests import Given, read_manifests
from kschedctl.cli.options.cluster import ClusterOptions
from kschedctl.cli.selection import named_pod, split_arguments
from kschedctl.errors import InputError
from kschedctl.face import SchedulingCluster

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
    manifests = read_manifests(
        paths, options.filenames, options.cluster.inputs, options.namespace, otherwise=PersistentVolumeClaim
    )
    cluster, asked = manifests.pods(options.cluster.load(manifests.others))
    subjects = [Subject(one.pod, one.arguments, one.where) for one in asked]
    subjects += [_stored(cluster, given) for given in manifests.otherwise]
    return cluster, [*subjects, *(_named(cluster, name, options) for name in names)]


def _stored(cluster: SchedulingCluster, given: Given) -> Subject:
    """A claim of a manifest as the cluster has it, with its defaults."""
    own = cast("PersistentVolumeClaim", given.obj)
    return Subject(cluster.cluster.get(PersistentVolumeClaim, own.name, own.namespace) or own, given.arguments)


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
    claims = _claims(cluster, "")
    close = [name] if any(c.name == name for c in claims) else similar(name, (c.name for c in claims))
    keys = [f"{claim.namespace}/{claim.name}" for claim in claims if claim.name in close]
    where = f"{namespace}/{name}" if namespace else name
    hint = f"there is {', '.join(keys[:5])}" if keys else "kschedctl volumes -A lists all claims"
    return InputError(f"the snapshot has no claim and no pod {where}", hint=hint)
