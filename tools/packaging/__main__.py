"""Makes the files of package managers and shells: ``make packaging VERSION=0.2.0 DIST=dist``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tools.packaging.bundle import build_bundle
from tools.packaging.completions import FILES, write_completions
from tools.packaging.homebrew import formula, resolve
from tools.packaging.krew import archives, manifest, this_platform
from tools.packaging.man_page import man_page

_MIB: Final = 2**20
MAN_PAGE: Final = "kschedctl.1"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write all files, and print their names and sizes."""
    parser = argparse.ArgumentParser(prog="make packaging", description=__doc__)
    parser.add_argument("--version", required=True, help="of the release, without a v")
    parser.add_argument("--dist", type=Path, required=True, help="folder with its wheel, its sdist and its archives")
    parser.add_argument("--repository", required=True, help="URL of the repository that the files link to")
    parser.add_argument(
        "--only-bundle", action="store_true", help="build the archive of this platform, and nothing else"
    )
    given = parser.parse_args(arguments)
    dist, version = given.dist, given.version
    wheel, sdist = dist / f"kschedctl-{version}-py3-none-any.whl", dist / f"kschedctl-{version}.tar.gz"
    for path in (wheel, sdist):
        if not path.exists():
            parser.error(f"{path} does not exist; build the release first")
    if given.only_bundle or this_platform() not in archives(dist, version):
        build_bundle(wheel, version, dist)
    written = sorted(archives(dist, version).values())
    if not given.only_bundle:
        written += _write(dist, version, given.repository.removesuffix("/"), wheel, sdist)
    for path in written:
        print(f"{path.stat().st_size / _MIB:7.2f} MiB  {path}")
    return 0


def _write(dist: Path, version: str, repository: str, wheel: Path, sdist: Path) -> list[Path]:
    """Write everything that is made from the files of the release, and return its paths."""
    write_completions(dist)
    page = dist / MAN_PAGE
    page.write_text(man_page(version))
    krew = dist / "ksched.yaml"
    krew.write_text(manifest(version, repository, archives(dist, version)))
    homebrew = dist / "kschedctl.rb"
    homebrew.write_text(formula(version, repository, sdist, page, dist / FILES["zsh"], resolve(wheel)))
    return [*(dist / name for name in FILES.values()), page, krew, homebrew]


if __name__ == "__main__":
    sys.exit(main())
