"""Objects as data, in their order and with their locations, for the way from a process that reads to the builder."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from kschedctl.cluster.records import FINISHED, PodInterner, PodRecord, StoredPods
from kschedctl.common.errors import SnapshotError
from kschedctl.common.findings import Location
from kschedctl.objects.kinds import CAPTURED_KINDS, FILE_KINDS
from kschedctl.objects.meta import ApiObject, ObjectMeta
from kschedctl.objects.pod import Pod, PodStatus

#: The kinds of objects that files may have, by their names.
TYPES: Final = {type_.__name__: type_ for type_ in (*CAPTURED_KINDS.values(), *FILE_KINDS.values())}
#: The kind of a run of pods that are records.
_RECORD: Final = ""


class Run(msgspec.Struct, frozen=True, array_like=True):
    """Objects of one kind that follow each other in one document."""

    kind: str
    #: The index of the file.
    file: int
    document: int
    #: The number of each in its list; ``None`` for a document that is the object.
    items: list[int | None]


class StoredObjects(msgspec.Struct, frozen=True, array_like=True):
    """Objects as data: pods as records, and the others of each kind, encoded."""

    pods: StoredPods
    others: dict[str, msgspec.Raw]
    files: tuple[str, ...]
    runs: tuple[Run, ...]
    #: The number of documents that precede these objects in their file, and of items in their list.
    n_documents_before: int = 0
    n_items_before: int = 0

    def __len__(self) -> int:
        return sum(len(run.items) for run in self.runs)

    def kinds(self) -> Counter[type[ApiObject]]:
        """Return the number of objects of each kind, in the order of the first of each."""
        kinds: Counter[type[ApiObject]] = Counter()
        for run in self.runs:
            kinds[Pod if run.kind == _RECORD else TYPES[run.kind]] += len(run.items)
        return kinds

    def objects(self, interner: PodInterner) -> Iterator[tuple[PodRecord | ApiObject, Location]]:
        """Yield the objects, with each pod that is not finished as a record of an interner."""
        records = iter(interner.adopt(self.pods))
        others = {kind: iter(_decoded(encoded, TYPES[kind])) for kind, encoded in self.others.items()}
        for run in self.runs:
            file, document = self.files[run.file], self.n_documents_before + run.document
            objects: Iterator[Any] = records if run.kind == _RECORD else others[run.kind]
            # The items come first: an iterator that has ended takes no object from the other.
            for item, obj in zip(run.items, objects, strict=False):
                yield obj, Location(file, document, None if item is None else self.n_items_before + item)


class ObjectsToStore:
    """A collector of objects, which become `StoredObjects`."""

    def __init__(self) -> None:
        self._interner = PodInterner()
        self._records: list[PodRecord] = []
        self._others: dict[str, list[ApiObject]] = {}
        self._files: dict[str, int] = {}
        self._runs: list[Run] = []
        self._open: tuple[str, str, int] | None = None

    def add(self, obj: ApiObject, place: Location) -> None:
        """Add an object.

        Raises InputError if a quantity, a selector or the namespace of a pod is invalid.
        """
        kind = type(obj).__name__
        if isinstance(obj, Pod):
            if "/" in obj.namespace:
                raise SnapshotError("is not a valid namespace", path="metadata.namespace")
            if obj.status.phase in FINISHED:
                # Only its name counts, and that it has finished.
                metadata = ObjectMeta(name=obj.name, namespace=obj.namespace)
                obj = Pod(metadata=metadata, status=PodStatus(phase=obj.status.phase))
            else:
                kind = _RECORD
                self._records.append(self._interner.record(obj))
        if kind != _RECORD:
            self._others.setdefault(kind, []).append(obj)
        key = kind, place.file, place.document
        if key != self._open:
            self._open = key
            file = self._files.setdefault(place.file, len(self._files))
            self._runs.append(Run(kind, file, place.document, []))
        self._runs[-1].items.append(place.item)

    def stored(self) -> StoredObjects | None:
        """Return the objects as data; ``None`` if decoding would not give equal ones."""
        others = {kind: msgspec.Raw(msgspec.msgpack.encode(objects)) for kind, objects in self._others.items()}
        if any(_decoded(encoded, TYPES[kind]) != self._others[kind] for kind, encoded in others.items()):
            return None
        pods = StoredPods.of(self._records, self._interner.classes)
        return StoredObjects(pods, others, tuple(self._files), tuple(self._runs))


def _decoded(encoded: msgspec.Raw, type_: type[ApiObject]) -> list[ApiObject]:
    decoder: msgspec.msgpack.Decoder[list[ApiObject]] = msgspec.msgpack.Decoder(list[type_])  # type: ignore[valid-type]
    return decoder.decode(encoded)
