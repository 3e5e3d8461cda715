"""Checks that the files of a release are complete and writes their checksums: ``python -m tools.artifacts 0.2.0``."""

import hashlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
ARTIFACTS: Final = Path("build", "artifacts")
CHECKSUMS: Final = "SHA256SUMS"
SBOM: Final = "sbom.cdx.json"


def missing(version: str, folder: Path) -> list[str]:
    """Return the names of the packages of a version that a folder lacks."""
    expected = (f"kschedctl-{version}-py3-none-any.whl", f"kschedctl-{version}.tar.gz")
    return [name for name in expected if not (folder / name).is_file()]


def name_version(version: str, sbom: Path) -> None:
    """Write the version into an SBOM, whose subject has none: pyproject.toml names no version."""
    content = json.loads(sbom.read_text(encoding="utf-8"))
    content["metadata"]["component"] |= {"version": version, "purl": f"pkg:pypi/kschedctl@{version}"}
    sbom.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def checksums(files: Iterable[Path]) -> str:
    """Return the SHA-256 of files as ``sha256sum --check`` reads it."""
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(files))


def main(version: str, folder: Path) -> None:
    if lacking := missing(version, folder):
        raise SystemExit(f"{folder} lacks {' and '.join(lacking)}; does the tag have another version?")
    name_version(version, folder / SBOM)
    files = [path for path in folder.iterdir() if path.name != CHECKSUMS]
    (folder / CHECKSUMS).write_text(checksums(files), encoding="utf-8")
    print(f"{folder / CHECKSUMS}: {len(files)} files")


if __name__ == "__main__":
    main(sys.argv[1], ROOT / ARTIFACTS)
