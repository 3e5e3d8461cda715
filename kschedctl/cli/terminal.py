"""Where text answers go: a terminal of some width, or a pipe where nothing is broken."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from rich.console import Console

#: Where nothing tells a width, nothing is broken.
_NO_WIDTH: Final = 100_000


class ColorWhen(StrEnum):
    """When answers have colours; named as by git and grep."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


def open_console(when: ColorWhen) -> Console:
    """Standard output as a console.

    Parameters
    ----------
    when : ColorWhen
        When it has colours: by itself where a terminal shows them and NO_COLOR does not say otherwise.
    """
    import os
    import shutil

    from rich.console import Console

    # COLUMNS=0 is no width; so is what is told of a pipe.
    width = shutil.get_terminal_size((_NO_WIDTH, 0)).columns
    # Without colours there is no bold either: what is left are the characters alone.
    plain = when is ColorWhen.NEVER or (when is ColorWhen.AUTO and bool(os.environ.get("NO_COLOR")))
    always = when is ColorWhen.ALWAYS
    system: Literal["auto", "standard"] | None = None if plain else "standard" if always else "auto"
    # NO_COLOR does not take away what --color=always asks for.
    return Console(
        width=width,
        color_system=system,
        force_terminal=True if always else None,
        no_color=False,
        highlight=False,
        markup=False,
        emoji=False,
    )
