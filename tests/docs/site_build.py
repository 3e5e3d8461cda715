"""The documentation site, built for a test."""

import os
import subprocess
import sys
from pathlib import Path

from tools.site_links import ROOT


def build(folder: Path) -> Path:
    """Build the site into a folder, and return the folder."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder
