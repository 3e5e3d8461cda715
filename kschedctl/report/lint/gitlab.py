"""``-o gitlab``: a code quality report, one list of JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import msgspec

from kschedctl.findings.finding import Severity
from kschedctl.lint.diagnosis import Diagnosis
from kschedctl.report.lint.form import LintForm, Run
from kschedctl.report.lint.sarif import relative_uri, repository_root
from kschedctl.report.render.printable import json_text

_SEVERITIES: Final = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.INFO: "info"}


class GitLab(LintForm):
    """GitLab's code quality report; an empty list where nothing was found."""

    name = "gitlab"

    def render(self, run: Run) -> Iterator[str]:
        """Print the list."""
        root = repository_root(Path.cwd())
        seen: Counter[str] = Counter()
        entries = [_entry(each, root, seen) for each in run.linted.found]
        yield f"{json_text(msgspec.json.format(msgspec.json.encode(entries), indent=2))}\n"


def _entry(each: Diagnosis, root: Path, seen: Counter[str]) -> dict[str, Any]:
    # Of equal fingerprints all but one are dropped.
    seen[each.fingerprint] += 1
    n = seen[each.fingerprint]
    about = f"{each.shown_object}: " if each.shown_object else ""
    return {
        "description": f"{about}{each.message}",
        "check_name": f"{each.rule.code} {each.rule.name}",
        "fingerprint": each.fingerprint if n == 1 else f"{each.fingerprint}-{n}",
        "severity": _SEVERITIES[each.severity],
        "location": {
            "path": unquote(relative_uri(each.file.name, root)),
            "lines": {"begin": each.region.line, "end": max(each.region.end_line, each.region.line)},
        },
    }
