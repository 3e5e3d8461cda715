"""The registry of layouts: the formats in which documents contain objects or metadata of the cluster.

Common sources are: kubectl, API servers and must-gather, which write objects and lists; kwok and clusterctl, which
write streams of objects; ``kschedctl snapshot``, which writes a header and lists; and kube-scheduler-simulator, which
writes one object of lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import msgspec

from kschedctl.common.errors import InputError
from kschedctl.common.findings import Location
from kschedctl.common.text.tree import Step
from kschedctl.objects.meta import ApiObject
from kschedctl.sources.snapshot.decoding import JsonValue, decode, elements, plain, shown
from kschedctl.sources.snapshot.documents import Document
from kschedctl.sources.snapshot.header import HEADER_FIELD, SnapshotHeader
from kschedctl.sources.snapshot.summary import ReadSummary

Fields: TypeAlias = Mapping[str, JsonValue]
Objects: TypeAlias = Iterable[tuple[ApiObject, Location]]

#: The lists in an export of kube-scheduler-simulator.
SIMULATOR_LISTS: Final = {
    "namespaces": ("v1", "Namespace"),
    "priorityClasses": ("scheduling.k8s.io/v1", "PriorityClass"),
    "storageClasses": ("storage.k8s.io/v1", "StorageClass"),
    "pvs": ("v1", "PersistentVolume"),
    "pvcs": ("v1", "PersistentVolumeClaim"),
    "nodes": ("v1", "Node"),
    "pods": ("v1", "Pod"),
}
_SIMULATOR_CONFIG: Final = "schedulerConfig"


_ITEMS: Final = "items"


class LayoutReading(Protocol):
    """The reading of an input that a document belongs to."""

    summary: ReadSummary

    def note(self, error: InputError) -> None:
        """Record the problems of an error."""

    def typed_items(
        self, items: Sequence[JsonValue], api_version: str, kind: str, location: Location
    ) -> Iterator[tuple[ApiObject, Location]]:
        """Read the items of a list, with the given version and kind if they have none of their own."""


class Layout(NamedTuple):
    """A layout of documents that have neither kind nor version.

    Attributes
    ----------
    name : str
        The name of the layout, for messages.
    keys : frozenset of str
        The top-level keys that identify the layout; one of them is sufficient.
    read : callable
        Yields the objects of a document, given its top-level fields.
    """

    name: str
    keys: frozenset[str]
    read: Callable[[LayoutReading, Document, Fields], Objects]


def steps_to(location: Location, file: str) -> tuple[Step, ...]:
    """Return the path from a document of a file to an object in it.

    Examples
    --------
    >>> steps_to(Location("a.json"), "a.json"), steps_to(Location("a.json:pods", 1, 3), "a.json")
    ((), ('pods', 2))
    """
    if location.item is None:
        return ()
    return location.file.removeprefix(file).removeprefix(":") or _ITEMS, location.item - 1


def layout_of(fields: Fields) -> Layout | None:
    """Return the first layout that matches a document's top-level fields, or ``None``."""
    return next((layout for layout in LAYOUTS if not layout.keys.isdisjoint(fields)), None)


def _captured_header(reading: LayoutReading, document: Document, _: Fields) -> Objects:
    header = decode(document.value, SnapshotHeader)
    summary = reading.summary
    summary.header = header
    summary.captured_at = header.captured_at or summary.captured_at
    summary.git_version = header.server_version.git_version
    summary.not_listed.update(header.not_listed)
    summary.announced.update(header.kinds)
    summary.listed |= {kind: header.listed_in.get(kind, "") for kind in header.kinds}
    return ()


def _version(reading: LayoutReading, document: Document, _: Fields) -> Objects:
    reading.summary.note_version(plain(document.value))
    return ()


def _simulator_export(
    reading: LayoutReading, document: Document, fields: Fields
) -> Iterator[tuple[ApiObject, Location]]:
    location = document.location
    config: Any = plain(fields.get(_SIMULATOR_CONFIG))
    if isinstance(config, dict):
        reading.summary.scheduler_config = config
    elif config is not None:
        reading.note(InputError(f"{shown(config)} is not an object", where=location, path=_SIMULATOR_CONFIG))
    for key, (api_version, kind) in SIMULATOR_LISTS.items():
        try:
            items = elements(fields.get(key))
        except msgspec.ValidationError:
            reading.note(InputError(f"{shown(plain(fields[key]))} is not a list", where=location, path=key))
            continue
        # Items are numbered per list.
        place = location._replace(file=f"{location.file}:{key}")
        reading.summary.listed.setdefault(kind, "")
        yield from reading.typed_items(items, api_version, kind, place)


#: The layouts of documents without kind and version. Documents with both are handled before: an object,
#: ``kind: List``, or a list of one kind (``PodList``), whose items have no kind.
LAYOUTS: Final = (
    Layout("header of a captured snapshot", frozenset({HEADER_FIELD}), _captured_header),
    Layout("kubectl version -o json", frozenset({"serverVersion", "gitVersion"}), _version),
    Layout("export of kube-scheduler-simulator", frozenset({"nodes", "pods"}), _simulator_export),
)
