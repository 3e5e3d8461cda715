"""``-o concise``: one line per finding, in the form of compiler messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kschedctl.common.text.characters import printable
from kschedctl.output.findings import FindingsForm

if TYPE_CHECKING:
    from kschedctl.questions.lint.document import LintView


class Concise(FindingsForm):
    """Compiler-style output: one line per finding."""

    def render_findings(self, run: LintView) -> Iterator[str]:
        """Yield the findings, then a line with their number."""
        for each in run.told:
            where = f"{each.file.name}:{each.region.line}:{each.region.column}"
            about = f" [{each.shown_object}]" if each.shown_object else ""
            yield f"{printable(f'{where}: {each.severity} {each.rule.code} {each.message}{about}')}\n"
        yield f"{run.headline}\n"
