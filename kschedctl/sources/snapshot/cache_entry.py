"""The content of a cache file: a loaded snapshot as data, in MessagePack.

Specs and labels that pods share are stored once and are shared again after decoding. Decoding runs no code that the
file names, unlike that of pickles.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster, Unread
from kschedctl.cluster.nodes import Nodes
from kschedctl.cluster.pods import Pods
from kschedctl.cluster.records import PodClass, PodRecord
from kschedctl.objects.core import Node
from kschedctl.objects.kinds import CAPTURED_KINDS, FILE_KINDS
from kschedctl.objects.meta import ApiObject, ObjectMeta
from kschedctl.objects.pod import PodSpec, PodStatus
from kschedctl.sources.snapshot.load import Snapshot
from kschedctl.sources.snapshot.summary import ReadSummary

_TYPES: Final = {type_.__name__: type_ for type_ in (*CAPTURED_KINDS.values(), *FILE_KINDS.values())}


class CachedPod(msgspec.Struct, frozen=True, array_like=True):
    """A record of a pod, with an index in place of its spec, and without the labels, which are those of its class."""

    metadata: ObjectMeta
    class_id: int
    spec: int
    node_name: str
    status: PodStatus


class CacheEntry(msgspec.Struct, frozen=True, array_like=True):
    """A loaded snapshot as data.

    Attributes
    ----------
    objects : dict of str to Raw
        The list of the other objects of each kind, encoded.
    """

    nodes: tuple[Node, ...]
    specs: tuple[PodSpec, ...]
    classes: tuple[PodClass, ...]
    pods: tuple[CachedPod, ...]
    objects: dict[str, msgspec.Raw]
    server_version: str
    taken_at: datetime | None
    warnings: tuple[str, ...]
    unread: tuple[Unread, ...]
    listed: dict[str, str]
    not_listed: frozenset[str]
    scheduler_config: dict[str, Any] | None
    left_out: dict[str, int]
    nodes_told: bool
    summary: ReadSummary


def encode_entry(snapshot: Snapshot) -> bytes | None:
    """Encode a snapshot as it was loaded; ``None`` if decoding would not give an equal one."""
    entry = _entry(snapshot)
    try:
        encoded = msgspec.msgpack.encode(entry)
        decoded = decode_entry(encoded)
        same = decoded == entry and all(
            list(_by_name(objects, _TYPES[name]).values()) == list(snapshot.cluster.list(_TYPES[name]))
            for name, objects in decoded.objects.items()
        )
    except (msgspec.MsgspecError, OverflowError, TypeError):
        return None
    return encoded if same else None


def decode_entry(encoded: bytes | memoryview) -> CacheEntry:
    """Decode an entry.

    Raises
    ------
    msgspec.MsgspecError
        If the data is no entry.
    """
    return msgspec.msgpack.Decoder(CacheEntry, dec_hook=_of_type).decode(encoded)


def _of_type(type_: type[Any], value: Any) -> Any:
    """Return the value of a type that msgspec does not know: a counter, or the identity of a file, which is empty."""
    return Counter(value) if isinstance(value, dict) else value


def _entry(snapshot: Snapshot) -> CacheEntry:
    cluster, summary = snapshot.cluster, snapshot.summary
    specs: dict[int, tuple[int, PodSpec]] = {}
    pods = tuple(
        CachedPod(
            replace(record.metadata, labels={}),
            record.class_id,
            specs.setdefault(id(record.spec), (len(specs), record.spec))[0],
            record.node_name,
            record.status,
        )
        for record in cluster.pods.records
    )
    # Identities of files are compared with one another only, and the result of that is stored.
    doubtful = set(map(id, summary.doubtful()))
    passed = [each._replace(identity=None, doubtful=id(each) in doubtful) for each in summary.passed]
    return CacheEntry(
        nodes=cluster.nodes.objects,
        specs=tuple(spec for _, spec in specs.values()),
        classes=cluster.pods.classes,
        pods=pods,
        objects={
            kind.__name__: msgspec.Raw(msgspec.msgpack.encode(list(cluster.list(kind)))) for kind in cluster.kinds
        },
        server_version=cluster.server_version,
        taken_at=cluster.taken_at,
        warnings=cluster.warnings,
        unread=cluster.unread,
        listed=cluster.listed,
        not_listed=cluster.not_listed,
        scheduler_config=snapshot.scheduler_config,
        left_out=snapshot.left_out,
        nodes_told=snapshot.nodes_told,
        summary=dataclasses.replace(summary, identities=set(), passed=passed),
    )


def snapshot_of(entry: CacheEntry, paths: tuple[str, ...]) -> Snapshot:
    """Return the snapshot of an entry."""
    classes, specs = entry.classes, entry.specs
    nodes = Nodes(entry.nodes)
    records = [
        PodRecord(
            replace(pod.metadata, labels=classes[pod.class_id].labels),
            pod.class_id,
            specs[pod.spec],
            pod.node_name,
            pod.status,
        )
        for pod in entry.pods
    ]
    cluster = Cluster(
        nodes,
        Pods(records, classes, nodes),
        {_TYPES[name]: _by_name(objects, _TYPES[name]) for name, objects in entry.objects.items()},
        server_version=entry.server_version,
        taken_at=entry.taken_at,
        warnings=entry.warnings,
        unread=entry.unread,
        listed=entry.listed,
        not_listed=entry.not_listed,
    )
    return Snapshot(
        cluster=cluster,
        paths=paths,
        scheduler_config=entry.scheduler_config,
        left_out=entry.left_out,
        nodes_told=entry.nodes_told,
        summary=entry.summary,
    )


def _by_name(encoded: msgspec.Raw, type_: type[ApiObject]) -> dict[tuple[str, str], ApiObject]:
    decode: Callable[[msgspec.Raw], list[ApiObject]] = msgspec.msgpack.Decoder(list[type_]).decode  # type: ignore[valid-type]
    return {(obj.namespace, obj.name): obj for obj in decode(encoded)}
