"""The documents of one file, each with what its first look tells: kind, version, items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from kschedctl.errors import InputError
from kschedctl.findings.location import Location
from kschedctl.snapshot.conform import plain, shown
from kschedctl.text.encoding import utf8_text
from kschedctl.text.json_text import NotJsonError, json_documents, skip_blanks
from kschedctl.text.repeated_keys import RepeatedKey, repeated_in_json, repeated_in_yaml
from kschedctl.text.yaml import yaml_documents

_JSON_SUFFIXES: Final = (".json", ".jsonl", ".ndjson")


class Envelope(msgspec.Struct, rename="camel", gc=False):
    """What tells how to read an object; ``items`` stay text until each is wanted."""

    api_version: str | None = None
    kind: str | None = None
    items: list[msgspec.Raw] | msgspec.UnsetType | None = msgspec.UNSET


class NoObjectError(InputError):
    """A document is no object; ``value`` is what it is."""

    value: Any = None


_ENVELOPES: Final = msgspec.json.Decoder(Envelope)


class Document(NamedTuple):
    """One document.

    Parameters
    ----------
    location : Location
        Its file and number.
    text : memoryview
        JSON, whatever it was written in.
    envelope : Envelope
        Its first look.
    repeated : tuple of RepeatedKey
        Its keys that are given twice, where they were looked for.
    """

    location: Location
    text: memoryview
    envelope: Envelope
    repeated: tuple[RepeatedKey, ...] = ()


class Written(NamedTuple):
    """A document as it stands in its file.

    Parameters
    ----------
    number : int
        The document in the file, from 1.
    json : memoryview
        Its JSON, whatever it was written in.
    envelope : Envelope or None
        Its first look; ``None`` where it has none.
    text : bytes
        The text that it stands in, with the lines of the whole file.
    start : int or None
        Where its JSON begins in the text; ``None`` where it is YAML.
    nth : int
        Which document of the text it is where it is YAML, from 1.
    """

    number: int
    json: memoryview
    envelope: Envelope | None
    text: bytes
    start: int | None = None
    nth: int = 1


def documents(content: bytes, file: str, *, repeated: bool = False) -> Iterator[Document | InputError]:
    """The documents of a file.

    Parameters
    ----------
    content : bytes
        JSON, JSON Lines or YAML; which of them is seen from the content, as kubectl does.
    file : str
        The name for errors, whose suffix decides whose error is shown where the text is neither.
    repeated : bool
        Whether keys that are given twice are looked for.

    Yields
    ------
    Document or InputError
        An error where a document is not an object; the documents after it follow all the same.

    Raises
    ------
    InputError
        Where the text is broken; what follows cannot be read.
    """
    in_yaml: dict[int, list[RepeatedKey]] | None = None
    for written in written_documents(content, file):
        document = _document(Location(file, written.number), written.json, written.envelope)
        if repeated and isinstance(document, Document):
            if written.start is not None:
                document = document._replace(repeated=tuple(repeated_in_json(bytes(written.json))))
            else:
                if in_yaml is None:
                    in_yaml = _by_document(written.text)
                document = document._replace(repeated=tuple(in_yaml.get(written.nth, ())))
        yield document


def _by_document(text: bytes) -> dict[int, list[RepeatedKey]]:
    """The repeated keys of all YAML documents of a text."""
    found: dict[int, list[RepeatedKey]] = {}
    for nth, key in repeated_in_yaml(text):
        found.setdefault(nth, []).append(key)
    return found


def written_documents(content: bytes, file: str) -> Iterator[Written]:
    """The documents of a file, objects or not, and where they stand; as for ``documents``."""
    text = utf8_text(content, file)
    begin = skip_blanks(text, 0)
    if text[begin : begin + 1] not in (b"{", b"["):
        yield from _yaml(text, file)
        return
    number = end = 0
    try:
        for number, document, envelope in json_documents(text, _ENVELOPES):
            start = skip_blanks(text, end)
            end = start + len(document)
            yield Written(number, document, envelope, text, start)
    except NotJsonError as broken:
        if number and not text[broken.start :].startswith(b"---"):
            raise broken.error(text, file) from None
        # Flow style YAML starts like JSON, and YAML documents can be JSON.
        if file.removesuffix(".gz").lower().endswith(_JSON_SUFFIXES) and not number:
            raise broken.error(text, file) from None
        if not number:
            yield from _yaml(text, file, broken=broken)
        else:
            # Empty lines in place of the JSON keep the line numbers of errors right.
            rest = b"\n" * text.count(b"\n", 0, broken.start) + text[broken.start :]
            yield from _yaml(rest, file, first=number + 1)


def _yaml(text: bytes, file: str, first: int = 1, broken: NotJsonError | None = None) -> Iterator[Written]:
    try:
        for number, document in yaml_documents(text, file, first):
            try:
                envelope = _ENVELOPES.decode(document)
            except msgspec.ValidationError:
                envelope = None
            yield Written(number, memoryview(document), envelope, text, nth=number - first + 1)
    except InputError:
        if broken is None:
            raise
        raise broken.error(text, file) from None


def _document(location: Location, text: memoryview, envelope: Envelope | None) -> Document | InputError:
    try:
        return Document(location, text, envelope if envelope is not None else read_envelope(text))
    except InputError as error:
        placed = error.at(location)
        if isinstance(error, NoObjectError) and isinstance(placed, NoObjectError):
            placed.value = error.value
        return placed


def read_envelope(text: memoryview | msgspec.Raw) -> Envelope:
    """The first look at a text that may be anything.

    Parameters
    ----------
    text : memoryview or Raw
        A JSON value, known to be well-formed.

    Raises
    ------
    InputError
        Where it is no object, or its kind or version is no text; without its place.
    """
    try:
        return _ENVELOPES.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    value = plain(text)
    if not isinstance(value, dict):
        hint = "a list of objects is written as kind: List with items" if isinstance(value, list) else ""
        error = NoObjectError(f"{shown(value)} is not a Kubernetes object", hint=hint)
        error.value = value
        raise error
    for name in ("apiVersion", "kind"):
        if not isinstance(value.get(name), str | None):
            raise InputError(f"{shown(value[name])} is not text", path=name)
    kind = value.get("kind") or ""
    if kind.endswith("List") and not isinstance(value.get("items"), list | None):
        raise InputError(f"{shown(value['items'])} is not a list", path="items")
    # An object of some other kind may call anything "items".
    return Envelope(value.get("apiVersion"), kind)
