"""Capture of a cluster for a later ``--snapshot``: the data that scheduling depends on, and nothing else.

Secrets, environment variables, arguments and commands are not part of the types that are decoded, so they are in no
file. ``kept_fields`` defines the fields that are dropped, and the annotations and conditions that are kept. Finished
pods and volumes without a relevant source are dropped.
"""

import os
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any, Final, get_args, get_origin

import msgspec
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.unread_objects import Unread
from kschedctl.common.errors import InputError
from kschedctl.common.findings import Location
from kschedctl.common.wording import listed
from kschedctl.objects import core, meta, policies, volume
from kschedctl.objects.cluster_autoscaler import GROUP_ANNOTATIONS, SAFE_TO_EVICT
from kschedctl.objects.coordination import LEADER_ANNOTATION, NODE_LEASES, Lease
from kschedctl.objects.core import Condition
from kschedctl.objects.device import AllocatedDeviceStatus
from kschedctl.objects.event import Event, NewestEvents
from kschedctl.objects.karpenter import DISRUPTION_COST, DO_NOT_DISRUPT
from kschedctl.objects.kinds import CAPTURED_KINDS, cannot_be_listed, resource_of
from kschedctl.objects.meta import ApiObject, Labels, ObjectMeta
from kschedctl.objects.pod import DELETION_COST, Pod, PodSpec
from kschedctl.objects.policies import PodMetrics
from kschedctl.objects.volume import Volume
from kschedctl.sources.snapshot.header import HEADER_FILE, ServerVersion, SnapshotHeader
from kschedctl.sources.snapshot.load import ObjectReader
from kschedctl.sources.snapshot.rewriting import Replacement, Rewriter, structs_in
from kschedctl.sources.snapshot.summary import ReadSummary

# The fields that a captured snapshot keeps: those that scheduling and ``verify`` depend on, and no others.

#: The annotations that are kept.
READ_ANNOTATIONS: Final = frozenset(
    {
        LEADER_ANNOTATION,
        DELETION_COST,
        DISRUPTION_COST,
        DO_NOT_DISRUPT,
        SAFE_TO_EVICT,
        "deployment.kubernetes.io/revision",
        "kubernetes.io/config.mirror",
        "pv.kubernetes.io/bind-completed",
        "pv.kubernetes.io/bound-by-controller",
        "openshift.io/node-selector",
        "resource.kubernetes.io/extended-resource-claim",
        "scheduler.alpha.kubernetes.io/defaultTolerations",
        "scheduler.alpha.kubernetes.io/node-selector",
        "scheduling.k8s.io/group-name",
        "scheduling.volcano.sh/group-name",
        "storage.alpha.kubernetes.io/migrated-plugins",
        "storageclass.beta.kubernetes.io/is-default-class",
        "storageclass.kubernetes.io/is-default-class",
        "volume.beta.kubernetes.io/storage-class",
        "volume.kubernetes.io/selected-node",
        "vpaInPlaceUpdated",
        "vpaUpdates",
        *GROUP_ANNOTATIONS,
    }
)
#: Fields that no result depends on, with the value that replaces them. Parameters can contain passwords.
UNREAD_FIELDS: Final[dict[tuple[type, str], Any]] = {
    (meta.ObjectMeta, "resource_version"): "",
    (core.NodeSpec, "provider_id"): "",
    (core.NodeStatus, "volumes_attached"): (),
    (policies.PriorityClass, "description"): "",
    (policies.RuntimeClass, "handler"): "",
    (volume.StorageClass, "parameters"): {},
    (volume.VolumeAttributesClass, "parameters"): {},
    (volume.VolumeAttributesClass, "driver_name"): "",
    (volume.CSINodeDriver, "node_id"): "",
    (volume.AzureDisk, "disk_name"): "",
    (volume.AzureFile, "share_name"): "",
    (volume.AzureFile, "secret_name"): "",
    (volume.AzureFile, "secret_namespace"): "",
    (volume.ISCSI, "target_portal"): "",
    (volume.VsphereVolume, "volume_path"): "",
}
#: The conditions of NodeClaims of which only the status counts.
_STATES: Final = ("Initialized", "Consolidatable", "InstanceTerminating", "Rebooting")
#: The conditions that are kept, and the conditions that keep their reason and their message.
READ_CONDITIONS: Final = frozenset(
    {
        "PodScheduled",
        "PodResizePending",
        "PodResizeInProgress",
        "DisruptionTarget",
        "Ready",
        # Of pod groups, in Kubernetes 1.36 and as of 1.37, and of groups of them.
        "PodGroupScheduled",
        "PodGroupInitiallyScheduled",
        "CompositePodGroupInitiallyScheduled",
        # Of workloads: an API server refuses pods; a Job has ended.
        "ReplicaFailure",
        "Complete",
        "Failed",
        "Suspended",
        # Of queues and gangs of others.
        "Active",
        "Admitted",
        "Evicted",
        "QuotaReserved",
        "Unschedulable",
        # Of NodeClaims.
        "Launched",
        *_STATES,
    }
)
READ_REASONS: Final = READ_CONDITIONS - {"Ready", *_STATES}
READ_MESSAGES: Final = READ_REASONS - {"PodResizeInProgress", "DisruptionTarget", "Complete", "Failed"}


def read_conditions(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Return the conditions that are kept, without reasons and messages that are not needed."""
    return tuple(
        condition
        if condition.type in READ_MESSAGES
        else replace(condition, message="", reason=condition.reason if condition.type in READ_REASONS else "")
        for condition in conditions
        if condition.type in READ_CONDITIONS
    )


def without_messages(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Return all conditions, without their reasons and messages."""
    return tuple(replace(condition, reason="", message="") for condition in conditions)


def kept_fields() -> Iterator[tuple[str, str]]:
    """Yield every field of a captured snapshot: its kind and its path in Kubernetes spelling.

    >>> fields = set(kept_fields())
    >>> ("Pod", "spec.containers[].image") in fields, ("StorageClass", "parameters") in fields
    (True, False)
    """
    for type_ in CAPTURED_KINDS.values():
        for path in _paths(type_):
            yield type_.__name__, path


def _paths(type_: type[msgspec.Struct]) -> Iterator[str]:
    for field in msgspec.structs.fields(type_):
        if any((base, field.name) in UNREAD_FIELDS for base in type_.__mro__):
            continue
        parts = structs_in(field.type)
        fieldless = not any(msgspec.structs.fields(part) for part in parts)
        if fieldless or get_origin(field.type) is dict or str in get_args(field.type):
            # Also kept: the keys of a map, the presence of a struct without fields, and a text in a struct's place.
            yield field.encode_name
        name = f"{field.encode_name}[]" if get_origin(field.type) is tuple else field.encode_name
        for part in parts:
            yield from (f"{name}.{path}" for path in _paths(part))


_FINISHED: Final = frozenset({"Succeeded", "Failed"})
_NO_SOURCE: Final = Volume()
_KIND_NAMES: Final = {type_: type_.__name__ for type_ in CAPTURED_KINDS.values()}


@dataclass(frozen=True, slots=True)
class Capture:
    """The content of a captured snapshot."""

    #: The snapshot's metadata.
    header: SnapshotHeader
    #: The objects of every kind that was queried.
    objects: dict[type[ApiObject], list[ApiObject]]
    #: True if the source had a scheduler configuration, which is not an object of the cluster and is dropped.
    scheduler_config_left_out: bool = False
    #: Objects that seem to belong to the cluster and were not read.
    unread: tuple[Unread, ...] = ()


def capture(reader: ObjectReader, *, context: str = "") -> Capture:
    """Collect the data for a snapshot from a reader's objects.

    Args:
        reader: A running cluster, or files.
        context: The kubectl context, if the source is a cluster.

    Raises KschedctlError if the reader raises it.
    """
    # Volumes need a rewriter of their own, because their claim templates have annotations too.
    volumes = Rewriter(_field_rule)

    def with_source(given: tuple[Volume, ...]) -> tuple[Volume, ...]:
        kept = (each for each in given if replace(each, name="", projected=None) != _NO_SOURCE or each.certificate_keys)
        return tuple(map(volumes.rewrite, kept))

    rewriter = Rewriter(
        lambda type_, name: (
            with_source if issubclass(type_, PodSpec) and name == "volumes" else _field_rule(type_, name)
        )
    )
    found: dict[type[ApiObject], list[ApiObject]] = {type_: [] for type_ in CAPTURED_KINDS.values()}
    events = NewestEvents()
    for obj, _ in reader:
        if isinstance(obj, Event):
            events.add(obj)
            continue
        finished = isinstance(obj, Pod) and obj.status.phase in _FINISHED
        if not (finished or isinstance(obj, PodMetrics) or (isinstance(obj, Lease) and obj.namespace == NODE_LEASES)):
            found[type(obj)].append(rewriter.rewrite(obj))
    found[Event] = [rewriter.rewrite(event.short()) for event in events.values()]
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
    header = replace(header, kinds={_KIND_NAMES[type_]: len(objs) for type_, objs in objects.items()})
    return Capture(header, objects, summary.scheduler_config is not None, tuple(summary.unread()))


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


# Writing of a captured snapshot to a folder or archive, with one list per kind.

ARCHIVES: Final = (".tar.gz", ".tgz")
_NOT_WRITTEN: Final = (".tar", ".zip", ".gz", ".json", ".jsonl", ".ndjson", ".yaml", ".yml")
_PLACES: Final = {type_: key for key, type_ in CAPTURED_KINDS.items()}
_FILE_MODE: Final = 0o644
#: The names of all files that a snapshot may contain.
_NAMES: Final = frozenset({HEADER_FILE, *(f"{resource_of(kind)}.json" for kind in _KIND_NAMES.values())})


def write_capture(captured: Capture, target: str | Path, *, force: bool = False) -> None:
    """Write a captured snapshot.

    Args:
        target: A file name that ends in ``.tar.gz`` or ``.tgz``, else a folder, which must be empty or not exist
            yet.
        force: True to replace an earlier snapshot: a file once the new one is complete, a folder only if it
            contains nothing else.

    Raises InputError if the snapshot cannot be written.
    """
    path = Path(target)
    check_target(path, force=force)
    try:
        if path.name.endswith(ARCHIVES):
            moment = captured.header.captured_at
            handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            try:
                with open(handle, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as archive:
                    for name, content in _files_of_capture(captured):
                        member = tarfile.TarInfo(name)
                        member.size = len(content)
                        member.mode = _FILE_MODE
                        member.mtime = int(moment.timestamp()) if moment is not None else 0
                        archive.addfile(member, BytesIO(content))
                mask = os.umask(0)
                os.umask(mask)
                Path(unfinished).chmod(0o666 & ~mask)
                Path(unfinished).replace(path)
            except BaseException:
                Path(unfinished).unlink(missing_ok=True)
                raise
        else:
            path.mkdir(parents=True, exist_ok=True)
            for name in _NAMES:
                (path / name).unlink(missing_ok=True)
            for name, content in _files_of_capture(captured):
                (path / name).write_bytes(content)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", where=str(path)) from None


def check_target(target: str | Path, *, force: bool = False) -> None:
    """Check that a snapshot can be written to ``target``. Call before reading a cluster for it.

    Raises InputError if the snapshot cannot be written.
    """
    path = Path(target)
    if path.name.endswith(ARCHIVES):
        if not path.parent.is_dir():
            raise InputError("there is no such folder", where=str(path.parent))
        if path.is_dir() or (path.exists() and not force):
            hint = "name another file" if path.is_dir() else "name another file, or give --force"
            raise InputError("already exists", where=str(path), hint=hint)
        return
    if path.suffix in _NOT_WRITTEN:
        hint = "give FILE.tar.gz or DIR"
        raise InputError("is neither a folder nor an archive that can be written", where=str(path), hint=hint)
    if not path.exists():
        return
    hint = "name a folder that is empty or does not exist"
    if path.is_dir():
        present = {entry.name for entry in path.iterdir()}
        others = sorted(present - _NAMES)
        if not present or (force and not others):
            return
        if not others:
            hint += ", or give --force"
        elif force:
            # Other files would be read as part of the snapshot.
            hint = f"--force replaces only a snapshot, but the folder also has {listed(others)}"
    raise InputError("already exists and is not an empty folder", where=str(path), hint=hint)


def _files_of_capture(captured: Capture) -> Iterator[tuple[str, bytes]]:
    """Yield the file names and contents; the header comes first, so that readers of an archive find it at once."""
    yield HEADER_FILE, msgspec.json.format(msgspec.json.encode(captured.header), indent=2) + b"\n"
    for type_, objects in captured.objects.items():
        group, kind = _PLACES[type_]
        api_version = f"{group}/v1" if group else "v1"
        items = b",\n".join(map(msgspec.json.encode, objects))
        head = msgspec.json.encode({"apiVersion": api_version, "kind": f"{kind}List"})
        yield f"{resource_of(type_.__name__)}.json", b'%s,"items":[\n%s\n]}\n' % (head[:-1], items)


# A reader over the objects of a ``Cluster`` in memory, so that a modified cluster can be captured.


class ClusterReader:
    """A reader that yields every object of a cluster."""

    def __init__(self, cluster: Cluster, summary: ReadSummary) -> None:
        self.summary = summary
        self._cluster = cluster

    def __iter__(self) -> Iterator[tuple[ApiObject, Location]]:
        cluster = self._cluster
        place = Location("the cluster")
        for node in cluster.nodes.objects:
            yield node, place
        for index, record in enumerate(cluster.pods.records):
            # The cluster stores a pod's node name outside its spec, which equal pods share.
            pod = cluster.pods.pod(index)
            yield replace(pod, spec=replace(pod.spec, node_name=record.node_name)), place
        for kind in cluster.kinds:
            for obj in cluster.list(kind):
                yield obj, place
