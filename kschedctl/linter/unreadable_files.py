"""Files that cannot be read as YAML or JSON: manifests with an error, templates, and files of other kinds."""

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import cached_property
from pathlib import Path, PurePath
from typing import Final

from kschedctl.linter.file_text import BRACES
from kschedctl.linter.lint_files import LintDocument, LintFile, is_helm_output
from kschedctl.linter.values import IN_BRACES

CHART: Final = "Chart.yaml"
#: The folder of the templates of a chart.
TEMPLATES: Final = "templates"
#: The folder of Go packages for files that only tests read.
TEST_DATA: Final = "testdata"
#: The interpolations of Terraform and envsubst, which are not YAML outside of quotes.
_INTERPOLATIONS: Final = (b"${", b"%{")
_QUOTED: Final = re.compile(rb"""'[^']*'|"(?:[^"\\]|\\.)*"|(?:^|[ \t])#.*""")
#: A placeholder in braces, with text beside it; alone, YAML reads it as a mapping.
_IN_BRACES: Final = re.compile(rf"(?<![{{$%]){IN_BRACES}(?=[^\s,\]}}])|(?<=[^\s,\[{{:$%-]){IN_BRACES}".encode())
#: The directives of Terraform; text that only begins like them, such as a format of curl, is none.
_DIRECTIVE: Final = re.compile(rb"^[ \t]*%\{~?[ \t]*(?:if|else|endif|for|endfor)\b", re.MULTILINE)
_KEYS: Final = (b"apiVersion", b"kind")


class Unreadable(StrEnum):
    """The reason why a file, or a document of it, cannot be read."""

    #: A manifest with an error.
    MANIFEST = "manifest"
    #: A manifest or a part of a chart that is to be rendered first, or completed by a tool such as Terraform.
    TEMPLATE = "template"
    #: A file that is no manifest, or a template for tests.
    OTHER = "other"


class UnreadableFiles:
    """The unreadable files among the files of a run."""

    def __init__(self, files: Sequence[LintFile]) -> None:
        self._files = files

    @cached_property
    def of(self) -> dict[str, Unreadable]:
        """The reason why a file cannot be read, by the name of the file; readable files are left out."""
        broken = ((file, first) for file in self._files if (first := _first_broken(file)) is not None)
        return {file.name: self._reason_of(file, document) for file, document in broken}

    @property
    def no_manifests(self) -> list[LintDocument]:
        """The first unreadable document of each file that is no manifest."""
        files = (file for file in self._files if self.of.get(file.name) is Unreadable.OTHER)
        return [document for file in files if (document := _first_broken(file)) is not None]

    def _reason_of(self, file: LintFile, broken: LintDocument) -> Unreadable:
        folders = PurePath(file.folder).parts
        has_braces = not is_helm_output(file.text) and file.has_any(BRACES)
        if has_braces or (TEMPLATES in folders and not file.rendered):
            is_input = bool(self.chart_of(file)) or (has_braces and seems_manifest(file))
            return Unreadable.TEMPLATE if is_input and TEST_DATA not in folders else Unreadable.OTHER
        if not seems_manifest(file):
            return Unreadable.OTHER
        return Unreadable.TEMPLATE if _is_interpolated(broken) else Unreadable.MANIFEST

    def is_incomplete(self, file: LintFile) -> bool:
        """Report whether a file has placeholders of another tool than Helm, so that it may have other errors, too."""
        is_template = _first_broken(file) is not None and self.of[file.name] is Unreadable.TEMPLATE
        return is_template and not file.has_any(BRACES) and not self.chart_of(file)

    def may_have_more(self, name: str) -> bool:
        """Report whether a file has content that is not checked: it cannot be read, or is a template of a chart."""
        return name in self.of or name in self._in_templates

    @cached_property
    def _in_templates(self) -> frozenset[str]:
        files = (file for file in self._files if not file.rendered and TEMPLATES in PurePath(file.folder).parts)
        return frozenset(file.name for file in files if file.has_any(BRACES))

    def chart_of(self, file: LintFile) -> str:
        """Return the path of the outermost chart around a file; empty if the file is in no chart.

        >>> file = LintFile("charts/web/templates/deployment.yaml", b"")
        >>> UnreadableFiles([file]).chart_of(file)
        'charts/web'
        """
        return self._charts_by_folder[file.folder]

    @cached_property
    def _charts_by_folder(self) -> dict[str, str]:
        roots = {file.folder for file in self._files if PurePath(file.name).name == CHART}
        found: dict[str, str] = {}
        for folder in dict.fromkeys(file.folder for file in self._files):
            path = PurePath(folder)
            # A chart in the folder charts of another one is rendered with it.
            outermost_first = [str(each) for each in reversed((path, *path.parents))]
            charts = (each for each in outermost_first if each in roots or Path(each, CHART).is_file())
            above = path.parts[: path.parts.index(TEMPLATES)] if TEMPLATES in path.parts else None
            found[folder] = next(charts, str(PurePath(*above)) if above is not None else "")
        return found


def _first_broken(file: LintFile) -> LintDocument | None:
    return next((document for document in file.documents if document.broken is not None), None)


def seems_manifest(file: LintFile) -> bool:
    """Report whether the text of a file has the keys ``apiVersion`` and ``kind``.

    >>> [seems_manifest(LintFile("a", text)) for text in (b"kind: Pod" + bytes([10]) + b"apiVersion: v1", b"kind: x")]
    [True, False]
    """
    # In flow style, keys are anywhere in a line; in block style, text that contains JSON has none.
    start = rb"[{,\[]\s*" if file.text.lstrip()[:1] in (b"{", b"[") else rb"^(?:- +)*[ \t]*"
    return all(re.search(start + rb"[\"']?" + key + rb"[\"']?[ \t]*:", file.text, re.MULTILINE) for key in _KEYS)


def _is_interpolated(document: LintDocument) -> bool:
    """Report whether an unreadable document has a directive of Terraform, or a placeholder on the wrong line.

    A variable of a shell in a quoted string is no interpolation.
    """
    if _DIRECTIVE.search(document.text):
        return True
    wrong = _wrong_line(document)
    return any(mark in wrong for mark in _INTERPOLATIONS) or _IN_BRACES.search(wrong) is not None


def placeholder_in_braces(document: LintDocument) -> str:
    """Return the placeholder in braces for which a document cannot be read, such as ``{name}``; empty if there is none.

    YAML reads the braces as those of a mapping.
    """
    found = _IN_BRACES.search(_wrong_line(document)) if document.broken is not None else None
    return found[0].decode(errors="replace") if found is not None else ""


def _wrong_line(document: LintDocument) -> bytes:
    """Return the line at which a document cannot be read, without strings in quotes and comments."""
    position = document.broken.position if document.broken is not None else None
    lines = document.text.split(b"\n")
    return _QUOTED.sub(b"", lines[position.line - 1]) if position is not None and position.line <= len(lines) else b""
