"""The base of the forms of output that only findings have."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from kschedctl.render.form import Form, FormKind, Medium

if TYPE_CHECKING:
    from kschedctl.presentation.frame import View
    from kschedctl.presentation.lint import LintView
    from kschedctl.render.form import Answers


class FindingsForm(Form):
    """A form that only the findings of ``lint`` have."""

    kinds = frozenset({FormKind.FINDINGS})

    def render(self, answer: Answers, view: View, medium: Medium) -> Iterator[str]:
        """Yield the findings in this form; they are shown with the lines that they are about, which the view has."""
        yield from self.render_findings(cast("LintView", view))

    @abstractmethod
    def render_findings(self, run: LintView) -> Iterator[str]:
        """Yield the findings in this form, piece by piece."""
