"""Capture of a cluster for a later ``--snapshot``: the data that scheduling depends on, and nothing else.

Secrets, environment variables, arguments and commands are not part of the types that are decoded, so they are in no
file. ``kept_fields`` defines the fields that are dropped, and the annotations and conditions that are kept. Finished
pods and volumes without a relevant source are dropped.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final

from msgspec.structs import replace

from kschedctl.cluster.cluster import Unread
from kschedctl.objects.coordination import NODE_LEASES, Lease
from kschedctl.objects.device import AllocatedDeviceStatus
from kschedctl.objects.kinds import CAPTURED_KINDS, cannot_be_listed
from kschedctl.objects.meta import ApiObject, Labels, ObjectMeta
from kschedctl.objects.pod import Pod, PodSpec
from kschedctl.objects.policies import PodMetrics
from kschedctl.objects.volume import Volume
from kschedctl.sources.snapshot.captured_fields import (
    READ_ANNOTATIONS,
    UNREAD_FIELDS,
    read_conditions,
    without_messages,
)
from kschedctl.sources.snapshot.header import ServerVersion, SnapshotHeader
from kschedctl.sources.snapshot.load import ObjectReader
from kschedctl.sources.snapshot.rewriting import Replacement, Rewriter

_FINISHED: Final = frozenset({"Succeeded", "Failed"})
_NO_SOURCE: Final = Volume()
_KIND_NAMES: Final = {type_: kind for (_, kind), type_ in CAPTURED_KINDS.items()}


@dataclass(frozen=True, slots=True)
class Capture:
    """The content of a captured snapshot.

    Attributes
    ----------
    header : SnapshotHeader
        The snapshot's metadata.
    objects : dict of type to list of ApiObject
        The objects of every kind that was queried.
    scheduler_config_left_out : bool
        True if the source had a scheduler configuration, which is not an object of the cluster and is dropped.
    unread : tuple of Unread
        Objects that seem to belong to the cluster and were not read.
    """

    header: SnapshotHeader
    objects: dict[type[ApiObject], list[ApiObject]]
    scheduler_config_left_out: bool = False
    unread: tuple[Unread, ...] = ()


def capture(reader: ObjectReader, *, context: str = "") -> Capture:
    """Collect the data for a snapshot from a reader's objects.

    Parameters
    ----------
    reader : ObjectReader
        A running cluster, or files.
    context : str
        The kubectl context, if the source is a cluster.

    Raises
    ------
    KschedctlError
        If the reader raises it.
    """
    rewriter = _rewriter()
    found: dict[type[ApiObject], list[ApiObject]] = {type_: [] for type_ in CAPTURED_KINDS.values()}
    for obj, _ in reader:
        if not _is_left_out(obj):
            found[type(obj)].append(rewriter.rewrite(obj))
    summary = reader.summary
    earlier = summary.header
    header = SnapshotHeader(
        kschedctl_version=version("kschedctl"),
        captured_at=summary.taken_at,
        server_version=ServerVersion(git_version=summary.git_version),
        context=context or (earlier.context if earlier is not None else ""),
        anonymized=earlier is not None and earlier.anonymized,
        not_listed={kind: cannot_be_listed(kind) for kind in _KIND_NAMES.values() if kind in summary.not_listed},
        listed_in={kind: where for kind, where in summary.listed.items() if where and kind in _KIND_NAMES.values()},
    )
    # A kind that was not queried must not be written as an empty list.
    told = {type_ for type_, kind in _KIND_NAMES.items() if kind in summary.listed or summary.n_of_kind[kind]}
    objects = {type_: objs for type_, objs in found.items() if type_ in told or objs}
    return with_counts(Capture(header, objects, summary.scheduler_config is not None, tuple(summary.unread())))


def _is_left_out(obj: ApiObject) -> bool:
    """Report whether an object is irrelevant: a finished pod, the heartbeat lease of a node, or the usage of a pod."""
    finished = isinstance(obj, Pod) and obj.status.phase in _FINISHED
    return finished or isinstance(obj, PodMetrics) or (isinstance(obj, Lease) and obj.namespace == NODE_LEASES)


def with_counts(captured: Capture) -> Capture:
    """Return the same capture with the number of objects of each kind in its header."""
    kinds = {_KIND_NAMES[type_]: len(objects) for type_, objects in captured.objects.items()}
    return dataclasses.replace(captured, header=replace(captured.header, kinds=kinds))


def _rewriter() -> Rewriter:
    """Return a rewriter that removes the data that is not captured."""
    # Volumes need a rewriter of their own, because their claim templates have annotations too.
    volumes = Rewriter(_field_rule)

    def with_source(given: tuple[Volume, ...]) -> tuple[Volume, ...]:
        kept = tuple(volume for volume in given if replace(volume, name="") != _NO_SOURCE)
        return tuple(map(volumes.rewrite, kept))

    def rule(type_: type[Any], name: str) -> Replacement | None:
        return with_source if issubclass(type_, PodSpec) and name == "volumes" else _field_rule(type_, name)

    return Rewriter(rule)


def _field_rule(type_: type[Any], name: str) -> Replacement | None:
    for base in type_.__mro__:
        if (base, name) in UNREAD_FIELDS:
            empty = UNREAD_FIELDS[base, name]
            return lambda _: empty
    if name == "conditions":
        # Binding may wait for any condition of an allocated device, so all of them are kept.
        return without_messages if issubclass(type_, AllocatedDeviceStatus) else read_conditions
    return _read_annotations if issubclass(type_, ObjectMeta) and name == "annotations" else None


def _read_annotations(annotations: Labels) -> Labels:
    if READ_ANNOTATIONS.issuperset(annotations):
        return annotations
    return {key: value for key, value in annotations.items() if key in READ_ANNOTATIONS}
