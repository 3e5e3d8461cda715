"""Completion files for the shells, made by the command line itself."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

#: The names under which shells, and the packages for them, look for the completion of a command.
FILES: Final = {"bash": "kschedctl.bash", "zsh": "_kschedctl", "fish": "kschedctl.fish", "powershell": "kschedctl.ps1"}
_FUNCTION: Final = "_kschedctl_completion"
_REGISTERED: Final = f"compdef {_FUNCTION} kschedctl"
#: zsh runs the whole file at the first request, which has to define the function of its name for all others.
_RUN_OR_REGISTERED: Final = f"""\
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  {_FUNCTION} "$@"
else
  {_REGISTERED}
fi"""


def write_completions(folder: Path) -> None:
    """Write a file per shell."""
    for shell, name in FILES.items():
        folder.joinpath(name).write_text(script(shell))


def script(shell: str) -> str:
    """Return the script for a shell.

    Raises
    ------
    ValueError
        If the script for zsh no longer has the line that is replaced.
    """
    words = [sys.executable, "-c", "import sys; from kschedctl.cli.main import app; app(prog_name='kschedctl')"]
    environment = {**os.environ, "_KSCHEDCTL_COMPLETE": f"source_{shell}"}
    # compinit reads the first line of the file for zsh, which must not be empty.
    printed = subprocess.run(words, env=environment, check=True, capture_output=True, text=True).stdout.strip() + "\n"
    if shell != "zsh":
        return printed
    if _REGISTERED not in printed:
        raise ValueError(f"{_REGISTERED!r} is missing in the script for zsh:\n{printed}")
    return printed.replace(_REGISTERED, _RUN_OR_REGISTERED).replace(_FUNCTION, FILES[shell])
