"""axe-core, the checker of accessibility, from the npm registry; cached, since it is no part of this package."""

import base64
import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Final

VERSION: Final = "4.14.1"
#: The SHA-512 digest of the tarball, as the registry states it.
_INTEGRITY: Final = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="


class AxeError(Exception):
    """A reason why axe-core is not available."""


def read_axe() -> str:
    """Return the script of axe-core; download it if it is not cached.

    Raises
    ------
    AxeError
        If npm is missing or cannot download the package, or if the package is not the expected one.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    file = cache / "kschedctl" / f"axe-core-{VERSION}" / "axe.min.js"
    if not file.exists():
        text = _download()
        file.parent.mkdir(parents=True, exist_ok=True)
        # Another process may be about to do the same.
        with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as new:
            new.write(text)
        Path(new.name).replace(file)
    return file.read_text()


def _download() -> bytes:
    npm = shutil.which("npm")
    if npm is None:
        raise AxeError("npm not found in PATH")
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "pack", f"axe-core@{VERSION}", "--pack-destination", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd=folder)
        if done.returncode:
            raise AxeError(f"npm pack axe-core@{VERSION} failed: {(done.stderr.splitlines() or [''])[-1]}")
        tarball = Path(folder) / f"axe-core-{VERSION}.tgz"
        if base64.b64encode(hashlib.sha512(tarball.read_bytes()).digest()).decode() != _INTEGRITY:
            raise AxeError(f"axe-core@{VERSION} from npm has another SHA-512 digest than expected")
        with tarfile.open(tarball) as archive:
            member = archive.extractfile("package/axe.min.js")
            assert member is not None
            return member.read()
