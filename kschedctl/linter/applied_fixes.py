"""Application of fixes to files: each fix edits the text, and is kept only if the edited text parses as intended."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

from kschedctl.errors import InputError
from kschedctl.linter.data_changes import CannotChangeError, changed, settled
from kschedctl.linter.diagnosis import Diagnosis
from kschedctl.linter.fix import FieldEdit, Fix, FixAction
from kschedctl.linter.lint_files import LintDocument, LintFile
from kschedctl.linter.run import LintResult
from kschedctl.linter.yaml_edits import edited
from kschedctl.text.tree import NoTreeError, yaml_trees
from kschedctl.text.yaml import yaml_value

#: The maximum number of rounds: a fix may cause another finding with a fix.
_MOST_ROUNDS: Final = 10
_MARK: Final = b"\xef\xbb\xbf"


@dataclass
class FixResult:
    """The result of applying fixes to files."""

    #: The lint result after the fixes.
    linted: LintResult
    #: The number of findings that were fixed.
    count: int = 0
    #: The text of each changed file, before and after the fixes.
    texts: dict[str, tuple[bytes, bytes]] = field(default_factory=dict)

    def diff(self) -> Iterator[str]:
        """Yield the lines of a unified diff of the changes."""
        for name, (before, after) in sorted(self.texts.items()):
            old, new = (text.decode(errors="replace").splitlines(keepends=True) for text in (before, after))
            for line in difflib.unified_diff(old, new, fromfile=name, tofile=name):
                yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"

    def write(self) -> None:
        """Write the changed files.

        Raises
        ------
        InputError
            If a file was changed since it was read, is not UTF-8, or cannot be written.
        """
        for name, (before, after) in self.texts.items():
            path = Path(name)
            content = path.read_bytes()
            mark = _MARK if content.startswith(_MARK) else b""
            if content != mark + before:
                raise InputError(
                    "was changed since it was read, or is not UTF-8: the file is kept unchanged", where=name
                )
            try:
                path.write_bytes(mark + after)
            except OSError as error:
                raise InputError(f"cannot be written: {error.strerror}", where=name) from None


def apply_fixes(
    linted: LintResult, again: Callable[[Sequence[LintFile]], LintResult], *, unsafe: bool = False
) -> FixResult:
    """Apply the fixes of findings, in at most 10 rounds, until no round changes a file.

    Parameters
    ----------
    again : callable
        A function that lints the changed files.
    unsafe : bool
        True to also apply fixes that change how pods behave.
    """
    out = FixResult(linted)
    originals = {file.name: file.text for file in linted.files}
    tried: set[str] = set()
    for _ in range(_MOST_ROUNDS):
        texts, count = _round(out.linted.found, unsafe=unsafe, tried=tried)
        if not texts:
            break
        out.count += count
        files = [file.with_text(texts.get(file.name, file.text)) for file in out.linted.files]
        out.linted = again(files)
    out.texts = {
        file.name: (originals[file.name], file.text) for file in out.linted.files if file.text != originals[file.name]
    }
    return out


def _round(found: Sequence[Diagnosis], *, unsafe: bool, tried: set[str]) -> tuple[dict[str, bytes], int]:
    """Return the changed texts by file name, and the number of findings fixed in this round."""
    by_document: dict[LintDocument, list[tuple[Diagnosis, Fix]]] = defaultdict(list)
    for each in found:
        fix = each.fix
        if fix is not None and (fix.safe or unsafe) and fix.object.file.on_disk and not fix.object.document.json:
            by_document[fix.object.document].append((each, fix))
    changes: dict[LintDocument, bytes] = {}
    count = 0
    for document, fixes in by_document.items():
        text = document.text
        for diagnosis, fix in fixes:
            if diagnosis.fingerprint in tried:
                continue
            try:
                after = _applied(text, fix)
            except CannotChangeError:
                tried.add(diagnosis.fingerprint)
                continue
            # A finding that an earlier fix resolved already counts as fixed, too.
            text, count = after, count + 1
            tried.add(diagnosis.fingerprint)
            if any(change.action is FixAction.REMOVE and isinstance(change.steps[-1], int) for change in fix.changes):
                # The removal changes the indices of the items after it.
                break
        if text != document.text:
            changes[document] = text
    return {file.name: _whole(file, changes) for file in {document.file for document in changes}}, count


def _applied(text: bytes, fix: Fix) -> bytes:
    """Return a document with a fix applied; the result is parsed to verify that it has the intended value."""
    for one in fix.changes:
        value, _ = yaml_value(text, "")
        change = settled(FieldEdit(one.action, (*fix.object.inside, *one.steps), one.value), value)
        wanted = changed(value, change)
        if wanted == value:
            continue
        try:
            root = next(yaml_trees(text))
            after = edited(text.decode(), root, change).encode()
            said, _ = yaml_value(after, "")
        except (yaml.YAMLError, NoTreeError, InputError, UnicodeDecodeError, StopIteration):
            raise CannotChangeError from None
        if said != wanted:
            raise CannotChangeError
        text = after
    return text


def _whole(file: LintFile, changes: dict[LintDocument, bytes]) -> bytes:
    """Return the text of a file with its changed documents."""
    out, at = [], 0
    for document in file.documents:
        out += [file.text[at : document.start], changes.get(document, document.text)]
        at = document.start + len(document.text)
    return b"".join([*out, file.text[at:]])
