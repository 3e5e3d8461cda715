"""The forms for people; the layout is imported when it is used."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from kschedctl.output.forms import Form

if TYPE_CHECKING:
    from kschedctl.output.forms import Answers, Medium
    from kschedctl.questions.frame import View


class Text(Form):
    """The default format and ``-o human``: text for people."""

    wide: ClassVar[bool] = False

    def render(self, answer: "Answers", view: "View", medium: "Medium") -> Iterator[str]:
        from msgspec.structs import replace

        from kschedctl.output.terminal import render
        from kschedctl.questions.documents import document

        wide = self.wide or view.wide
        blocks = document(answer, replace(view, wide=wide))
        yield from render(blocks, medium.console(), medium.command_line, in_full=wide)


class Wide(Text):
    """``-o wide``: text with all items, one by one."""

    wide = True
