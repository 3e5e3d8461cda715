"""The base of the output formats that only ``lint`` has."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from kschedctl.output.form import Form, Medium

if TYPE_CHECKING:
    from kschedctl.output.form import Answers
    from kschedctl.questions.frame import View
    from kschedctl.questions.lint.document import LintView


class FindingsForm(Form):
    """An output format that only the findings of ``lint`` have."""

    def render(self, answer: Answers, view: View, medium: Medium) -> Iterator[str]:
        """Yield the findings in this format; the view has them together with the lines that they are about."""
        yield from self.render_findings(cast("LintView", view))

    @abstractmethod
    def render_findings(self, run: LintView) -> Iterator[str]:
        """Yield the findings in this format, piece by piece."""
