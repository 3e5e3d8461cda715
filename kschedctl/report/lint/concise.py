"""``-o concise``: a line for each finding, as compilers write them."""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.report.lint.form import LintForm, Run
from kschedctl.report.lint.summary import headline
from kschedctl.report.render.printable import printable


class Concise(LintForm):
    """A line for each finding."""

    name = "concise"

    def render(self, run: Run) -> Iterator[str]:
        """Print the findings, and then how many there are."""
        for each in run.told:
            where = f"{each.file.name}:{each.region.line}:{each.region.column}"
            about = f" [{each.shown_object}]" if each.shown_object else ""
            yield f"{printable(f'{where}: {each.severity} {each.rule.code} {each.message}{about}')}\n"
        yield f"{headline(run)}\n"
