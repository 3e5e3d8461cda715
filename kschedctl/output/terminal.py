"""Blocks as text for a terminal of a given width, or for a pipe, where lines are not wrapped."""

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from shutil import get_terminal_size
from typing import IO, TYPE_CHECKING, Final, NamedTuple

from kschedctl.common.frames import ShownInNotebooks
from kschedctl.common.text.characters import printable
from kschedctl.output.forms import Console
from kschedctl.output.grid import Printed, grid, wrapped
from kschedctl.questions.document import (
    Block,
    Gap,
    Heading,
    Paragraph,
    Phrases,
    Provenance,
    Question,
    Questions,
    Table,
    Tone,
    Verbatim,
)

if TYPE_CHECKING:
    from kschedctl.questions.frame import View

_STYLES: Final = {
    Tone.STRONG: "bold",
    Tone.FAINT: "dim",
    Tone.GOOD: "bold green",
    Tone.BAD: "bold red",
    Tone.MIXED: "bold yellow",
    Tone.CAUTION: "yellow",
}
_DOT: Final = "\N{MIDDLE DOT}"


class _Plain(NamedTuple):
    """A console without colours, for a text."""

    width: int
    file: IO[str]
    encoding: str = "utf-8"
    color_system: None = None
    is_terminal: bool = False


def as_text(
    answer: ShownInNotebooks, width: int | None = None, *, wide: bool = False, view: "View | None" = None
) -> str:
    """Return an answer as text; parameters are those of ``Answer.to_text``, and a view that some answers need."""
    from kschedctl.questions.documents import document
    from kschedctl.questions.frame import View

    view = view or View(wide=wide)
    columns = get_terminal_size().columns if width is None else width if width > 0 else sys.maxsize
    console = _Plain(columns, sys.stdout)
    return "".join(render(document(answer, view), console, lambda question: "", in_full=view.wide)).rstrip("\n")


def render(
    blocks: Iterable[Block], console: Console, command_line: Callable[[Question], str], *, in_full: bool = False
) -> Iterator[str]:
    """Convert blocks to text, one after the other.

    Args:
        blocks: The blocks; invisible characters in them are escaped.
        console: The console that the text is for: the source of width, colours and encoding; nothing is written to
            it.
        in_full: True if no name may be shortened unless the output completes it.

    Yields: Whole lines without trailing spaces.
    """
    for block in blocks:
        for tone, parts in groupby(
            _printed_lines(block, console, command_line, in_full=in_full), key=lambda printed: printed[1]
        ):
            text = "".join(f"{line.rstrip()}\n" for lines, _ in parts for line in lines)
            yield _styled(text, tone, console)


def _styled(text: str, tone: Tone, console: Console) -> str:
    if tone is Tone.PLAIN or console.color_system is None:
        return text
    # Only terminals have colours.
    from rich.console import Console as RichConsole
    from rich.text import Text

    assert isinstance(console, RichConsole)
    with console.capture() as capture:
        console.print(Text(text), style=_STYLES[tone], soft_wrap=True, end="")
    return capture.get()


def _printed_lines(
    block: Block, console: Console, command_line: Callable[[Question], str], *, in_full: bool
) -> Iterator[Printed]:
    match block:
        case Gap():
            yield [""], Tone.PLAIN
        case Heading():
            yield [""], Tone.PLAIN
            yield wrapped(printable(block.text), max(console.width, 1)), Tone.STRONG
        case Paragraph():
            indent = " " * block.indent
            lines = wrapped(printable(block.text), max(console.width - block.indent, 1))
            yield [indent + line for line in lines], block.tone
        case Verbatim():
            yield [" " * block.indent + printable(block.text)], Tone.PLAIN
        case Phrases():
            yield list(_phrases(block.texts, console)), Tone.PLAIN
        case Provenance():
            yield list(_phrases(block.phrases, console)), Tone.PLAIN
            for change in block.changes:
                yield wrapped(printable(f"what if: {change}"), max(console.width, 1)), Tone.MIXED
        case Table():
            yield from grid(block, console.width, in_full=in_full)
        case Questions():
            written = [(question.text, command_line(question)) for question in block.questions]
            shown = [(text, line) for text, line in written if line]
            width = max((len(text) for text, _ in shown), default=0)
            yield [printable(f"{text + ':':{width + 1}} {line}") for text, line in shown], Tone.PLAIN


def _phrases(texts: Iterable[str], console: Console) -> Iterator[str]:
    between = f" {_DOT} " if _can_show(_DOT, console) else " | "
    line = ""
    for text in map(printable, texts):
        longer = f"{line}{between}{text}" if line else text
        if line and len(longer) > console.width:
            yield from wrapped(line, console.width)
            longer = text
        line = longer
    if line:
        yield from wrapped(line, console.width)


def _can_show(character: str, console: Console) -> bool:
    try:
        character.encode(console.encoding)
    except UnicodeEncodeError:
        return False
    return True


# The forms for people: by default and ``-o human`` short, ``-o wide`` in full.
