"""``-o sarif``: SARIF 2.1.0 in the form that GitHub code scanning accepts.

Locations are relative to the root of the repository (the nearest parent folder with ``.git``, else the current
folder). Without findings, results are an empty list. Ignored findings are included as suppressed, with the reason.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from kschedctl.common.findings import Severity
from kschedctl.common.text.characters import json_text
from kschedctl.output.findings import FindingsForm

if TYPE_CHECKING:
    from kschedctl.linter.ignore import Ignored
    from kschedctl.linter.lint_files import Region
    from kschedctl.linter.lint_finding import Diagnosis
    from kschedctl.linter.rule import Rule
    from kschedctl.questions.lint.document import LintView

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_ROOT: Final = "%SRCROOT%"
#: The number of results per run that GitHub accepts.
_MOST: Final = 25_000
#: A tagged version; those between two tags are not in the form of Semantic Versioning.
_SEMANTIC: Final = re.compile(r"\d+\.\d+\.\d+")


class Sarif(FindingsForm):
    """SARIF 2.1.0."""

    def render_findings(self, run: LintView) -> Iterator[str]:
        """Yield the SARIF log."""
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
    found: Sequence[Diagnosis] = run.told[:_MOST]
    results = [_result(each, index, root) for each in found]
    ignored = [each for each in run.linted.ignored if not each.diagnosis.counted]
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


def _result(each: Diagnosis, index: dict[str, int], root: Path) -> dict[str, Any]:
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
    return {**_result(each.diagnosis, index, root), "suppressions": [suppression]}


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


def _logical(each: Diagnosis) -> dict[str, Any]:
    if each.object is None:
        return {}
    field = f".{each.finding.field}" if each.finding.field else ""
    return {
        "logicalLocations": [
            {"name": each.object.name, "fullyQualifiedName": f"{each.shown_object}{field}", "kind": "object"}
        ]
    }
