"""Shell completion: candidates for the next word, through typer for shells and for ``kubectl ksched``.

Names come from the cluster that the preceding options select. A separate process queries it and is ended after two
seconds; the names found by then are offered. Errors are not reported, because the user has not run a command yet.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import typer

# The paths of the snapshot that options or the environment select.

SNAPSHOT_VARIABLE: Final = "KSCHEDCTL_SNAPSHOT"
CLUSTER_VARIABLE: Final = "KSCHEDCTL_CLUSTER"
STDIN: Final = "-"
CACHE_VARIABLE: Final = "KSCHEDCTL_CACHE"


def chosen_cluster(given: str, snapshot: Sequence[str] | None) -> str:
    """Return the cluster of a snapshot that holds several; empty if none is chosen.

    Args:
        snapshot: The values of ``--snapshot``: the environment variable is about the snapshot of the environment.
    """
    return given or ("" if snapshot else os.environ.get(CLUSTER_VARIABLE, ""))


def snapshot_paths(given: Sequence[str] | None, *, live: bool) -> tuple[str, ...]:
    """Return the paths of the snapshot; empty for a running cluster.

    Args:
        live: True if other options select a running cluster: the environment variable is then ignored.
    """
    if given or live:
        return tuple(given or ())
    return tuple(path for path in os.environ.get(SNAPSHOT_VARIABLE, "").split(os.pathsep) if path)


_SECONDS: Final = 2.0
_WORKLOADS: Final = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController", "Job")
_ROLLED: Final = ("Deployment", "StatefulSet")


class NamedObject(NamedTuple):
    """An object of the cluster."""

    kind: str
    namespace: str
    name: str
    zone: str = ""


def pods(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the pods in scope, as ``NAMESPACE/NAME``, with ``-n`` as ``NAME``."""
    return _in_scope(ctx, incomplete, ("Pod",), prefixes=("pod/", "pods/", "po/"))


def claims(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the claims and pods in scope."""
    prefixes = ("pvc/", "pod/")
    kinds = {"pvc/": ("PersistentVolumeClaim",), "pod/": ("Pod",)}
    given = next((prefix for prefix in prefixes if incomplete.startswith(prefix)), "")
    return _in_scope(ctx, incomplete, kinds.get(given, ("PersistentVolumeClaim", "Pod")), prefixes)


def device_subjects(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the ResourceClaims in scope, and the device classes as ``class/NAME``."""
    objects = list(_objects(ctx))
    claims = _in_scope(ctx, incomplete, ("ResourceClaim",), prefixes=("claim/",), objects=objects)
    return claims + _beginning(incomplete, (f"class/{each.name}" for each in objects if each.kind == "DeviceClass"))


def namespaces(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the namespaces, including those that are known only from objects in them."""
    found = (each.name if each.kind == "Namespace" else each.namespace for each in _objects(ctx))
    return _beginning(incomplete, found)


def nodes(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the names of the nodes."""
    return _beginning(incomplete, (each.name for each in _objects(ctx) if each.kind == "Node"))


def clusters(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the paths of the clusters in a snapshot that holds several."""
    paths = snapshot_paths(ctx.params.get("snapshot"), live=False)
    return _beginning(incomplete, (each.name for each in _found(paths, cluster=None)))


def zones(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the zones of the nodes."""
    return _beginning(incomplete, (each.zone for each in _objects(ctx) if each.kind == "Node"))


def workloads(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the workloads, as ``KIND/NAMESPACE/NAME``, with ``-n`` as ``KIND/NAME``."""
    own = ctx.params.get("namespace") or ""
    found = (each for each in _objects(ctx) if each.kind in _WORKLOADS and own in ("", each.namespace))
    names = ((each.kind.lower(), "" if own else each.namespace, each.name) for each in found)
    return _beginning(incomplete, ("/".join(filter(None, parts)) for parts in names))


def rolled(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the workloads that can be rolled out, as ``KIND/NAME``."""
    own = ctx.params.get("namespace") or ""
    found = (each for each in _objects(ctx) if each.kind in _ROLLED and own in ("", each.namespace))
    return _beginning(incomplete, (f"{each.kind.lower()}/{each.name}" for each in found))


def forms(incomplete: str) -> list[str]:
    """Return the output formats."""
    return _forms(incomplete, "ANSWER")


def table_forms(incomplete: str) -> list[str]:
    """Return the output formats of a tabular answer."""
    return _forms(incomplete, "TABLE")


def _forms(incomplete: str, kind: str) -> list[str]:
    from kschedctl.output.forms import FORMS, FormKind, names

    return _beginning(incomplete, (f"{name}=" if FORMS[name].argument else name for name in names(FormKind[kind])))


def releases(incomplete: str) -> list[str]:
    """Return the modelled releases."""
    from kschedctl.objects.releases.names import RELEASE_NAMES

    return _beginning(incomplete, RELEASE_NAMES)


def _in_scope(
    ctx: typer.Context,
    incomplete: str,
    kinds: tuple[str, ...],
    prefixes: tuple[str, ...],
    objects: Iterable[NamedObject] | None = None,
) -> list[str]:
    prefix = next((each for each in prefixes if incomplete.startswith(each)), "")
    own = "" if ctx.params.get("all_namespaces") else ctx.params.get("namespace") or ""
    there = _objects(ctx) if objects is None else objects
    found = [each for each in there if each.kind in kinds and own in ("", each.namespace)]
    bare = bool(own or prefix)
    return _beginning(incomplete, (prefix + (each.name if bare else f"{each.namespace}/{each.name}") for each in found))


def _beginning(start: str, names: Iterable[str]) -> list[str]:
    return sorted({name for name in names if name and name.startswith(start)})


def _objects(ctx: typer.Context) -> Iterator[NamedObject]:
    """Yield the objects of the cluster that the preceding options select."""
    context, kubeconfig = (ctx.params.get(name) or "" for name in ("context", "kubeconfig"))
    paths = snapshot_paths(ctx.params.get("snapshot"), live=bool(context or kubeconfig))
    if paths and (context or kubeconfig):
        return
    cluster = chosen_cluster(ctx.params.get("cluster") or "", ctx.params.get("snapshot"))
    yield from _found(paths, cluster=cluster, context=context, kubeconfig=kubeconfig)


def _found(
    paths: tuple[str, ...], *, cluster: str | None, context: str = "", kubeconfig: str = ""
) -> Iterator[NamedObject]:
    """Yield the objects of a cluster, or without ``cluster`` the clusters in a snapshot."""
    # During completion, standard input is the terminal.
    if STDIN in paths:
        return
    import json

    asked = json.dumps({"paths": paths, "cluster": cluster, "context": context, "kubeconfig": kubeconfig})
    command = [sys.executable, "-m", "kschedctl.cli.names", asked]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=_SECONDS, check=False)
        text = done.stdout
    except subprocess.TimeoutExpired as ended:
        text = ended.stdout or b""
    except OSError:
        return
    for line in text.decode(errors="replace").splitlines(keepends=True):
        parts = line.removesuffix("\n").split("\t")
        # The last line may be incomplete.
        if line.endswith("\n") and len(parts) == len(NamedObject._fields):
            yield NamedObject(*parts)
