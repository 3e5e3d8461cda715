"""From paths to files and their documents: each is read by itself, so that a broken one hides none of the others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from kschedctl.errors import InputError
from kschedctl.findings.field_path import field_path
from kschedctl.findings.finding import Finding
from kschedctl.findings.location import Location, Position
from kschedctl.linter.regions import Region, region_in_json, region_in_yaml
from kschedctl.linter.values import Steps
from kschedctl.snapshot.names import HIDDEN
from kschedctl.snapshot.sources import Source, read_sources, whole_source
from kschedctl.snapshot.summary import ReadSummary
from kschedctl.snapshot.unpacking import Unpacking
from kschedctl.text.encoding import utf8_text
from kschedctl.text.json_text import NotJsonError, json_documents, skip_blanks
from kschedctl.text.repeated_keys import RepeatedKey, repeated_in_json, repeated_in_yaml
from kschedctl.text.tree import NoTreeError, YamlNode, yaml_trees
from kschedctl.text.yaml import yaml_value

#: Where a document begins: nothing that is quoted, folded or literal may have this at the beginning of a line.
_SEPARATOR: Final = re.compile(rb"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_JSON_SUFFIXES: Final = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz")
_DIRECTIVE: Final = re.compile(rb"^%[A-Z]", re.MULTILINE)
_SAYS_SOMETHING: Final = re.compile(rb"^[ \t]*[^#\s]", re.MULTILINE)


class _AnyObject(msgspec.Struct):
    """Any object."""


_ANY: Final = msgspec.json.Decoder(_AnyObject)


@dataclass(eq=False)
class LintDocument:
    """A document as it stands in its file."""

    #: The file.
    file: LintFile = field(repr=False)
    #: Which of its documents, from 1.
    number: int
    #: Its text.
    text: bytes = field(repr=False)
    #: How many lines of the file stand before it.
    before: int
    #: Where in the file it begins, in bytes.
    start: int = 0
    #: Plain data; ``None`` where it is broken or says nothing.
    value: Any = None
    #: Why it could not be read; its position is that in the file.
    broken: Finding | None = None
    #: Whether it is JSON.
    json: bool = False
    may_repeat: bool = False

    @property
    def location(self) -> Location:
        """Its file and number."""
        return Location(self.file.name, self.number)

    @cached_property
    def characters(self) -> str:
        """Its text."""
        return self.text.decode(errors="replace")

    @cached_property
    def tree(self) -> YamlNode | None:
        """Its values with their places; ``None`` where there are none to tell."""
        import yaml

        try:
            return next(yaml_trees(self.text), None)
        except (yaml.YAMLError, NoTreeError):
            return None

    def region(self, steps: Steps, *, key: bool = False) -> Region:
        """Where a field stands in the file; where it is absent, its nearest parent."""
        if self.tree is not None:
            return region_in_yaml(self.tree, self.characters, steps, key=key).down(self.before)
        if self.json:
            return region_in_json(self.text, field_path(steps)).down(self.before)
        return Region(self.before + 1, 1, self.before + 1, 1)

    def repeated(self) -> Iterator[RepeatedKey]:
        """The keys that are given twice, with their places in the document."""
        if self.json:
            yield from repeated_in_json(self.text)
        elif self.may_repeat:
            yield from (key for _, key in repeated_in_yaml(self.text))


@dataclass(eq=False)
class LintFile:
    """A file."""

    #: As the user would name it.
    name: str
    #: UTF-8 without a byte order mark.
    text: bytes = field(repr=False)
    #: Whether it can be written again as it was read.
    on_disk: bool = False
    documents: list[LintDocument] = field(default_factory=list, repr=False)

    @cached_property
    def lines(self) -> list[str]:
        """Its lines."""
        return [line.rstrip("\r") for line in self.text.decode(errors="replace").split("\n")]

    @cached_property
    def folder(self) -> str:
        """The folder that it is in."""
        return str(Path(self.name).parent)


@dataclass(eq=False)
class Read:
    """What the paths hold."""

    #: In a fixed order.
    files: list[LintFile] = field(default_factory=list)
    #: Files that could not be read at all.
    errors: list[InputError] = field(default_factory=list)
    summary: ReadSummary = field(default_factory=ReadSummary)


def read_files(
    paths: Sequence[str | Path],
    stdin: BinaryIO | None = None,
    *,
    stdin_name: str = "",
    max_unpacked: int | None = None,
) -> Read:
    """Read files, folders, archives and ``-`` for standard input.

    ``stdin_name``: what standard input is called.
    ``max_unpacked``: the most bytes that are unpacked.
    """
    found = Read()
    unpacking = Unpacking() if max_unpacked is None else Unpacking(max_unpacked)
    seen = set()
    for source in _sources(paths, stdin, found.summary, unpacking):
        if isinstance(source, InputError):
            found.errors.append(source)
            continue
        if source.identity is not None and source.identity in seen:
            continue
        seen.add(source.identity)
        try:
            whole = whole_source(source, unpacking) if source.path else source
            found.files.append(_file(whole, stdin_name))
        except InputError as error:
            found.errors.append(error)
    return found


def _sources(
    paths: Sequence[str | Path], stdin: BinaryIO | None, summary: ReadSummary, unpacking: Unpacking
) -> Iterator[Source | InputError]:
    """The files, and then those in hidden folders that look like manifests: pipelines keep theirs there."""
    yield from read_sources(paths, stdin, summary, unpacking)
    hidden = [each for each in summary.passed if each.reason == HIDDEN and each.doubtful]
    summary.passed = [each for each in summary.passed if each not in hidden]
    for each in hidden:
        yield from read_sources([each.name], None, summary, unpacking)


def _file(source: Source, stdin_name: str) -> LintFile:
    from_stdin = source.name == "standard input"
    name = (stdin_name or "-") if from_stdin else source.name.removeprefix("./")
    # What was decompressed or is the member of an archive is not written.
    on_disk = not from_stdin and Path(source.name).is_file() and not source.name.endswith(".gz")
    return read_text(utf8_text(source.content, source.name), name, on_disk=on_disk)


def read_text(text: bytes, name: str, *, on_disk: bool = False) -> LintFile:
    """Read the text of one file."""
    file = LintFile(name, text, on_disk)
    begin = skip_blanks(text, 0)
    if text[begin : begin + 1] not in (b"{", b"[") or not _read_json(file, begin):
        file.documents = list(_yaml_documents(file))
    return file


def _read_json(file: LintFile, begin: int) -> bool:
    """Read a file of JSON; false where it is none: flow style YAML, or templates, begin alike."""
    documents: list[LintDocument] = []
    end = 0
    try:
        for number, raw, _ in json_documents(file.text, _ANY):
            start = skip_blanks(file.text, end)
            end = start + len(raw)
            line_start = file.text.rfind(b"\n", 0, start) + 1
            # The line's beginning stays, so that columns are those of the file.
            chunk = b" " * (start - line_start) + file.text[start:end]
            before = file.text.count(b"\n", 0, start)
            documents.append(LintDocument(file, number, chunk, before, start, msgspec.json.decode(raw), json=True))
    except NotJsonError as broken:
        if not documents and not file.name.lower().endswith(_JSON_SUFFIXES):
            return False
        (finding,) = broken.error(file.text, file.name).findings
        rest = file.text[broken.start :]
        before = file.text.count(b"\n", 0, broken.start)
        # The place that is told is that in the file.
        position = finding.position
        at = Position(position.line - before, position.column) if position is not None else None
        finding = replace(finding, position=at)
        documents.append(LintDocument(file, broken.number, rest, before, broken.start, None, finding, json=True))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    file.documents = documents
    return bool(documents)


def _yaml_documents(file: LintFile) -> Iterator[LintDocument]:
    text = file.text
    # A directive stands before the separator of its document.
    starts = [] if _DIRECTIVE.search(text) else [found.start() for found in _SEPARATOR.finditer(text)]
    bounds = [0, *starts, len(text)] if not starts or starts[0] > 0 else [*starts, len(text)]
    number, before = 0, 0
    for start, end in pairwise(bounds):
        chunk = text[start:end]
        lines = before
        before += chunk.count(b"\n")
        if start == 0 and starts and _SAYS_SOMETHING.search(chunk) is None:
            continue
        number += 1
        document = LintDocument(file, number, chunk, lines, start)
        try:
            document.value, document.may_repeat = yaml_value(chunk, file.name, number)
        except InputError as error:
            (finding,) = error.findings
            document.broken = finding
        yield document
