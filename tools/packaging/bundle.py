"""The archive of the kubectl plugin for this platform: the program with a Python of its own, made by PyInstaller.

krew installs archives, not Python packages, and a user of kubectl may have no Python of the right version. The folder
is not packed into a single file, because such a file unpacks itself at every start.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path
from typing import Final

from tools.packaging.krew import PROGRAM, archive_name, this_platform

#: The extras of the image. The solver and Dask would make the archive four times as large.
EXTRAS: Final = "devices,live,watch,web"
_ROOT: Final = Path(__file__).parents[2]
_PYINSTALLER: Final = "pyinstaller>=6.10"


def build_bundle(wheel: Path, version: str, folder: Path) -> Path:
    """Build the archive from a wheel, and return its path.

    Parameters
    ----------
    wheel : Path
        The wheel of the release.
    version : str
        Its version.
    folder : Path
        The folder for the archive.
    """
    of = this_platform()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        # An environment of its own: what happens to be installed here must not get into the archive.
        venv.create(work / "venv", with_pip=True)
        python = work / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
        _run(python, "-m", "pip", "install", "--quiet", f"{wheel.resolve()}[{EXTRAS}]", _PYINSTALLER)
        # Where the wheel was installed from: a path on this machine.
        for origin in (work / "venv").rglob("kschedctl-*.dist-info/direct_url.json"):
            origin.unlink()
        pyinstaller = [
            *("--noconfirm", "--log-level=WARN", "--onedir", f"--name={PROGRAM}"),
            *(f"--distpath={work / 'dist'}", f"--workpath={work / 'build'}", f"--specpath={work}"),
            # Plugins and rules are imported by name, and their sources are read.
            *("--collect-all=kschedctl", "--copy-metadata=kschedctl"),
        ]
        _run(python, "-m", "PyInstaller", *pyinstaller, str(Path(__file__).with_name("bundle_main.py")))
        archive = folder / archive_name(version, of)
        # krew unpacks files and folders only, no links.
        with tarfile.open(archive, "w:gz", dereference=True) as packed:
            for path in sorted((work / "dist" / PROGRAM).iterdir()):
                packed.add(path, path.name, filter=_anonymous)
            packed.add(_ROOT / "LICENSE", "LICENSE", filter=_anonymous)
    return archive


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Remove the name of the user who packs."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _run(*words: Path | str) -> None:
    subprocess.run([str(word) for word in words], check=True, stdout=sys.stderr)
