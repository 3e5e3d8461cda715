"""``python -m kschedctl``: the command without its script."""

import subprocess
import sys
from importlib.metadata import version

import pytest


@pytest.mark.parametrize(
    ("arguments", "code", "printed"),
    [
        (["--version"], 0, f"kschedctl {version('kschedctl')}\n"),
        (["explain", "--nonsense"], 2, ""),
        (["explain", "a", "--snapshot", "/nowhere"], 2, ""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value).strip(),
)
def test_module_is_the_command(arguments: list[str], code: int, printed: str) -> None:
    done = subprocess.run([sys.executable, "-m", "kschedctl", *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (code, printed)
    assert not done.returncode or "error: " in done.stderr.lower()
