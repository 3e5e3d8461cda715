"""The console for text answers: a terminal with its width, or a pipe without wrapping."""

from __future__ import annotations

import os
import shutil
import sys
from enum import StrEnum
from typing import Final, Literal, NamedTuple, TextIO

from kschedctl.output.form import Console

#: The width if none is known: text is not wrapped.
_NO_WIDTH: Final = 100_000
#: The environment variables by which users ask for the output of a terminal.
_FORCING: Final = ("FORCE_COLOR", "TTY_COMPATIBLE")


class ColorWhen(StrEnum):
    """The values of ``--color``; named as in git and grep."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class Pipe(NamedTuple):
    """A file or pipe as a console, without rich, whose import takes as long as the decision for a pod."""

    width: int
    file: TextIO
    color_system: None = None
    is_terminal: bool = False

    @property
    def encoding(self) -> str:
        """The encoding, in lower case."""
        return (self.file.encoding or "utf-8").lower()


def open_console(when: ColorWhen) -> Console:
    """Return standard output as a console.

    Parameters
    ----------
    when : ColorWhen
        The use of colours; with ``AUTO``, colours are used on a terminal that supports them unless NO_COLOR is set.
    """
    # COLUMNS=0 means no width, as does the size reported for a pipe.
    width = shutil.get_terminal_size((_NO_WIDTH, 0)).columns
    always = when is ColorWhen.ALWAYS
    if not (always or sys.stdout.isatty() or any(os.environ.get(name) for name in _FORCING)):
        return Pipe(width, sys.stdout)
    from rich.console import Console as RichConsole

    # Without colours there is no bold text either: only plain characters are written.
    plain = when is ColorWhen.NEVER or (when is ColorWhen.AUTO and bool(os.environ.get("NO_COLOR")))
    system: Literal["auto", "standard"] | None = None if plain else "standard" if always else "auto"
    # --color=always overrides NO_COLOR.
    return RichConsole(
        width=width,
        color_system=system,
        force_terminal=True if always else None,
        no_color=False,
        highlight=False,
        markup=False,
        emoji=False,
    )
