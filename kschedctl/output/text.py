"""The forms for people: by default and ``-o human`` short, ``-o wide`` in full."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from kschedctl.output.form import Form, Medium

if TYPE_CHECKING:
    from kschedctl.output.form import Answers
    from kschedctl.questions.frame import View


class Text(Form):
    """The default format: text for people."""

    wide: ClassVar[bool] = False

    def render(self, answer: Answers, view: View, medium: Medium) -> Iterator[str]:
        """Yield the blocks of the answer's document as text."""
        from kschedctl.output.terminal import render
        from kschedctl.questions.documents import document

        wide = self.wide or view.wide
        blocks = document(answer, replace(view, wide=wide))
        yield from render(blocks, medium.console(), medium.command_line, in_full=wide)


class Wide(Text):
    """Text with all items, one by one."""

    wide = True
