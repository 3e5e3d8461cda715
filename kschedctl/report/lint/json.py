"""``-o json`` and ``-o jsonl``: the answer as data, whole, or a line for each finding."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kschedctl.report.lint.answer import finding, report
from kschedctl.report.lint.form import LintForm, Run
from kschedctl.report.render.printable import json_text


class Json(LintForm):
    """The answer as data."""

    name = "json"

    def render(self, run: Run) -> Iterator[str]:
        """Print it."""
        data = msgspec.json.format(msgspec.json.encode(report(run.linted, run.fixed)), indent=2)
        yield f"{json_text(data)}\n"


class JsonLines(LintForm):
    """A line for each finding; none where there are none."""

    name = "jsonl"

    def render(self, run: Run) -> Iterator[str]:
        """Print them."""
        for each in run.linted.found:
            yield f"{json_text(msgspec.json.encode(finding(each)))}\n"
