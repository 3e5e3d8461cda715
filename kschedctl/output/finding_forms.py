"""The forms that only ``lint`` has: compiler messages, SARIF, JUnit, GitHub and GitLab."""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote, unquote
from xml.sax.saxutils import escape, quoteattr

from kschedctl.common.findings import Severity
from kschedctl.common.text.characters import json_text, printable
from kschedctl.common.wording import listed
from kschedctl.output.forms import Form, Medium

if TYPE_CHECKING:
    from kschedctl.linter.file_text import Region
    from kschedctl.linter.ignore import Ignored
    from kschedctl.linter.lint_files import LintFile
    from kschedctl.linter.lint_finding import LintFinding
    from kschedctl.linter.rule import Rule
    from kschedctl.output.forms import Answers
    from kschedctl.questions.frame import View
    from kschedctl.questions.lint.document import LintView


class FindingsForm(Form):
    """An output format that only the findings of ``lint`` have."""

    def render(self, answer: Answers, view: View, medium: Medium) -> Iterator[str]:
        yield from self.render_findings(cast("LintView", view))

    @abstractmethod
    def render_findings(self, run: LintView) -> Iterator[str]:
        """Yield the findings in this format, piece by piece."""


# ``-o concise``: one line per finding, in the form of compiler messages.


class Concise(FindingsForm):
    """``-o concise``: one line per finding, as compilers print them."""

    def render_findings(self, run: LintView) -> Iterator[str]:
        for each in run.told:
            where = f"{each.file.name}:{each.region.line}:{each.region.column}"
            about = f" [{each.shown_object}]" if each.shown_object else ""
            yield f"{printable(f'{where}: {each.severity} {each.rule.code} {each.message}{about}{_builds(each)}')}\n"
        yield "".join(f"{printable(line)}\n" for line in (run.headline, *run.unchecked))


def _builds(finding: LintFinding) -> str:
    """Return the builds of kustomizations that have a finding, in words; empty if all have it."""
    names = finding.kustomizations
    if finding.is_rendered:
        return f" ({len(names)} renderings)" if len(names) > 1 else ""
    return f" (in {listed(names, most=2)})" if names else ""


# ``-o github``: workflow commands, which GitHub Actions shows as annotations of a pull request.

_COMMANDS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


class GitHub(FindingsForm):
    """``-o github``: annotations of a pull request, most severe first, as GitHub shows at most ten of each kind."""

    def render_findings(self, run: LintView) -> Iterator[str]:
        for each in run.by_severity:
            region = each.in_repository
            properties = {
                "file": each.file.name.removeprefix("./"),
                "line": str(region.line),
                "endLine": str(max(region.end_line, region.line)),
                "col": str(region.column),
                "title": f"{each.rule.code} {each.rule.name}",
            }
            # GitHub does not accept columns for a range of several lines.
            if region.end_line == region.line:
                properties["endColumn"] = str(region.end_column)
            else:
                del properties["col"]
            about = f"{each.shown_object}: " if each.shown_object else ""
            help_ = f"\nhelp: {each.help}" if each.help else ""
            text = _data(f"{about}{each.message}{help_}")
            escaped = {name: _data(value).replace(":", "%3A").replace(",", "%2C") for name, value in properties.items()}
            given = ",".join(f"{name}={value}" for name, value in escaped.items())
            yield f"::{_COMMANDS[each.severity]} {given}::{text}\n"
        yield f"{run.headline}\n"


def _data(text: str) -> str:
    shown = "\n".join(map(printable, text.split("\n")))
    return shown.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


# ``-o sarif``: SARIF 2.1.0 in the form that GitHub code scanning accepts.
#
# Locations are relative to the root of the repository (the nearest parent folder with ``.git``, else the current
# folder). Without findings, results are an empty list. Ignored findings are included as suppressed, with the reason.

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_ROOT: Final = "%SRCROOT%"
#: The number of results per run that GitHub accepts.
_MOST: Final = 25_000
#: A tagged version; those between two tags are not in the form of Semantic Versioning.
_SEMANTIC: Final = re.compile(r"\d+\.\d+\.\d+")


class Sarif(FindingsForm):
    """``-o sarif``: SARIF 2.1.0."""

    def render_findings(self, run: LintView) -> Iterator[str]:
        import msgspec

        from kschedctl.common.text.json_text import encoded_json

        log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [_run(run)]}
        yield f"{json_text(msgspec.json.format(encoded_json(log), indent=2))}\n"


def repository_root(start: Path) -> Path:
    """Return the nearest folder upward with ``.git``, else the start folder itself."""
    return next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), start)


def relative_uri(name: str, root: Path) -> str:
    """Return the path of a file relative to the root, as part of a URI."""
    path = os.path.normpath(os.path.abspath(name))
    inside = os.path.relpath(path, root)
    shown = Path(inside).as_posix() if not inside.startswith("..") else Path(path).as_posix().lstrip("/")
    return quote(os.fsencode(shown))


def _run(run: LintView) -> dict[str, Any]:
    from kschedctl import __version__

    root = repository_root(Path.cwd())
    rules = list(run.linted.rules)
    index = {rule.code: i for i, rule in enumerate(rules)}
    found: Sequence[LintFinding] = run.told[:_MOST]
    results = [_result(each, index, root) for each in found]
    ignored = [each for each in run.linted.ignored if not each.finding.counted]
    results += [_ignored(each, index, root) for each in ignored[: _MOST - len(results)]]
    return {
        "tool": {
            "driver": {
                "name": "kschedctl",
                "version": __version__,
                **({"semanticVersion": __version__} if _SEMANTIC.fullmatch(__version__) else {}),
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "originalUriBaseIds": {_ROOT: {"uri": f"{root.as_uri()}/"}},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True, "exitCode": 1 if run.failed else 0}],
        "results": results,
    }


def _rule(rule: Rule) -> dict[str, Any]:
    page = rule.page
    place = f" ({rule.stop.value}: {rule.stop.words})" if rule.stop is not None else ""
    return {
        "id": rule.code,
        "name": "".join(part.title() for part in rule.name.split("-")),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": f"{rule.summary}{place}"},
        "help": {"text": page, "markdown": f"**{rule.code} {rule.name}**{place}\n\n{page.replace('``', '`')}"},
        "defaultConfiguration": {"level": _LEVELS[rule.severity], "enabled": rule.on},
        "properties": {"tags": ["kubernetes", "scheduling"]},
    }


def _result(each: LintFinding, index: dict[str, int], root: Path) -> dict[str, Any]:
    about = f"{each.shown_object}: " if each.shown_object else ""
    place = f" [{each.stop.value}: {each.stop.words}]" if each.stop is not None else ""
    help_ = f" Help: {each.help}." if each.help else ""
    result: dict[str, Any] = {
        "ruleId": each.rule.code,
        "level": _LEVELS[each.severity],
        "message": {"text": f"{about}{each.message}.{help_}{place}"},
        "locations": [{**_location(each.file.name, each.in_repository, root), **_logical(each)}],
        "partialFingerprints": {"kschedctl/v1": each.fingerprint},
    }
    if each.rule.code in index:
        result["ruleIndex"] = index[each.rule.code]
    if each.related:
        result["relatedLocations"] = [
            {
                "id": i,
                **_location(other.file.name, other.in_repository, root),
                "message": {"text": f"{other.object}: {other.message}"},
            }
            for i, other in enumerate(each.related, 1)
        ]
    return result


def _ignored(each: Ignored, index: dict[str, int], root: Path) -> dict[str, Any]:
    kind = "external" if each.by.source in ("settings", "baseline") else "inSource"
    suppression = {"kind": kind, "status": "accepted", "justification": each.by.reason or "no reason given"}
    return {**_result(each.finding, index, root), "suppressions": [suppression]}


def _location(name: str, region: Region, root: Path) -> dict[str, Any]:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": relative_uri(name, root), "uriBaseId": _ROOT},
            "region": {
                "startLine": max(region.line, 1),
                "startColumn": max(region.column, 1),
                "endLine": max(region.end_line, region.line, 1),
                "endColumn": max(region.end_column, 1),
            },
        }
    }


def _logical(each: LintFinding) -> dict[str, Any]:
    if each.object is None:
        return {}
    field = f".{each.finding.field}" if each.finding.field else ""
    return {
        "logicalLocations": [
            {"name": each.object.name, "fullyQualifiedName": f"{each.shown_object}{field}", "kind": "object"}
        ]
    }


# ``-o gitlab``: a GitLab code quality report, a JSON array.

_SEVERITIES: Final = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.INFO: "info"}


class GitLab(FindingsForm):
    """``-o gitlab``: a code quality report; an empty array if there are no findings."""

    def render_findings(self, run: LintView) -> Iterator[str]:
        import msgspec

        from kschedctl.common.text.json_text import encoded_json

        root = repository_root(Path.cwd())
        seen: Counter[str] = Counter()
        entries = [_entry(each, root, seen) for each in run.told]
        yield f"{json_text(msgspec.json.format(encoded_json(entries), indent=2))}\n"


def _entry(each: LintFinding, root: Path, seen: Counter[str]) -> dict[str, Any]:
    # GitLab drops all but one of the entries with equal fingerprints.
    seen[each.fingerprint] += 1
    n = seen[each.fingerprint]
    region = each.in_repository
    about = f"{each.shown_object}: " if each.shown_object else ""
    return {
        "description": f"{about}{each.message}",
        "check_name": f"{each.rule.code} {each.rule.name}",
        "fingerprint": each.fingerprint if n == 1 else f"{each.fingerprint}-{n}",
        "severity": _SEVERITIES[each.severity],
        "location": {
            "path": unquote(relative_uri(each.file.name, root)),
            "lines": {"begin": region.line, "end": max(region.end_line, region.line)},
        },
    }


# ``-o junit``: JUnit XML with a test suite per file and a test case per object, with findings as failures.

#: The characters that XML 1.0 does not allow.
_NO_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class JUnit(FindingsForm):
    """``-o junit``: JUnit XML."""

    def render_findings(self, run: LintView) -> Iterator[str]:
        others = [each.file for each in run.told if each.file not in run.linted.files]
        cases = [
            (file, list(_cases(file, [each for each in run.told if each.file is file])))
            for file in [*run.linted.files, *dict.fromkeys(others)]
        ]
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


def _cases(file: LintFile, found: Sequence[LintFinding]) -> Iterator[tuple[str, list[LintFinding]]]:
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


def _counts(cases: Sequence[tuple[str, list[LintFinding]]]) -> str:
    failed = sum(any(each.severity is not Severity.INFO for each in found) for _, found in cases)
    return f'tests="{len(cases)}" failures="{failed}" errors="0"'


def _case(file: LintFile, name: str, found: Sequence[LintFinding]) -> Iterator[str]:
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


def _line(each: LintFinding) -> str:
    help_ = f" (help: {each.help})" if each.help else ""
    where = f"{each.file.name}:{each.region.line}:{each.region.column}"
    return f"{where} {each.rule.code} {each.severity} {each.message}{help_}"


def _text(text: str) -> str:
    return escape(_NO_XML.sub("?", text))


def _attribute(text: str) -> str:
    return quoteattr(_NO_XML.sub("?", text).replace("\n", " "))
