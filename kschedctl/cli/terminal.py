"""The console for text answers: a terminal with its width, or a pipe without wrapping."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from rich.console import Console

#: The width if none is known: text is not wrapped.
_NO_WIDTH: Final = 100_000


class ColorWhen(StrEnum):
    """The values of ``--color``; named as in git and grep."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


def open_console(when: ColorWhen) -> Console:
    """Return standard output as a console.

    Parameters
    ----------
    when : ColorWhen
        The use of colours; with ``AUTO``, colours are used on a terminal that supports them unless NO_COLOR is set.
    """
    import os
    import shutil

    from rich.console import Console

    # COLUMNS=0 means no width, as does the size reported for a pipe.
    width = shutil.get_terminal_size((_NO_WIDTH, 0)).columns
    # Without colours there is no bold text either: only plain characters are written.
    plain = when is ColorWhen.NEVER or (when is ColorWhen.AUTO and bool(os.environ.get("NO_COLOR")))
    always = when is ColorWhen.ALWAYS
    system: Literal["auto", "standard"] | None = None if plain else "standard" if always else "auto"
    # --color=always overrides NO_COLOR.
    return Console(
        width=width,
        color_system=system,
        force_terminal=True if always else None,
        no_color=False,
        highlight=False,
        markup=False,
        emoji=False,
    )
