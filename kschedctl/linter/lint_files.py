"""Reading of files and their documents: each document is parsed separately, so that a malformed one hides no other."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from glob import escape
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import msgspec

from kschedctl.common.errors import InputError
from kschedctl.common.findings import Finding, Location, Position
from kschedctl.common.text.characters import utf8_text
from kschedctl.common.text.json_text import NotJsonError, json_documents, skip_blanks
from kschedctl.common.text.positions import nesting_position
from kschedctl.common.text.tree import RepeatedKey, YamlNode, repeated_in_json, repeated_in_yaml
from kschedctl.common.text.yaml import yaml_value
from kschedctl.common.text.yaml_events import MAX_DEPTH
from kschedctl.common.text.yaml_lines import LineReader
from kschedctl.common.wording import meant
from kschedctl.linter.excluded_paths import ExcludedPaths
from kschedctl.linter.file_text import (
    LARGE,
    MOST_RECENT,
    PATCH_WORDS,
    DocumentLayout,
    Packed,
    Region,
    lines_of,
    region_in,
)
from kschedctl.linter.folder_purposes import PurposeOfFolder, purpose_of
from kschedctl.linter.values import CUSTOM_KINDS, Steps, at, is_rendered, items, text
from kschedctl.objects.kinds import kind_type
from kschedctl.objects.schema.schema import kinds_by_version, unknown_with_steps
from kschedctl.sources.snapshot.archives import Unpacking
from kschedctl.sources.snapshot.clusters import path_inside
from kschedctl.sources.snapshot.content_sniffing import HEAD
from kschedctl.sources.snapshot.documents import read_envelope
from kschedctl.sources.snapshot.files import Source, read_sources, whole_source
from kschedctl.sources.snapshot.names import HIDDEN, READABLE
from kschedctl.sources.snapshot.summary import ReadSummary

# The output of ``helm template``: each document has a comment with the template that it was rendered from.

_SOURCE: Final = re.compile(rb"(?:---[ \t]*\r?\n)?(?:[ \t]*\r?\n)*# Source: ([^\r\n]*\S)")
_CHART: Final = "Chart.yaml"
_KEY: Final = re.compile(r"(?:- )?([\w./-]+):")


def is_helm_output(text: bytes) -> bool:
    """Report whether a text begins with the comment of Helm."""
    return _SOURCE.match(text) is not None


def split_by_source(text: bytes) -> list[tuple[str, bytes]]:
    r"""Return the templates in the output of Helm, each with its documents; documents before the first have no name.

    >>> output = b"---\n# Source: web/templates/a.yaml\na: 1\n---\n# Source: web/templates/b.yaml\nb: 1\n---\nb: 2\n"
    >>> [(name, text.count(b"---")) for name, text in split_by_source(output)]
    [('web/templates/a.yaml', 1), ('web/templates/b.yaml', 2)]
    """
    starts = [0, *(found.start() for found in _SEPARATOR.finditer(text) if found.start()), len(text)]
    parts: dict[str, list[bytes]] = {}
    name = ""
    for start, end in pairwise(starts):
        chunk = text[start:end]
        if (source := _SOURCE.match(chunk)) is not None:
            name = source[1].decode(errors="replace")
        # A document without the comment is of a file that Helm copies, such as a CustomResourceDefinition.
        parts.setdefault(name, []).append(chunk)
    return [(name, b"".join(chunks)) for name, chunks in parts.items() if name or b"".join(chunks).strip()]


def template_path(source: str, chart_folder: str = "") -> str:
    """Return the path of the template that Helm names, which begins with the name of the chart.

    Args:
        source: The template as Helm names it, such as ``web/templates/deployment.yaml``.
        chart_folder: The folder of the chart; if empty, a chart of that name is searched in the current folder and
            two levels below. If there is none, or more than one, the name is returned unchanged.
    """
    chart, _, inside = source.partition("/")
    if chart_folder:
        return str(Path(chart_folder, inside))
    globs = (_CHART, *(f"{folders}{escape(chart)}/{_CHART}" for folders in ("", "*/", "*/*/")))
    charts = (path.parent for pattern in globs for path in Path().glob(pattern))
    found = [folder / inside for folder in charts if (folder / inside).is_file()]
    return str(found[0]) if len(found) == 1 else source


def line_in_template(template: list[str], line: str) -> int:
    """Return the number of the line of a template that a rendered line probably comes from, from 1.

    That is the only line with the same text, else the only one with the same key, else the first line.

    >>> line_in_template(["spec:", "  replicas: {{ .Values.replicas }}", "  paused: true"], "  replicas: 3")
    2
    """
    for text_of in (str.strip, _key_of_line):
        wanted = text_of(line)
        same = [number for number, each in enumerate(template, 1) if wanted and text_of(each) == wanted]
        if len(same) == 1:
            return same[0]
    return 1


def _key_of_line(line: str) -> str:
    found = _KEY.match(line.strip())
    return found[1] if found is not None else ""


#: The separator before a document: no quoted, folded or literal scalar may contain it at the beginning of a line.
_SEPARATOR: Final = re.compile(rb"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_JSON_SUFFIXES: Final = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz")
_DIRECTIVE: Final = re.compile(rb"^%[A-Z]", re.MULTILINE)
_SAYS_SOMETHING: Final = re.compile(rb"^[ \t]*[^#\s]", re.MULTILINE)


class _AnyObject(msgspec.Struct):
    """Any JSON object; its fields are not decoded."""


_ANY: Final = msgspec.json.Decoder(_AnyObject)

#: Values of a repeated key are compared by what they mean up to this length, in characters, and number.
_LONG_VALUE: Final = 500
_MANY_VALUES: Final = 10


@dataclass(eq=False)
class LintDocument:
    """A document of a file."""

    #: The file that contains the document.
    file: "LintFile" = field(repr=False)
    #: The number of the document in the file, counted from 1.
    number: int
    #: The number of lines of the file before the document.
    before: int
    #: The offsets of the document in the file, in bytes.
    start: int
    end: int
    #: The document as plain data, without the specs of CustomResourceDefinitions; ``None`` if malformed or empty.
    value: Any = None
    #: The problem if the document could not be read, with its position relative to the document; else ``None``.
    broken: Finding | None = None
    #: True if the document is JSON.
    json: bool = False
    #: True if the document may contain repeated keys.
    may_repeat: bool = False

    @property
    def text(self) -> bytes:
        """The text in UTF-8; before JSON, blanks replace the beginning of the line, so that columns are the file's."""
        whole = self.file.text
        indent = self.start - whole.rfind(b"\n", 0, self.start) - 1 if self.json and self.broken is None else 0
        return b" " * indent + whole[self.start : self.end]

    @property
    def location(self) -> Location:
        return Location(self.file.name, self.number)

    @cached_property
    def _own_layout(self) -> DocumentLayout:
        return DocumentLayout(self.text, json=self.json)

    @property
    def _layout(self) -> DocumentLayout:
        return self._own_layout if self.end - self.start < LARGE else _recent_layout(self)

    @property
    def characters(self) -> str:
        """The text of the document, decoded."""
        return self._layout.characters

    @property
    def tree(self) -> YamlNode | None:
        """The document's values with their positions; ``None`` if it cannot be parsed."""
        return None if self.json and self.broken is not None else self._layout.tree

    @property
    def comments(self) -> Sequence[int]:
        """The offsets of the comments of a YAML document, in characters and in their order."""
        return self._layout.comments

    def region(self, steps: Steps, *, key: bool = False) -> Region:
        """Return the region of a field in the file; if the field is absent, the region of its nearest parent."""
        layout = self._layout
        if self.tree is None:
            return Region(self.before + 1, 1, self.before + 1, 1)
        return region_in(self.tree, layout.newlines, steps, key=key).down(self.before)

    def has_any(self, words: Sequence[bytes]) -> bool:
        """Report whether the document contains one of the words that rules search in all texts."""
        return self.file.has_any(words) and any(word in self.text for word in words)

    @cached_property
    def may_patch(self) -> bool:
        """True if the document may contain a patch directive."""
        return self.has_any(PATCH_WORDS)

    @cached_property
    def repeated(self) -> Sequence[RepeatedKey]:
        """The keys that occur twice in a mapping, with their positions in the document."""
        if self.json:
            return tuple(repeated_in_json(self.text))
        return tuple(key for _, key in repeated_in_yaml(self.text)) if self.may_repeat else ()

    def _node(self, steps: Steps) -> YamlNode | None:
        node = self.tree
        for step in steps:
            if node is not None and isinstance(step, str):
                node = node.children[step][1] if step in node.children else None
            elif node is not None:
                node = node.elements[int(step)] if int(step) < len(node.elements) else None
        return node

    def source(self, steps: Steps) -> str:
        """Return a value as it is written; empty if there is none."""
        node = self._node(steps)
        return self.characters[node.start : node.end] if node is not None and node.start is not None else ""

    def are_equal(self, steps: Steps) -> bool:
        """Report whether all values of a repeated key are equal; long ones count only if they are written alike."""
        node, characters = self._node(steps[:-1]), self.characters
        found = node.values_of(str(steps[-1])) if node is not None else ()
        places = [(each.start if each.start is not None else each.end, each.end or 0) for each in found]
        texts = [characters[start:end] for start, end in places if start is not None]
        if len({"\n".join(line.strip() for line in text.strip().split("\n")) for text in texts}) == 1:
            return len(texts) > 1
        values = []
        for source, (start, _) in zip(texts, places, strict=True):
            # Blanks replace the beginning of the line, so that the lines of a block have the same column.
            indent = (start or 0) - characters.rfind("\n", 0, start) - 1
            if indent + len(source) > _LONG_VALUE or len(texts) > _MANY_VALUES:
                return False
            try:
                values.append(yaml_value((" " * indent + source).encode(), self.file.name)[0])
            except InputError:
                return False
        return bool(values) and all(value == values[0] for value in values)


@lru_cache(maxsize=MOST_RECENT)
def _recent_layout(document: LintDocument) -> DocumentLayout:
    return DocumentLayout(document.text, json=document.json)


@dataclass(eq=False)
class LintFile:
    """A file that lint has read."""

    #: The name as the user would write it; ``-`` for standard input.
    name: str
    #: The text in UTF-8, without a byte order mark, or the same compressed.
    content: bytes | Packed = field(repr=False)
    #: True if the file can be written: not standard input, compressed, or a member of an archive.
    on_disk: bool = False
    #: The path of the file inside the folder or archive that the user named; empty if the user named the file itself.
    inside: str = ""
    #: The file to which the file is a link that leaves the folders of the run, and which is not written; else empty.
    link_target: str = ""
    #: True if the text is the output of a tool such as Helm, which is applied as it is: it contains no patches.
    rendered: bool = False
    #: True if the name is that of a kustomization, and the text is its output.
    built: bool = False
    #: The objects from which those of the output of a kustomization are built, by kind, namespace and name, and by
    #: kind and name (``kschedctl.linter.manifest_set.LintObject``).
    origins: Mapping[tuple[str, ...], Any] = field(default_factory=dict, repr=False)
    #: The names of objects in their files, by the names that the output of a kustomization has in their place.
    source_names: Mapping[str, str] = field(default_factory=dict, repr=False)
    documents: list[LintDocument] = field(default_factory=list, repr=False)

    @property
    def text(self) -> bytes:
        """The text in UTF-8, without a byte order mark."""
        return self.content if isinstance(self.content, bytes) else self.content.text

    def has_any(self, words: Sequence[bytes]) -> bool:
        """Report whether the file contains one of the words that rules search in all texts."""
        content = self.content
        found = content.words if isinstance(content, Packed) else content
        return any(word in found for word in words)

    @property
    def lines(self) -> list[str]:
        """The lines of the file, without line ends."""
        return self._own_lines if isinstance(self.content, bytes) else self.content.lines

    @cached_property
    def _own_lines(self) -> list[str]:
        return lines_of(self.text)

    def with_text(self, text: bytes) -> "LintFile":
        """Return the file with another text."""
        changed = read_text(text, self.name, on_disk=self.on_disk, rendered=self.rendered)
        changed.built, changed.link_target = self.built, self.link_target
        changed.inside, changed.origins, changed.source_names = self.inside, self.origins, self.source_names
        return changed

    @property
    def root(self) -> str:
        """The folder below which names of folders tell a purpose, with a slash at its end; empty for the current one.

        That is the one that the user named. Of a file that the user named, as tools for commits do, it is the current
        folder.
        """
        return self.name.removesuffix(self.inside) if self.inside else ""

    @cached_property
    def purpose(self) -> PurposeOfFolder | None:
        """The purpose of the manifests of the file's folder by its name, if it is another one than to be applied."""
        inside = self.inside
        if not inside and self.on_disk:
            below = os.path.relpath(self.name)
            inside = "" if below.startswith(os.pardir) else below
        found = purpose_of(inside)
        named = self.name.removesuffix(inside)
        return found and found._replace(folder=f"{named}{found.folder}", glob=f"{named}{found.glob}")

    @cached_property
    def template(self) -> list[str]:
        """The lines of the template that the file was rendered from; empty if there is none in the current folder."""
        try:
            if not is_helm_output(self.text) or not Path(self.name).is_file():
                return []
            return Path(self.name).read_text(errors="replace").split("\n")
        except (OSError, ValueError):
            return []

    def in_repository(self, region: Region) -> Region:
        """Return the region in the stored file: the line of the template, or the start of the kustomization."""
        if self.built:
            return Region(1, 1, 1, 1)
        if not self.template or region.line > len(self.lines):
            return region
        line = line_in_template(self.template, self.lines[region.line - 1])
        return Region(line, 1, line, len(self.template[line - 1]) + 1)

    @cached_property
    def folder(self) -> str:
        """The folder that contains the file."""
        return str(Path(self.name).parent)


@dataclass(eq=False)
class ReadResult:
    """The result of reading paths."""

    #: The files, in a fixed order.
    files: list[LintFile] = field(default_factory=list)
    #: The errors of files that could not be read at all.
    errors: list[InputError] = field(default_factory=list)
    summary: ReadSummary = field(default_factory=ReadSummary)


def read_files(
    paths: Sequence[str | Path],
    stdin: BinaryIO | None = None,
    *,
    stdin_name: str = "",
    excluded: ExcludedPaths | None = None,
    max_unpacked: int | None = None,
) -> ReadResult:
    """Read files, folders, archives and ``-`` for standard input.

    Args:
        stdin_name: The name to report for standard input; ``-`` if empty. The folder of a chart is where the
            templates are that the output of Helm names.
        excluded: The paths to leave out of folders; ``None`` for those that are left out without settings.
        max_unpacked: The maximum number of bytes to unpack from archives and compressed files; ``None`` for the
            default.
    """
    found = ReadResult()
    unpacking = Unpacking() if max_unpacked is None else Unpacking(max_unpacked)
    lines = LineReader(items_as_text=False)
    seen = set()
    named, roots = {*map(str, paths)}, [os.path.realpath(path) for path in paths]
    excluded = ExcludedPaths((), Path()) if excluded is None else excluded
    for source in _sources(paths, stdin, found.summary, unpacking, excluded):
        if isinstance(source, InputError):
            found.errors.append(source)
            continue
        if source.identity is not None and source.identity in seen:
            continue
        seen.add(source.identity)
        try:
            whole = whole_source(source, unpacking) if source.path else source
            content = utf8_text(whole.content, whole.name)
            if whole.name == "standard input":
                files = list(rendered_files(content, stdin_name))
            else:
                # Decompressed files and members of archives are never written.
                on_disk = Path(whole.name).is_file() and not whole.name.endswith(".gz")
                files = [read_text(content, whole.name.removeprefix("./"), on_disk=on_disk, lines=lines)]
            if source.name not in named:
                for file in files:
                    file.inside = source.inside
                    target = os.path.realpath(file.name)
                    leaves = file.on_disk and not any(Path(target).is_relative_to(root) for root in roots)
                    file.link_target = target if leaves else ""
            found.files += files
        except InputError as error:
            found.errors.append(error)
    return found


def _sources(
    paths: Sequence[str | Path],
    stdin: BinaryIO | None,
    summary: ReadSummary,
    unpacking: Unpacking,
    excluded: ExcludedPaths,
) -> Iterator[Source | InputError]:
    """Yield the files, then those in hidden folders that look like manifests, as CI systems store them there."""
    yield from read_sources(paths, stdin, summary, unpacking, excluded.below)
    hidden = [each for each in summary.passed if each.reason == HIDDEN and (each.doubtful or _has_custom(each.name))]
    summary.passed = [each for each in summary.passed if each not in hidden]
    summary.drop_markdown()
    for each in hidden:
        root = max((str(path) for path in paths if Path(each.name).is_relative_to(path)), key=len, default="")
        for source in read_sources([each.name], None, summary, unpacking):
            yield replace(source, inside=path_inside(each.name, root)) if isinstance(source, Source) else source


_CUSTOM_NAMES: Final = "|".join(sorted(each.partition("/")[2] for each in CUSTOM_KINDS)).encode()
_OF_CUSTOM_KIND: Final = re.compile(rb"""^["' ]*kind["']?[ \t]*:[ \t]*["']?(?:%s)\b""" % _CUSTOM_NAMES, re.MULTILINE)


def _has_custom(path: str) -> bool:
    """Report whether a file that was skipped begins with a custom resource that lint checks, such as a Rollout."""
    try:
        with open(path, "rb") as stream:
            return path.lower().endswith(READABLE) and _OF_CUSTOM_KIND.search(stream.read(HEAD)) is not None
    except (OSError, ValueError):
        return False


def rendered_files(text: bytes, name: str) -> Iterator[LintFile]:
    """Yield the output of a tool such as Helm: a file per template that it names, else one file.

    Args:
        name: The name of the one file; ``-`` if empty. If it is a folder, the templates of its chart are meant.
    """
    chart_folder = name if name and Path(name).is_dir() else ""
    if (name and not chart_folder) or not is_helm_output(text):
        yield read_text(text, name or "-", rendered=True)
        return
    for source, part in split_by_source(text):
        yield read_text(part, template_path(source, chart_folder) if source else "-", rendered=True)


def read_text(
    text: bytes, name: str, *, on_disk: bool = False, rendered: bool = False, lines: LineReader | None = None
) -> LintFile:
    """Read the text of one file; ``lines`` is the reader of the files of one run, for plain data."""
    file = LintFile(name, text, on_disk, rendered=rendered)
    begin = skip_blanks(text, 0)
    if text[begin : begin + 1] not in (b"{", b"[") or not _read_json(file):
        file.documents = list(_yaml_documents(file, lines or LineReader(items_as_text=False)))
    if len(text) >= LARGE:
        file.content = Packed.of(text)
    return file


def _read_json(file: LintFile) -> bool:
    """Read a file as JSON; return false if it is not JSON: flow-style YAML and templates begin alike."""
    documents: list[LintDocument] = []
    text = file.text
    end = 0
    try:
        for number, raw, _ in json_documents(text, _ANY):
            start = skip_blanks(text, end)
            end = start + len(raw)
            document = LintDocument(file, number, text.count(b"\n", 0, start), start, end, json=True)
            value = msgspec.json.decode(raw)
            if _is_deeper(value, MAX_DEPTH):
                # As YAML of this depth; rules and repairs call themselves for each level.
                problem = f"is nested more than {MAX_DEPTH} levels deep"
                deep = nesting_position(document.text, MAX_DEPTH)
                document.broken = Finding(problem, place=document.location, position=deep)
            else:
                document.value = _without_schemas(value)
            documents.append(document)
    except NotJsonError as broken:
        if not documents and not file.name.lower().endswith(_JSON_SUFFIXES):
            return False
        (finding,) = broken.error(text, file.name).findings
        before = text.count(b"\n", 0, broken.start)
        # The reported position is that in the file; store it relative to the document.
        position = finding.position
        at = Position(position.line - before, position.column) if position is not None else None
        finding = replace(finding, position=at)
        documents.append(LintDocument(file, broken.number, before, broken.start, len(text), None, finding, json=True))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    file.documents = documents
    return bool(documents)


def _is_deeper(value: Any, most: int) -> bool:
    """Report whether a value has more than `most` levels of mappings and lists; empty ones do not count."""
    level = [value]
    for _ in range(most + 1):
        containers = [each for each in level if each and type(each) in (dict, list)]
        if not containers:
            return False
        level = [inner for each in containers for inner in (each.values() if isinstance(each, dict) else each)]
    return True


def _yaml_documents(file: LintFile, lines: LineReader) -> Iterator[LintDocument]:
    text = file.text
    # A directive comes before the separator of its document, so such files are not split.
    starts = [] if _DIRECTIVE.search(text) else [found.start() for found in _SEPARATOR.finditer(text)]
    bounds = [0, *starts, len(text)] if not starts or starts[0] > 0 else [*starts, len(text)]
    number, before = 0, 0
    for start, end in pairwise(bounds):
        chunk = text[start:end]
        n_before = before
        before += chunk.count(b"\n")
        if start == 0 and starts and _SAYS_SOMETHING.search(chunk) is None:
            continue
        number += 1
        document = LintDocument(file, number, n_before, start, end)
        try:
            value, document.may_repeat = yaml_value(chunk, file.name, number, lines)
            document.value = _without_schemas(value)
        except InputError as error:
            (finding,) = error.findings
            document.broken = finding
        yield document


_DEFINITION: Final = ("apiextensions.k8s.io/", "CustomResourceDefinition")


def _without_schemas(value: Any) -> Any:
    """Return a document without the specs of CustomResourceDefinitions, which can be large and which no rule needs.

    A spec with an unknown field stays, as KS904 reports the field.
    """
    if isinstance(value, dict) and isinstance(value.get("items"), list):
        return {**value, "items": [_without_schemas(item) for item in value["items"]]}
    group, kind = _DEFINITION
    api_version = text(at(value, "apiVersion"))
    if at(value, "kind") != kind or not api_version.startswith(group):
        return value
    has_unknown = next(unknown_with_steps(value, api_version, kind), None) is not None
    return value if has_unknown else {**value, "spec": {}}


# The objects in a document, and the values in it that are meant as objects but lack what every object needs.

#: The suffix of list kinds, and the kind of a list of objects of any kinds.
LIST: Final = "List"
_TYPE_FIELDS: Final = ("kind", "apiVersion")
_CONTENT: Final = ("metadata", "spec")


class FoundObject(NamedTuple):
    """An object in a document."""

    #: The path of the object in its document.
    inside: Steps
    raw: dict[str, Any]
    api_version: str
    kind: str


class Flaw(NamedTuple):
    """The reason why a value is no object, or a list has no items."""

    #: The path in the document: of the wrong key or value, else of the value that lacks a key.
    steps: Steps
    problem: str
    hint: str
    #: True if the problem is in the field's name.
    key: bool = False


def found_in(value: Any) -> Iterator[FoundObject | Flaw]:
    """Yield the objects of a document and its flaws: those of the document itself, or of the items of a list.

    Nested lists are included. The items of a list of one kind, such as a PodList, have the kind and version of the
    list if they have none.
    """
    waiting: list[tuple[Steps, Any]] = [((), value)]
    while waiting:
        inside, raw = waiting.pop()
        if (flaw := _flaw(raw, inside)) is not None:
            yield flaw
            continue
        api_version, kind = text(at(raw, "apiVersion")), text(at(raw, "kind"))
        if not api_version or not kind:
            continue
        if isinstance(raw.get("items"), list):
            # As for kubectl, any object with items is a list, whatever its kind.
            of_items = {} if kind == LIST else {"apiVersion": api_version, "kind": kind.removesuffix(LIST)}
            numbered = enumerate(_typed(item, of_items) for item in items(raw["items"]))
            waiting += reversed([((*inside, "items", index), item) for index, item in numbered])
            continue
        yield FoundObject(inside, raw, api_version, kind)


def _typed(item: Any, of_list: Mapping[str, str]) -> Any:
    """Return an item of a list of one kind with the kind and version of the list, if it is an object without them."""
    return {**of_list, **item} if isinstance(item, dict) and _has_content(item) else item


def _has_content(raw: Mapping[str, Any]) -> bool:
    return any(isinstance(raw.get(name), dict) for name in _CONTENT)


def _flaw(raw: Any, inside: Steps) -> Flaw | None:
    """Return the flaw of a value that is meant as an object; ``None`` if it has none, or is meant as something else."""
    if not is_rendered(raw if not isinstance(raw, dict) else [*raw, raw.get("kind"), raw.get("apiVersion")]):
        return None
    if not inside and not _seems_object(raw):
        return None
    try:
        envelope = read_envelope(raw)
    except InputError as error:
        (finding,) = error.findings
        steps = (finding.field,) if finding.field else ()
        problem = f"{finding.field}: {finding.problem}" if finding.field else finding.problem
        return Flaw((*inside, *steps), problem, finding.hint)
    if not envelope.kind or not envelope.api_version:
        missing = "apiVersion" if envelope.kind else "kind"
        return _missing_field(raw, inside, missing, "every object needs apiVersion and kind")
    if _is_object_list(raw) and "items" not in raw:
        return _missing_field(raw, inside, "items", "an empty list has items: []")
    return None


def _missing_field(raw: Mapping[str, Any], inside: Steps, name: str, hint: str) -> Flaw:
    """Return the flaw of a value without a field, which it may have under a misspelt name."""
    if name in raw:
        return Flaw((*inside, name), f"{name} is missing", hint)
    misspelt = _misspelt(name, raw)
    if not misspelt:
        return Flaw(inside, f"{name} is missing", hint)
    return Flaw((*inside, misspelt), f"{name} is missing", f"did you mean {name} in place of {misspelt}?", key=True)


def _misspelt(name: str, raw: Mapping[str, Any]) -> str:
    """Return the key that is a misspelling of a field's name; empty if there is none."""
    return next(iter(meant(name, (key for key in raw if isinstance(key, str)))), "")


def _is_object_list(raw: Any) -> bool:
    """Report whether a value is meant as a list of objects: of any kinds, or of a kind that scheduling reads."""
    kind = text(at(raw, "kind"))
    return kind == LIST or (
        kind.endswith(LIST) and kind_type(text(at(raw, "apiVersion")), kind.removesuffix(LIST)) is not None
    )


def _seems_object(raw: Any) -> bool:
    """Report whether a document is meant as an object of Kubernetes.

    It has metadata, a spec or items, and both kind and version, however they are spelt, or one of them as Kubernetes
    itself has it. Other tools have files with a kind of their own and without a version.
    """
    if not isinstance(raw, dict) or not (_has_content(raw) or _is_object_list(raw)):
        return False
    kind, version = (name if name in raw else _misspelt(name, raw) for name in _TYPE_FIELDS)
    if kind and version:
        return True
    if version:
        return isinstance(raw[version], str)
    return bool(kind) and (
        _is_object_list(raw) or any(text(raw[kind]) in kinds for kinds in kinds_by_version().values())
    )
