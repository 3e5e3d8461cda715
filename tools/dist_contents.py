"""Check that packages contain the tracked files and nothing else: ``python -m tools.dist_contents FILE...``."""

import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Collection, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "kschedctl/"
METADATA = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")


def tracked() -> set[str]:
    """Return the paths of all tracked files."""
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines())


def expected_in_wheel(files: Collection[str], stem: str) -> set[str]:
    """Return the paths in a wheel: the package's tracked files and the metadata."""
    return {path for path in files if path.startswith(PACKAGE)} | {f"{stem}.dist-info/{name}" for name in METADATA}


def differences(found: Collection[str], expected: Collection[str]) -> Iterator[str]:
    """Yield one line per file that is missing, or that should not be there."""
    yield from (f"is missing: {path}" for path in sorted(set(expected) - set(found)))
    yield from (f"should not be there: {path}" for path in sorted(set(found) - set(expected)))


def check(package: Path, files: Collection[str]) -> list[str]:
    """Return what is wrong with the files of a wheel or sdist."""
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as wheel:
            found = {name for name in wheel.namelist() if not name.endswith("/")}
        expected = expected_in_wheel(files, package.name.removesuffix("-py3-none-any.whl"))
    else:
        top = package.name.removesuffix(".tar.gz") + "/"
        with tarfile.open(package) as sdist:
            found = {each.name.removeprefix(top) for each in sdist if not each.isdir()}
        expected = {*files, "PKG-INFO"}
    return [f"{package.name}: {line}" for line in differences(found, expected)]


def main(paths: list[str]) -> int:
    files = tracked()
    wrong = [line for path in paths for line in check(Path(path), files)]
    print(*(wrong or [f"{Path(path).name}: exactly the tracked files" for path in paths]), sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
