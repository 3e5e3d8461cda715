"""``-o github``: workflow commands, which GitHub Actions shows as annotations of a pull request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from kschedctl.common.findings import Severity
from kschedctl.common.text.characters import printable
from kschedctl.output.findings import FindingsForm

if TYPE_CHECKING:
    from kschedctl.questions.lint.document import LintView

_COMMANDS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


class GitHub(FindingsForm):
    """Annotations, most severe first, because GitHub shows at most ten of each kind."""

    def render_findings(self, run: LintView) -> Iterator[str]:
        """Yield the annotations, then a line with the number of findings."""
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
            given = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
            yield f"::{_COMMANDS[each.severity]} {given}::{text}\n"
        yield f"{run.headline}\n"


def _data(text: str) -> str:
    shown = "\n".join(map(printable, text.split("\n")))
    return shown.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
