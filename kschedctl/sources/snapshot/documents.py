"""The documents of one file and their positions, and the registry of layouts in which they contain objects."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import Any, Final, Generic, TypeVar

import msgspec

from kschedctl.common.errors import InputError
from kschedctl.common.findings import Location, Position
from kschedctl.common.text.characters import utf8_text
from kschedctl.common.text.json_text import NotJsonError, json_documents, skip_blanks
from kschedctl.common.text.patterns import pattern
from kschedctl.common.text.positions import json_position, position_in_tree
from kschedctl.common.text.tree import RepeatedKey, Step, YamlNode, read_tree, repeated_in_json, repeated_in_yaml
from kschedctl.common.text.yaml import yaml_documents, yaml_values
from kschedctl.common.text.yaml_lines import LineReader, Shorten, Unread
from kschedctl.sources.snapshot.decoding import TEXTS, JsonValue, elements, plain, plain_or_none, shown
from kschedctl.sources.snapshot.header import HEADER_FIELD

T = TypeVar("T")


class ObjectHeader(msgspec.Struct, Generic[T], rename="camel", gc=False):
    """The fields that determine how an object is decoded; if the document is text, ``items`` are not decoded."""

    api_version: str | None = None
    kind: str | None = None
    items: list[T] | msgspec.UnsetType | None = msgspec.UNSET


class NoObjectError(InputError):
    """The error of a document that is not an object, or has kind or items of a wrong type."""


#: The log of a container, which ``kubectl cluster-info dump`` writes between the lists unless it writes a folder.
_LOGS: Final = pattern(
    rb"^==== START logs for container .*?(?:^==== END logs for container [^\n]*\n?|\Z)", re.DOTALL | re.MULTILINE
)

_SEPARATOR: Final = b"---"
#: The first key of an object in YAML that kubectl writes.
_VERSION_KEY: Final = b"apiVersion:"
_KIND_LINE: Final = pattern(rb"^kind:", re.MULTILINE)

ENVELOPES: Final = msgspec.json.Decoder(ObjectHeader[msgspec.Raw])


class YamlText:
    """The YAML text of a file; lookups are done on first use and cached.

    text: The text in UTF-8, with the line numbers of the whole file.
    """

    def __init__(self, text: bytes) -> None:
        self.text = text
        self._trees: dict[tuple[int, tuple[Step, ...]], YamlNode | None] = {}

    @cached_property
    def repeated(self) -> Mapping[int, Sequence[RepeatedKey]]:
        """The duplicate keys, by the number of their document."""
        found: dict[int, list[RepeatedKey]] = {}
        for nth, key in repeated_in_yaml(self.text):
            found.setdefault(nth, []).append(key)
        return found

    def tree(self, nth: int, inside: tuple[Step, ...]) -> YamlNode | None:
        """Return the positions of the values on the path to ``inside`` and below it, in the ``nth`` document."""
        if (nth, inside) not in self._trees:
            self._trees[nth, inside] = read_tree(self.text, nth, inside)
        return self._trees[nth, inside]


@dataclass(eq=False)
class Document:
    """A document of a file."""

    #: Its file and number, starting at 1.
    location: Location
    #: The content as JSON text, also if the file is YAML, or as plain data.
    value: JsonValue
    #: The envelope; ``None`` if the content does not decode to one.
    first_look: ObjectHeader[Any] | None
    #: The text of the file: ``bytes`` for JSON, ``YamlText`` for YAML.
    text: bytes | YamlText
    #: The offset in the text for JSON; the number of the document in the text, starting at 1, for YAML.
    at: int
    #: True if the document may have duplicate keys.
    may_repeat: bool = True

    @cached_property
    def envelope(self) -> ObjectHeader[Any]:
        """The envelope of a document that is an object.

        For other documents, it raises the same errors as ``read_envelope``.
        """
        return self.first_look if self.first_look is not None else read_envelope(self.value)

    @cached_property
    def repeated(self) -> Sequence[RepeatedKey]:
        """The document's duplicate keys."""
        if isinstance(self.text, YamlText):
            return self.text.repeated.get(self.at, ()) if self.may_repeat else ()
        assert isinstance(self.value, memoryview)
        return tuple(repeated_in_json(bytes(self.value)))

    def position(self, field: str, inside: tuple[Step, ...] = (), *, key: bool = False) -> Position | None:
        """Return the position of a field or of its nearest parent; parameters are those of ``json_position``."""
        if not isinstance(self.text, YamlText):
            return json_position(self.text, field, start=self.at, inside=inside, key=key)
        tree = self.text.tree(self.at, inside)
        return None if tree is None else position_in_tree(tree, self.text.text, field, inside=inside, key=key)


def any_documents(
    content: bytes,
    file: str,
    *,
    as_data: bool = False,
    is_unread: Unread | None = None,
    shorten: Shorten | None = None,
    lines: LineReader | None = None,
) -> Iterator[Document]:
    """Yield the documents of a file, objects or not.

    Args:
        content: JSON, JSON Lines or YAML; the format is detected from the content, as in kubectl.
        file: The file name for errors. If the text is valid in neither format, its suffix decides which format's
            error is raised.
        as_data: True to decode YAML to plain data, which takes many times the memory of its text, instead of JSON.
        is_unread: The YAML documents of which only ``apiVersion`` and ``kind`` are needed, as for
            ``yaml_documents``; not with ``as_data``.
        shorten: The shortening of objects that other processes read, as for ``yaml_documents``.
        lines: A reader of lines for several files, as for ``yaml_documents``; not with ``as_data``.

    Raises InputError if the text is broken, so that the rest cannot be read.
    """
    text = utf8_text(content, file)
    begin = skip_blanks(text, 0)
    if text[begin : begin + 1] not in (b"{", b"["):
        yield from _yaml(text, file, as_data=as_data, is_unread=is_unread, shorten=shorten, lines=lines)
        return
    number = end = 0
    try:
        for number, document, envelope in json_documents(text, ENVELOPES):
            start = skip_blanks(text, end)
            end = start + len(document)
            yield Document(Location(file, number), document, envelope, text, start)
    except NotJsonError as broken:
        if number and _LOGS.match(text, broken.start) is not None:
            # The line numbers of errors stay correct.
            without = _LOGS.sub(lambda logs: b"\n" * logs[0].count(b"\n"), text)
            yield from islice(any_documents(without, file, as_data=as_data), number, None)
            return
        if number and not text[broken.start :].startswith(b"---"):
            raise broken.error(text, file) from None
        # Flow style YAML starts like JSON, and YAML documents can be JSON.
        if file.removesuffix(".gz").lower().endswith((".json", ".jsonl", ".ndjson")) and not number:
            raise broken.error(text, file) from None
        if not number:
            yield from _yaml(text, file, broken=broken, as_data=as_data)
        else:
            # Empty lines in place of the JSON keep the line numbers of errors correct.
            rest = b"\n" * text.count(b"\n", 0, broken.start) + text[broken.start :]
            yield from _yaml(rest, file, number + 1, as_data=as_data)


def _yaml(
    text: bytes,
    file: str,
    first: int = 1,
    *,
    broken: NotJsonError | None = None,
    as_data: bool,
    is_unread: Unread | None = None,
    shorten: Shorten | None = None,
    lines: LineReader | None = None,
) -> Iterator[Document]:
    whole = YamlText(text if as_data else _separated(text))
    text = whole.text
    try:
        if as_data:
            for number, value, may_repeat in yaml_values(text, file, first):
                envelope = _first_look(value)
                yield Document(Location(file, number), value, envelope, whole, number - first + 1, may_repeat)
        else:
            for number, json in yaml_documents(text, file, first, is_unread, shorten, lines):
                yield Document(Location(file, number), memoryview(json), _first_look(json), whole, number - first + 1)
    except InputError:
        if broken is None:
            raise
        raise broken.error(text, file) from None


def _separated(text: bytes) -> bytes:
    r"""Return YAML with a separator where the next object begins without one, as in joined files.

    >>> _separated(b"apiVersion: v1\nkind: Pod\napiVersion: v1\nkind: Node\n")
    b'apiVersion: v1\nkind: Pod\n---\napiVersion: v1\nkind: Node\n'
    """
    n_objects = text.count(b"\n" + _VERSION_KEY) + text.startswith(_VERSION_KEY)
    if n_objects <= text.count(b"\n" + _SEPARATOR) + (not text.startswith(_SEPARATOR)):
        return text
    parts = re.split(rb"^(?=---|apiVersion:)", text, flags=re.MULTILINE)
    # Other orders of keys do not tell where an object begins.
    if any(part.startswith(_VERSION_KEY) and len(_KIND_LINE.findall(part)) != 1 for part in parts):
        return text
    joined = parts[:1]
    for before, part in pairwise(parts):
        is_next = before.startswith(_VERSION_KEY) and part.startswith(_VERSION_KEY)
        joined += [_SEPARATOR + b"\n", part] if is_next else [part]
    return b"".join(joined)


def _first_look(value: JsonValue) -> ObjectHeader[Any] | None:
    try:
        if isinstance(value, TEXTS):
            return ENVELOPES.decode(value)
        return msgspec.convert(value, ObjectHeader[Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def read_envelope(value: JsonValue) -> ObjectHeader[Any]:
    """Return the envelope of any value.

    Args:
        value: Well-formed JSON text, or plain data.

    Raises InputError if the value is not an object, or its kind or version is not text; the error has no location.
    """
    if (envelope := _first_look(value)) is not None:
        return envelope
    value = plain(value)
    if not isinstance(value, dict):
        hint = "a list of objects is written as kind: List with items" if isinstance(value, list) else ""
        raise NoObjectError(f"{shown(value)} is not a Kubernetes object", hint=hint)
    for name in ("apiVersion", "kind"):
        if not isinstance(value.get(name), str | None):
            raise NoObjectError(f"{shown(value[name])} is not text", path=name)
    kind = value.get("kind") or ""
    if kind.endswith("List") and not isinstance(value.get("items"), list | None):
        raise NoObjectError(f"{shown(value['items'])} is not a list", path="items")
    # The field "items" of an object that is not a list may have any type.
    return ObjectHeader(value.get("apiVersion"), kind)


# The registry of layouts: the formats in which documents contain objects or metadata of the cluster.
#
# Common sources are: kubectl, API servers and must-gather, which write objects and lists; kwok and clusterctl, which
# write streams of objects; ``kschedctl snapshot``, which writes a header and lists; and kube-scheduler-simulator, which
# writes one object of lists.

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
CAPTURE: Final = "header of a captured snapshot"
VERSION_OF_BUNDLE: Final = "cluster_version.json of a support bundle"
SIMULATOR: Final = "export of kube-scheduler-simulator"
#: The layouts of documents without kind and version, each with its top-level keys, one of which is sufficient.
#: Documents with both are handled before: an object, ``kind: List``, or a list of one kind (``PodList``), whose items
#: have no kind.
LAYOUTS: Final = {
    CAPTURE: frozenset({HEADER_FIELD}),
    "kubectl version -o json": frozenset({"serverVersion", "gitVersion"}),
    VERSION_OF_BUNDLE: frozenset({"info"}),
    SIMULATOR: frozenset({"nodes", "pods"}),
}


#: The kind of an answer of an API server that is no object; in place of objects, it is an error.
STATUS: Final = "Status"
#: Kinds that stand for objects without being them, and the reason why they are not read.
CARRIERS: Final = {
    ("meta.k8s.io", "Table"): "a Table, which lacks the fields that scheduling reads",
    ("meta.k8s.io", "PartialObjectMetadata"): "metadata alone, without the fields that scheduling reads",
    ("template.openshift.io", "Template"): "a Template, which is not processed",
    ("", "WatchEvent"): "an event of a watch, not an object",
    ("meta.k8s.io", "WatchEvent"): "an event of a watch, not an object",
    ("", STATUS): "an error of the API server in place of objects",
}


def is_export(fields: Mapping[str, JsonValue]) -> bool:
    """Report whether the lists of a document have objects: statistics of a kubelet and graphs have lists of its names.

    Args:
        fields: The top-level fields, some of which are those of an export of kube-scheduler-simulator.
    """
    first: JsonValue
    n_others = 0
    for key in SIMULATOR_LISTS.keys() & fields.keys():
        try:
            first = next(iter(elements(fields[key])), None)
        except msgspec.ValidationError:
            n_others += 1
            continue
        if first is not None:
            value = plain_or_none(first)
            if isinstance(value, dict) and "metadata" in value:
                return True
            n_others += 1
    return not n_others


def steps_to(location: Location, file: str) -> tuple[Step, ...]:
    """Return the path from a document of a file to an object in it.

    >>> steps_to(Location("a.json"), "a.json"), steps_to(Location("a.json:pods", 1, 3), "a.json")
    ((), ('pods', 2))
    """
    if location.item is None:
        return ()
    return location.file.removeprefix(file).removeprefix(":") or "items", location.item - 1
