"""The kubectl commands that make changes, or the manifest's new content where an API server refuses the patch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from shlex import quote
from typing import Final

import msgspec

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.remedy import (
    Change,
    Create,
    ObjectDeletion,
    ObjectKey,
    Operation,
    Patch,
    Remedy,
    RemedyScope,
    Risk,
)

#: The patch operations that an API server accepts for a pending pod.
_MUTABLE: Final = re.compile(r"add /spec/tolerations(/-)?|remove /spec/schedulingGates")


def commands_of(cluster: Cluster, remedies: Iterable[Remedy], through: tuple[Patch, ...] = ()) -> tuple[str, ...]:
    """Return the commands that apply remedies, in order.

    Parameters
    ----------
    cluster : Cluster
        The cluster; only pods stored in it can be patched.
    remedies : iterable of Remedy
        The remedies.
    through : tuple of Patch
        The patches of a workload that replace those of its pods.

    Returns
    -------
    tuple of str
        One line per command, without duplicates; none for a wait. A line that begins with ``#`` states the content of
        a manifest instead, as the object cannot be patched.
    """
    lines: list[str] = []
    for remedy in remedies:
        if remedy.command:
            lines.append(remedy.command)
        elif remedy.risk is Risk.WAIT:
            # What is waited for happens by itself: its changes were only made to try what follows.
            continue
        elif remedy.scope is not RemedyScope.POD or not through:
            lines += [line for change in remedy.changes for line in _command(cluster, change)]
    lines += [line for change in through for line in _command(cluster, change)]
    return tuple(dict.fromkeys(lines))


def _command(cluster: Cluster, change: Change) -> Iterator[str]:
    match change:
        case Patch(kind="StorageClass" | "PersistentVolume" | "Job") if _is_immutable(change):
            told = "; ".join(map(_in_words, change.patch))
            yield f"# recreate {change.kind} {change.name}, which cannot be changed in place: {told}"
        case Patch(kind="Pod") if not _may_be_patched(cluster, change):
            told = "; ".join(map(_in_words, change.patch))
            yield f"# in the manifest of pod {change.namespace}/{change.name}: {told}"
        case Patch():
            operations = quote(msgspec.json.encode(change.patch).decode())
            yield f"kubectl patch {_target(change)} --type=json -p {operations}"
        case ObjectDeletion(key):
            yield f"kubectl delete {_target(key)}"
        case Create(manifest):
            yield f"kubectl create -f - <<< {quote(msgspec.json.encode(manifest).decode())}"


def _target(key: ObjectKey) -> str:
    return f"{key.kind.lower()} {key.name}{f' -n {key.namespace}' if key.namespace else ''}"


def _may_be_patched(cluster: Cluster, patch: Patch) -> bool:
    stored = patch.kind == Pod.__name__ and (patch.namespace, patch.name) in cluster.pods.index
    return stored and all(_MUTABLE.fullmatch(f"{each['op']} {each['path']}") for each in patch.patch)


def _is_immutable(patch: Patch) -> bool:
    """Report whether an API server refuses the patch: only the object's metadata can be changed."""
    return not all(each["path"].startswith("/metadata/") for each in patch.patch)


def _in_words(operation: Operation) -> str:
    """Return a patch operation as text for a reader who edits a manifest."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
    path = "".join(f"[{part}]" if part.isdigit() else "" if part == "-" else f".{part}" for part in parts)[1:]
    if operation["op"] == "remove":
        return f"without {path}"
    value = msgspec.json.encode(operation["value"]).decode()
    return f"{path}{' +=' if parts[-1] == '-' else ':'} {value}"
