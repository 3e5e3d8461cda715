"""``-o gitlab``: a GitLab code quality report, a JSON array."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from kschedctl.common.findings import Severity
from kschedctl.common.text.characters import json_text
from kschedctl.output.findings import FindingsForm
from kschedctl.output.sarif import relative_uri, repository_root

if TYPE_CHECKING:
    from kschedctl.linter.lint_finding import Diagnosis
    from kschedctl.questions.lint.document import LintView

_SEVERITIES: Final = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.INFO: "info"}


class GitLab(FindingsForm):
    """A GitLab code quality report; an empty array if there are no findings."""

    def render_findings(self, run: LintView) -> Iterator[str]:
        """Yield the report."""
        import msgspec

        from kschedctl.common.text.json_text import encoded_json

        root = repository_root(Path.cwd())
        seen: Counter[str] = Counter()
        entries = [_entry(each, root, seen) for each in run.told]
        yield f"{json_text(msgspec.json.format(encoded_json(entries), indent=2))}\n"


def _entry(each: Diagnosis, root: Path, seen: Counter[str]) -> dict[str, Any]:
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
