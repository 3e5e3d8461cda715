"""Ignores of a run: annotations of objects, comments on lines, and the settings."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import msgspec

from kschedctl.common.errors import ConfigError, InputError
from kschedctl.common.text.json_text import encodable
from kschedctl.linter.context import LintContext
from kschedctl.linter.excluded_paths import path_matches
from kschedctl.linter.file_text import IGNORE_WORDS
from kschedctl.linter.ignore import Ignore, Ignored
from kschedctl.linter.lint_files import LintFile
from kschedctl.linter.lint_finding import LintFinding, named_path
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.selection import rules_of
from kschedctl.linter.settings import Settings, SettingsIgnore
from kschedctl.linter.values import Steps, at, mapping
from kschedctl.sources.snapshot.files import file_bytes

PREFIX: Final = "ignore.kschedctl.io/"
_ALL: Final = "all"
_COMMENT: Final = re.compile(r"#\s*kschedctl:\s*ignore\s+([A-Za-z0-9,-]+)[ \t:]*(.*)$")


class Ignores:
    """All ignores of a run."""

    def __init__(self, context: LintContext, settings: Settings, today: date) -> None:
        self._context = context
        self._of_objects: dict[LintObject, list[Ignore]] = {}
        documents = {obj.document for obj in context.manifests.objects}
        with_ignores = {document for document in documents if document.has_any(IGNORE_WORDS[:1])}
        for obj in context.manifests.objects:
            if obj.document in with_ignores and (found := list(_annotations(obj, context))):
                self._of_objects[obj] = found
        self._of_lines: dict[str, dict[int, list[Ignore]]] = {
            file.name: _comments(file) for file in context.manifests.source_files if file.has_any(IGNORE_WORDS[1:])
        }
        lines = settings.lines or (1,) * len(settings.ignores)
        self._of_settings = [
            (each, _of_settings(each, settings.file, line, today))
            for each, line in zip(settings.ignores, lines, strict=True)
        ]
        self._per_path = [(glob, frozenset(codes)) for glob, codes in settings.per_path.items()]
        self._folder = settings.folder

    def split(self, found: Iterable[LintFinding]) -> tuple[list[LintFinding], list[Ignored]]:
        """Return the findings that remain, and the suppressed findings."""
        stay, left_out = [], []
        for finding in found:
            by = self._by(finding)
            if by is None:
                stay.append(finding)
            else:
                by.used = True
                left_out.append(Ignored(finding, by))
        return stay, left_out

    def every(self) -> Iterator[Ignore]:
        """Yield the ignores of annotations, comments and the ``ignores`` of the settings, without ``per-path``."""
        for found in self._of_objects.values():
            yield from found
        for lines in self._of_lines.values():
            yield from dict.fromkeys(ignore for found in lines.values() for ignore in found)
        yield from (ignore for _, ignore in self._of_settings)

    def _by(self, finding: LintFinding) -> Ignore | None:
        code = finding.rule.code
        lines = self._of_lines.get(finding.file.name, {})
        places: list[Sequence[Ignore]] = [lines.get(finding.region.line, ())]
        if finding.object is not None:
            places += (self._of_objects.get(each, ()) for each in (finding.object, finding.object.source))
        for found in places:
            for ignore in found:
                if ignore.names(code):
                    return ignore
        for settings, ignore in self._of_settings:
            if ignore.names(code) and ignore.ended is None and _meant(settings, finding, self._folder):
                return ignore
        for glob, codes in self._per_path:
            if code in codes and path_matches(finding.file.name, glob, self._folder):
                return Ignore(codes, f"per-path {glob}", "settings", "", 1, used=True)
        return None


def _annotations(obj: LintObject, context: LintContext) -> Iterator[Ignore]:
    places: list[Steps] = [("metadata", "annotations")]
    template = context.templates.get(obj.type)
    if template is not None and template[0]:
        places.append((*template[0], "metadata", "annotations"))
    for place in places:
        for key, value in mapping(at(obj.raw, *place)).items():
            if key.startswith(PREFIX):
                region = obj.region((*place, key), key=True)
                yield _ignore(
                    key.removeprefix(PREFIX), value, "annotation", obj.file.name, region.line, region.column, obj
                )


def _comments(file: LintFile) -> dict[int, list[Ignore]]:
    """Return the ignores in comments of a file, by the number of the line that they apply to."""
    found: dict[int, list[Ignore]] = {}
    lines = file.lines
    for number, line in enumerate(lines, 1):
        if "kschedctl:" not in line or (match := _COMMENT.search(line)) is None:
            continue
        about = number
        if not line[: match.start()].strip():
            # A comment on a line of its own applies to the next line that is neither blank nor a comment.
            about += 1
            while about <= len(lines) and (not (text := lines[about - 1].strip()) or text.startswith("#")):
                about += 1
        ignore = _ignore(match[1], match[2], "comment", file.name, number, match.start() + 1)
        found.setdefault(about, []).append(ignore)
    return found


def _ignore(
    words: str, reason: Any, source: str, file: str, line: int, column: int, obj: LintObject | None = None
) -> Ignore:
    codes: set[str] = set()
    unknown = ""
    of_all = False
    for word in words.split(","):
        if word.lower() == _ALL:
            of_all = True
            continue
        try:
            codes |= {rule.code for rule in rules_of(word)}
        except InputError:
            unknown = word
    text = reason.strip() if isinstance(reason, str) else ""
    return Ignore(None if of_all else frozenset(codes), text, source, file, line, column, unknown, object=obj)


def _of_settings(each: SettingsIgnore, file: str, line: int, today: date) -> Ignore:
    ended = each.until if each.until is not None and each.until < today else None
    return Ignore(frozenset(each.rules) or None, each.reason, "settings", file, line, ended=ended)


def _meant(ignore: SettingsIgnore, finding: LintFinding, folder: Path) -> bool:
    obj = finding.object
    if obj is None:
        of_object = not (ignore.kinds or ignore.namespaces or ignore.names)
    else:
        of_object = all(
            not globs or any(fnmatchcase(value, glob) for glob in globs)
            for value, globs in ((obj.kind, ignore.kinds), (obj.namespace, ignore.namespaces), (obj.name, ignore.names))
        )
    in_path = not ignore.paths or any(path_matches(finding.file.name, glob, folder) for glob in ignore.paths)
    return of_object and in_path


# A baseline: a file of known findings, which lint suppresses so that only new findings are reported.
#
# The file has one line of JSON per finding: rule, object, field by the names of list items, message, and the number of
# occurrences. It has no line numbers, so that a finding stays known if it moves in its file.

_HINT: Final = "kschedctl lint --baseline FILE --update-baseline writes the baseline"


class FindingKey(NamedTuple):
    """The key of a finding in a baseline."""

    rule: str
    kind: str
    namespace: str
    name: str
    field: str
    message: str


class _Entry(msgspec.Struct):
    """A line of a baseline: the fields of a finding's key, and the number of occurrences."""

    rule: str
    kind: str
    namespace: str
    name: str
    field: str
    message: str
    count: Annotated[int, msgspec.Meta(ge=1)] = 1


_ENTRIES: Final = msgspec.json.Decoder(_Entry)


def finding_key(finding: LintFinding) -> FindingKey:
    """Return the key of a finding."""
    obj = finding.object
    if obj is None:
        return FindingKey(finding.rule.code, "", "", encodable(finding.file.name), "", finding.message)
    path = named_path(obj.raw, finding.steps)
    return FindingKey(finding.rule.code, obj.kind, obj.namespace, obj.name, path, finding.message)


@dataclass
class Baseline:
    """A baseline: known findings, which are suppressed."""

    #: The file of the baseline.
    file: str
    #: The number of occurrences of each finding.
    counts: Counter[FindingKey]

    @classmethod
    def read(cls, file: str) -> "Baseline":
        """Read a baseline.

        Raises ConfigError if the file cannot be read, or a line is malformed.
        """
        counts: Counter[FindingKey] = Counter()
        for number, line in enumerate(file_bytes(file, ConfigError, hint=_HINT).splitlines(), 1):
            if line.strip():
                try:
                    entry = _ENTRIES.decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    raise ConfigError(f"line {number} is not an entry of a baseline", where=file, hint=_HINT) from None
                known, count = FindingKey(*(getattr(entry, field) for field in FindingKey._fields)), entry.count
                counts[known] += count
        return cls(file, counts)

    def split(self, found: Iterable[LintFinding]) -> tuple[list[LintFinding], list[Ignored], int]:
        """Return the new findings, the known findings, and the number of known findings that no longer occur."""
        left = self.counts.copy()
        new, old = [], []
        by = Ignore(None, "in the baseline", "baseline", self.file, 1, used=True)
        for finding in found:
            known = finding_key(finding)
            if left[known] > 0:
                left[known] -= 1
                old.append(Ignored(finding, by))
            else:
                new.append(finding)
        return new, old, sum(left.values())


def baseline_text(found: Iterable[LintFinding]) -> str:
    """Return findings as the text of a baseline, sorted."""
    counts = Counter(map(finding_key, found))
    lines = (
        json.dumps({**known._asdict(), "count": count}, ensure_ascii=False) for known, count in sorted(counts.items())
    )
    return "".join(f"{line}\n" for line in lines)
