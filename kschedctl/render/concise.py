"""``-o concise``: a line for each finding, as compilers write them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kschedctl.render.findings import FindingsForm
from kschedctl.text.printable import printable

if TYPE_CHECKING:
    from kschedctl.presentation.lint import LintView


class Concise(FindingsForm):
    """A line for each finding."""

    name = "concise"

    def render_findings(self, run: LintView) -> Iterator[str]:
        """Print the findings, and then how many there are."""
        for each in run.told:
            where = f"{each.file.name}:{each.region.line}:{each.region.column}"
            about = f" [{each.shown_object}]" if each.shown_object else ""
            yield f"{printable(f'{where}: {each.severity} {each.rule.code} {each.message}{about}')}\n"
        yield f"{run.headline}\n"
