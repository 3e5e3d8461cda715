"""``-o junit``: JUnit XML with a test suite per file and a test case per object, with findings as failures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape, quoteattr

from kschedctl.common.findings import Severity
from kschedctl.output.findings import FindingsForm

if TYPE_CHECKING:
    from kschedctl.linter.lint_files import LintFile
    from kschedctl.linter.lint_finding import Diagnosis
    from kschedctl.questions.lint.document import LintView

#: The characters that XML 1.0 does not allow.
_NO_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class JUnit(FindingsForm):
    """JUnit XML."""

    def render_findings(self, run: LintView) -> Iterator[str]:
        """Yield the test suites."""
        cases = [(file, list(_cases(file, [each for each in run.told if each.file is file]))) for file in _files(run)]
        every = [case for _, of_file in cases for case in of_file]
        yield '<?xml version="1.0" encoding="UTF-8"?>\n'
        yield f'<testsuites name="kschedctl lint" {_counts(every)} time="0">\n'
        for file, of_file in cases:
            name = _attribute(file.name)
            yield f'  <testsuite name={name} file={name} {_counts(of_file)} skipped="0" time="0">\n'
            for about, found in of_file:
                yield from _case(file, about, found)
            yield "  </testsuite>\n"
        yield "</testsuites>\n"


def _files(run: LintView) -> list[LintFile]:
    others = [each.file for each in run.told if each.file not in run.linted.files]
    return [*run.linted.files, *dict.fromkeys(others)]


def _cases(file: LintFile, found: Sequence[Diagnosis]) -> Iterator[tuple[str, list[Diagnosis]]]:
    """Yield the objects of a file by name with their findings; findings without an object belong to the file itself."""
    # Imported here so that the lint rules are loaded only if they are used.
    from kschedctl.linter.manifest_set import objects_of

    by_object = {
        name: list(group)
        for name, group in groupby(
            sorted(found, key=lambda each: each.shown_object), key=lambda each: each.shown_object
        )
    }
    names = [obj.shown for document in file.documents for obj in objects_of(document)]
    of_file = by_object.pop("", [])
    yield from ((name, by_object.pop(name, [])) for name in dict.fromkeys(names))
    yield from by_object.items()
    if of_file or not names:
        yield file.name, of_file


def _counts(cases: Sequence[tuple[str, list[Diagnosis]]]) -> str:
    failed = sum(any(each.severity is not Severity.INFO for each in found) for _, found in cases)
    return f'tests="{len(cases)}" failures="{failed}" errors="0"'


def _case(file: LintFile, name: str, found: Sequence[Diagnosis]) -> Iterator[str]:
    head = f'    <testcase name={_attribute(name)} classname={_attribute(file.name)} time="0"'
    failures = [each for each in found if each.severity is not Severity.INFO]
    infos = [each for each in found if each.severity is Severity.INFO]
    if not found:
        yield f"{head}/>\n"
        return
    yield f"{head}>\n"
    if failures:
        # Many JUnit viewers show only the first failure of a test case.
        worst = min(failures, key=lambda each: (each.severity is not Severity.ERROR, each.region))
        many = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        message = f"{worst.rule.code} {worst.message}{many}"
        yield f"      <failure type={_attribute(worst.severity.value)} message={_attribute(message)}>"
        yield _text("\n".join(map(_line, failures)))
        yield "</failure>\n"
    if infos:
        yield f"      <system-out>{_text(chr(10).join(map(_line, infos)))}</system-out>\n"
    yield "    </testcase>\n"


def _line(each: Diagnosis) -> str:
    help_ = f" (help: {each.help})" if each.help else ""
    where = f"{each.file.name}:{each.region.line}:{each.region.column}"
    return f"{where} {each.rule.code} {each.severity} {each.message}{help_}"


def _text(text: str) -> str:
    return escape(_NO_XML.sub("?", text))


def _attribute(text: str) -> str:
    return quoteattr(_NO_XML.sub("?", text).replace("\n", " "))
