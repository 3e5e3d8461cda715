"""How to make changes: kubectl's commands, and where these would be refused, what the manifest has to say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from shlex import quote
from typing import Final

import msgspec

from kschedctl.api.pod import Pod
from kschedctl.cluster.cluster import Cluster
from kschedctl.framework.remedy import Change, Create, Delete, ObjectKey, Operation, Patch, Remedy
from kschedctl.framework.remedy_scope import Scope

#: What an API server lets be changed in a pod that has no node yet.
_MUTABLE: Final = re.compile(r"add /spec/tolerations(/-)?|remove /spec/schedulingGates")


def commands_of(cluster: Cluster, remedies: Iterable[Remedy], through: tuple[Patch, ...] = ()) -> tuple[str, ...]:
    """The commands that apply remedies, one after the other.

    Parameters
    ----------
    cluster : Cluster
        The cluster, by which it is known whether a pod is there to be patched.
    remedies : iterable of Remedy
        What is to be done.
    through : tuple of Patch
        The patches of a workload that stand for those of its pods.

    Returns
    -------
    tuple of str
        A line each; one that begins with ``#`` says what a manifest has to have, as the object cannot be patched.
    """
    lines: list[str] = []
    for remedy in remedies:
        if remedy.command:
            lines.append(remedy.command)
        elif remedy.scope is not Scope.POD or not through:
            lines += [line for change in remedy.changes for line in _command(cluster, change)]
    lines += [line for change in through for line in _command(cluster, change)]
    return tuple(dict.fromkeys(lines))


def _command(cluster: Cluster, change: Change) -> Iterator[str]:
    match change:
        case Patch(kind="StorageClass" | "PersistentVolume" | "Job") if _is_immutable(change):
            told = "; ".join(map(_in_words, change.patch))
            yield f"# make {change.kind} {change.name} anew, as it cannot be changed so: {told}"
        case Patch(kind="Pod") if not _may_be_patched(cluster, change):
            told = "; ".join(map(_in_words, change.patch))
            yield f"# in the manifest of pod {change.namespace}/{change.name}: {told}"
        case Patch():
            operations = quote(msgspec.json.encode(change.patch).decode())
            yield f"kubectl patch {_target(change)} --type=json -p {operations}"
        case Delete(key):
            yield f"kubectl delete {_target(key)}"
        case Create(manifest):
            yield f"kubectl create -f - <<< {quote(msgspec.json.encode(manifest).decode())}"


def _target(key: ObjectKey) -> str:
    return f"{key.kind.lower()} {key.name}{f' -n {key.namespace}' if key.namespace else ''}"


def _may_be_patched(cluster: Cluster, patch: Patch) -> bool:
    stored = patch.kind == Pod.__name__ and (patch.namespace, patch.name) in cluster.pods.index
    return stored and all(_MUTABLE.fullmatch(f"{each['op']} {each['path']}") for each in patch.patch)


def _is_immutable(patch: Patch) -> bool:
    """Whether an API server refuses the change; of a volume it takes other labels."""
    return not all(each["path"].startswith("/metadata/") for each in patch.patch)


def _in_words(operation: Operation) -> str:
    """An operation as somebody reads it who edits a manifest."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
    path = "".join(f"[{part}]" if part.isdigit() else "" if part == "-" else f".{part}" for part in parts)[1:]
    if operation["op"] == "remove":
        return f"without {path}"
    value = msgspec.json.encode(operation["value"]).decode()
    return f"{path}{' +=' if parts[-1] == '-' else ':'} {value}"
