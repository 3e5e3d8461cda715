"""Suggested command lines, quoted so that pasting them into a shell runs exactly the suggested command."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Final

from kschedctl.common.text.characters import printable

#: The characters besides letters and digits that need no escape in a printf format.
_PLAIN: Final = "-._/:="


def command_line(*words: str) -> str:
    r"""Return a command line of this program, in the way the user calls it, ready to be pasted into a shell.

    A word with invisible characters is written as a call of ``printf``, which every POSIX shell has; a newline at the
    end of such a word is lost.

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
    """Return the way the user calls the program: as a kubectl plugin or by its own name."""
    name = Path(sys.argv[0]).name
    return "kubectl ksched" if name.startswith("kubectl-") else "kschedctl"


def _quoted(word: str) -> str:
    if printable(word) == word:
        return shlex.quote(word)
    # Paths may contain bytes that are not valid UTF-8.
    letters = (chr(byte) for byte in word.encode(errors="surrogateescape"))
    spelled = "".join(c if c.isascii() and (c.isalnum() or c in _PLAIN) else f"\\{ord(c):03o}" for c in letters)
    return f"\"$(printf '{spelled}')\""
