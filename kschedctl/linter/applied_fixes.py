"""Application of fixes to files: each fix edits the text, and is kept only if the edited text parses as intended."""

import difflib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from kschedctl.common.errors import InputError
from kschedctl.linter.fix import Fix
from kschedctl.linter.fixed_text import CannotChangeError, drops_comment, fixed_text
from kschedctl.linter.lint_files import LintDocument, LintFile
from kschedctl.linter.lint_finding import LintFinding
from kschedctl.linter.run import LintResult
from kschedctl.linter.values import Steps
from kschedctl.sources.snapshot.files import replace_file

#: The maximum number of rounds: a fix may cause another finding with a fix, or overlap another fix.
_MOST_ROUNDS: Final = 50
_MARK: Final = b"\xef\xbb\xbf"


@dataclass
class FixResult:
    """The result of applying fixes to files."""

    #: The lint result after the fixes.
    linted: LintResult
    #: A function that lints the changed files.
    again: Callable[[Sequence[LintFile]], LintResult]
    #: The findings that have a fix to apply.
    fixable: "frozenset[_FindingId]" = frozenset()
    #: The text of each changed file, before and after the fixes.
    texts: dict[str, tuple[bytes, bytes]] = field(default_factory=dict)
    #: The files with fixes that are left as they are, each with the file outside of the folders that it is a link to.
    links: dict[str, str] = field(default_factory=dict)
    #: The changed files that were written.
    written: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """The number of findings that were fixed."""
        return len(self.fixable - {_id_of(each) for each in self.linted.found})

    def diff(self) -> Iterator[str]:
        """Yield the lines of a unified diff of the changes."""
        for name, (before, after) in sorted(self.texts.items()):
            old, new = (text.decode(errors="replace").splitlines(keepends=True) for text in (before, after))
            for line in difflib.unified_diff(old, new, fromfile=name, tofile=name):
                yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"

    def write(self) -> list[InputError]:
        """Write the changed files, each in one step, and return an error for each one that cannot be written.

        The others are written nevertheless. The result is then that of the files as they are.
        """
        errors: list[InputError] = []
        failed: dict[str, bytes] = {}
        for name, (before, after) in self.texts.items():
            try:
                _write_file(name, before, after)
            except InputError as error:
                failed[name] = before
                errors.append(error)
            else:
                self.written.append(name)
        if failed:
            self.texts = {name: texts for name, texts in self.texts.items() if name not in failed}
            self.linted = self.again(_with_texts(self.linted.files, failed))
        return errors


def _with_texts(files: Sequence[LintFile], texts: Mapping[str, bytes]) -> list[LintFile]:
    """Return files with other texts; those that did not change are not read again."""
    return [file.with_text(texts[file.name]) if file.name in texts else file for file in files]


def _write_file(name: str, before: bytes, after: bytes) -> None:
    """Write a changed file.

    Raises InputError if the file was changed since it was read, is not UTF-8, or cannot be written.
    """
    try:
        content = Path(name).read_bytes()
        mark = _MARK if content.startswith(_MARK) else b""
        if content != mark + before:
            raise InputError("was changed since it was read, or is not UTF-8: the file is kept unchanged", where=name)
        replace_file(name, mark + after)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}; the file is kept unchanged", where=name) from None


def apply_fixes(
    linted: LintResult, again: Callable[[Sequence[LintFile]], LintResult], *, unsafe: bool = False
) -> FixResult:
    """Apply the fixes of findings, in at most 50 rounds, until no round changes a file.

    Args:
        again: A function that lints the changed files.
        unsafe: True to also apply fixes that change how pods behave, or drop comments.
    """
    out = FixResult(linted, again)
    originals: dict[str, bytes] = {}
    tried: set[_FindingId] = set()
    fixable: set[_FindingId] = set()
    for _ in range(_MOST_ROUNDS):
        by_document: dict[LintDocument, list[tuple[_FindingId, Fix]]] = defaultdict(list)
        for each in out.linted.found:
            fix = each.writable_fix
            if fix is not None and (fix.safe or unsafe):
                by_document[fix.object.document].append((_id_of(each), fix))
                fixable.add(_id_of(each))
        texts = _round(by_document, unsafe=unsafe, tried=tried)
        if not texts:
            break
        originals = {file.name: file.text for file in out.linted.files if file.name in texts} | originals
        out.linted = again(_with_texts(out.linted.files, texts))
    out.fixable = frozenset(fixable)
    out.texts = {
        file.name: (originals[file.name], file.text)
        for file in out.linted.files
        if file.name in originals and file.text != originals[file.name]
    }
    fixes = (each.fix_of_file for each in out.linted.found)
    files_left = (fix.object.file for fix in fixes if fix is not None and (fix.safe or unsafe))
    out.links = {file.name: file.link_target for file in files_left if file.link_target}
    return out


class _FindingId(NamedTuple):
    """The identity of a finding in all rounds: several documents may have copies of one object."""

    file: str
    document: int
    inside: Steps
    fingerprint: str


def _id_of(finding: LintFinding) -> _FindingId:
    obj = finding.object
    number, inside = (obj.document.number, obj.inside) if obj is not None else (0, ())
    return _FindingId(finding.file.name, number, inside, finding.fingerprint)


_Fixable: TypeAlias = Mapping[LintDocument, Sequence[tuple[_FindingId, Fix]]]


def _round(by_document: _Fixable, *, unsafe: bool, tried: set[_FindingId]) -> dict[str, bytes]:
    """Return the changed texts by file name."""
    changes: dict[LintDocument, bytes] = {}
    for document, fixes in by_document.items():
        text = document.text
        applied: list[Fix] = []
        for key, fix in fixes:
            # The next round tells whether an overlapping fix is still needed: two rules may ask for one toleration.
            if key in tried or any(fix.object is other.object and fix.overlaps(other) for other in applied):
                continue
            try:
                after = fixed_text(text, fix)
            except CannotChangeError:
                continue
            if unsafe or not drops_comment(text, after):
                text = after
                applied.append(fix)
                tried.add(key)
        if text != document.text:
            changes[document] = text
    texts: dict[str, bytes] = {}
    for file in {document.file for document in changes}:
        parts, at = [], 0
        for document in file.documents:
            parts += [file.text[at : document.start], changes.get(document, document.text)]
            at = document.start + len(document.text)
        texts[file.name] = b"".join([*parts, file.text[at:]])
    return texts
