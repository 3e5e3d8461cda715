"""The picture in README: the terminal output of a command, as an SVG.

python -m tools.picture
"""

import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from rich.console import Console
from rich.text import Text

ROOT: Final = Path(__file__).parents[1]
PATH: Final = ROOT / "docs" / "explain.svg"
COMMAND: Final = "kschedctl explain shop/search-3 --snapshot fixtures/shop/cluster"
_WIDTH: Final = 110
_PROGRAM: Final = "import sys; sys.argv[0] = 'kschedctl'; from kschedctl.cli.main import run; run()"
#: The snapshot's age grows, so it is replaced.
_AGE: Final = re.compile(r"(?<= UTC, )[0-9]+ days ago")
#: Web fonts are removed: the picture must not fetch anything.
_FONTS: Final = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
_TEXT: Final = "{http://www.w3.org/2000/svg}text"


def printed() -> str:
    """Return the output of the command on a terminal with colours."""
    environment = {name: value for name, value in os.environ.items() if name not in ("KSCHEDCTL_SNAPSHOT", "NO_COLOR")}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *COMMAND.split()[1:], "--color=always"],
        cwd=ROOT,
        env=environment | {"COLUMNS": str(_WIDTH), "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr)
    return _AGE.sub("3 min ago", done.stdout)


def picture() -> str:
    """Return the command and its output, as SVG."""
    answer = Text.from_ansi(printed())
    # The picture is as wide as the longest line, as the scheduler's message is not wrapped.
    width = max(len(line) for line in answer.plain.splitlines())
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text(f"$ {COMMAND}", style="bold"))
    console.print(answer)
    return _FONTS.sub("", console.export_svg(title="kschedctl", unique_id="kschedctl"))


def lines(svg: str) -> list[str]:
    """Return the lines of text in a picture, from top to bottom: they do not depend on the version of rich."""
    found: dict[float, str] = {}
    for element in ElementTree.fromstring(svg).iter(_TEXT):
        # The title of the window has no clip path.
        if element.get("clip-path"):
            height = float(element.get("y", 0))
            found[height] = found.get(height, "") + (element.text or "")
    return [text.replace("\N{NO-BREAK SPACE}", " ").rstrip() for _, text in sorted(found.items())]


if __name__ == "__main__":
    PATH.write_text(picture(), encoding="utf-8")
