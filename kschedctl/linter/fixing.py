"""Repairs of files: of each finding that has one the text is edited, and kept where it says what it is meant to say."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

from kschedctl.errors import InputError
from kschedctl.linter.changing import CannotChangeError, changed, settled
from kschedctl.linter.diagnosis import Diagnosis
from kschedctl.linter.editing import edited
from kschedctl.linter.fix import Action, Change, Fix
from kschedctl.linter.reading import LintDocument, LintFile, read_text
from kschedctl.linter.run import Linted
from kschedctl.text.tree import NoTreeError, yaml_trees
from kschedctl.text.yaml import yaml_value

#: A repair may bring about a finding that can be repaired, but not for ever.
_MOST_ROUNDS: Final = 10
_MARK: Final = b"\xef\xbb\xbf"


@dataclass
class Repaired:
    """What repairs made of files."""

    #: What is found in them now.
    linted: Linted
    #: How many findings were repaired.
    count: int = 0
    #: The text of each file before and after.
    texts: dict[str, tuple[bytes, bytes]] = field(default_factory=dict)

    def diff(self) -> Iterator[str]:
        """What changes, as a unified diff."""
        for name, (before, after) in sorted(self.texts.items()):
            old, new = (text.decode(errors="replace").splitlines(keepends=True) for text in (before, after))
            for line in difflib.unified_diff(old, new, fromfile=name, tofile=name):
                yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"

    def write(self) -> None:
        """Write the files.

        Raise ``InputError`` where one was changed since it was read, or cannot be written.
        """
        for name, (before, after) in self.texts.items():
            path = Path(name)
            content = path.read_bytes()
            mark = _MARK if content.startswith(_MARK) else b""
            if content != mark + before:
                raise InputError("was changed since it was read, or is not UTF-8: it is left as it is", where=name)
            try:
                path.write_bytes(mark + after)
            except OSError as error:
                raise InputError(f"cannot be written: {error.strerror}", where=name) from None


def repaired(linted: Linted, again: Callable[[Sequence[LintFile]], Linted], *, unsafe: bool = False) -> Repaired:
    """Repair what can be.

    ``again``: lints files that were changed.
    ``unsafe``: whether repairs are made that change how pods behave.
    """
    out = Repaired(linted)
    originals = {file.name: file.text for file in linted.files}
    tried: set[str] = set()
    for _ in range(_MOST_ROUNDS):
        texts, count = _round(out.linted.found, unsafe=unsafe, tried=tried)
        if not texts:
            break
        out.count += count
        files = [
            read_text(texts.get(file.name, file.text), file.name, on_disk=file.on_disk) for file in out.linted.files
        ]
        out.linted = again(files)
    out.texts = {
        file.name: (originals[file.name], file.text) for file in out.linted.files if file.text != originals[file.name]
    }
    return out


def _round(found: Sequence[Diagnosis], *, unsafe: bool, tried: set[str]) -> tuple[dict[str, bytes], int]:
    """The texts that change, and how many findings are repaired so."""
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
            # What an earlier repair did already is repaired, too.
            text, count = after, count + 1
            tried.add(diagnosis.fingerprint)
            if any(change.action is Action.REMOVE and isinstance(change.steps[-1], int) for change in fix.changes):
                # The items behind it have other numbers now.
                break
        if text != document.text:
            changes[document] = text
    return {file.name: _whole(file, changes) for file in {document.file for document in changes}}, count


def _applied(text: bytes, fix: Fix) -> bytes:
    """A document with a repair, read again to see that it says what is meant."""
    for one in fix.changes:
        value, _ = yaml_value(text, "")
        change = settled(Change(one.action, (*fix.object.inside, *one.steps), one.value), value)
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
    """The text of a file with its documents changed."""
    out, at = [], 0
    for document in file.documents:
        out += [file.text[at : document.start], changes.get(document, document.text)]
        at = document.start + len(document.text)
    return b"".join([*out, file.text[at:]])
