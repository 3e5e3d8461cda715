"""Builds of the reference scheduler: one per release, cached until its sources or its version change."""

import hashlib
import os
import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kschedctl.common.errors import KschedctlError

SOURCES: Final = Path(__file__).with_name("judge")
_RELEASES: Final = Path(__file__).with_name("releases.toml")


class BuildError(KschedctlError):
    """The reference scheduler of a release cannot be built."""


def versions(path: Path = _RELEASES) -> Mapping[str, str]:
    """Return the Kubernetes version that is built for each release: ``{"1.37": "1.37.0"}``."""
    return tomllib.loads(path.read_text())


def cache() -> Path:
    """Return the cache folder, which has a subfolder per release."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kschedctl" / "judge"


def build(release: str) -> Path:
    """Return the path of the reference scheduler of a release; build it first if needed, which takes minutes.

    Raises
    ------
    BuildError
        If releases.toml has no version for the release, Go is not installed, or compilation fails.
    """
    known = versions()
    if release not in known:
        raise BuildError(f"no version of release {release} is named in {_RELEASES.name}; there are {', '.join(known)}")
    found = built(release)
    if found is not None:
        return found
    folder = cache() / release
    stamp = folder / "stamp"
    if shutil.which("go") is None:
        raise BuildError("building the judge needs Go 1.26 or newer on PATH: https://go.dev/dl")
    stamp.unlink(missing_ok=True)
    command = [str(SOURCES / "build.sh"), known[release], str(folder)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise BuildError(f"the judge of Kubernetes {known[release]} cannot be built:\n{ran.stderr.strip()}")
    stamp.write_text(_stamp(known[release]))
    return folder / "judge"


def built(release: str) -> Path | None:
    """Return the path of the reference scheduler of a release if it was built from the current sources, else None."""
    folder = cache() / release
    program, stamp = folder / "judge", folder / "stamp"
    is_current = program.exists() and stamp.exists() and stamp.read_text() == _stamp(versions()[release])
    return program if is_current else None


def _stamp(version: str) -> str:
    digest = hashlib.sha256(version.encode())
    for path in sorted(SOURCES.iterdir()):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()
