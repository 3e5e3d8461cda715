"""Command lines that are suggested: what a person pastes into a shell asks exactly this, whatever names are in it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Final

from kschedctl.text.printable import printable

#: What stands for itself in a format of printf, beside letters and digits.
_PLAIN: Final = "-._/:="


def command_line(*words: str) -> str:
    r"""A command of this program, called as the user calls it, to be pasted into a shell.

    A word with characters that cannot be seen is spelled by ``printf``, which every shell of POSIX has; a newline at
    its very end is lost.

    Parameters
    ----------
    *words : str
        The command and its arguments.

    Examples
    --------
    >>> print(command_line("explain", "shop/web 1", "--node", "n1; touch x #"))
    kschedctl explain 'shop/web 1' --node 'n1; touch x #'
    >>> print(command_line("explain", "web\x1b[2J"))
    kschedctl explain "$(printf 'web\033\1332J')"
    """
    return " ".join([program(), *map(_quoted, words)])


def program() -> str:
    """How the user calls the program: as a kubectl plugin or by itself."""
    name = Path(sys.argv[0]).name
    return "kubectl ksched" if name.startswith("kubectl-") else "kschedctl"


def _quoted(word: str) -> str:
    if printable(word) == word:
        return shlex.quote(word)
    # Paths may have bytes that are no text.
    letters = (chr(byte) for byte in word.encode(errors="surrogateescape"))
    spelled = "".join(c if c.isascii() and (c.isalnum() or c in _PLAIN) else f"\\{ord(c):03o}" for c in letters)
    return f"\"$(printf '{spelled}')\""
