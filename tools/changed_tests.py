"""Tests of what changed since ``main``: ``python -m tools.changed_tests [--jobs N] [--list] [--base REVISION]``.

The tests mirror the folders of the package. A changed module is tested by the file named after it, or else by the
folder that mirrors its own; its doctests run as well. A changed test file runs itself, and a changed page or workflow
runs the tests of the documentation that name it. What else depends on a change is left to ``make check``.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
QUICK = "not slow and not live and not browser"
#: Folders whose modules are tested by the folder of the same name in ``tests``, without the package's own name.
PACKAGES = ("kschedctl", "conformance")
#: The exit code of pytest if no test was collected.
NOTHING_COLLECTED = 5
#: One process is faster for a few files: each further one imports everything again.
ENOUGH_TO_SHARE = 4


def git(*arguments: str) -> list[str]:
    """Return the lines that a git command prints in this repository."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def default_base() -> str:
    """Return ``main``, or ``origin/main`` in a clone without it, or the last commit if neither exists."""
    for name in ("main", "origin/main"):
        if subprocess.run(["git", "rev-parse", "-q", "--verify", name], cwd=ROOT, capture_output=True).returncode == 0:
            return name
    return "HEAD"


def changed_files(base: str) -> list[str]:
    """Return the files that differ from the common ancestor with a revision, and untracked files; no deleted ones."""
    ancestor = git("merge-base", base, "HEAD")[0]
    tracked = git("diff", "--name-only", "--diff-filter=d", ancestor)
    return sorted({*tracked, *git("ls-files", "--others", "--exclude-standard")})


def nearest_tests(folder: PurePosixPath, root: Path) -> PurePosixPath | None:
    """Return the folder of ``tests`` that mirrors a folder of the package, or the nearest parent that has tests."""
    for mirrored in (folder, *folder.parents):
        if mirrored.name and any((root / "tests" / mirrored).glob("test_*.py")):
            return "tests" / mirrored
    return None


def tests_of_module(path: PurePosixPath, root: Path) -> Iterator[PurePosixPath]:
    """Yield the module itself, for its doctests, and the file or folder that mirrors it."""
    if ">>>" in (root / path).read_text(encoding="utf-8"):
        yield path
    inner = path.relative_to("kschedctl") if path.parts[0] == "kschedctl" else path
    mirrored = "tests" / inner.parent / f"test_{inner.name}"
    folder = nearest_tests(inner.parent, root)
    if (root / mirrored).is_file():
        yield mirrored
    elif folder is not None:
        yield folder


def tests_that_name(path: PurePosixPath, root: Path) -> Iterator[PurePosixPath]:
    """Yield the tests that import a tool, or the tests of the documentation that name a page or another file."""
    if path.suffix == ".py":
        dotted = re.escape(".".join(path.with_suffix("").parts))
        folder, named = root / "tests", re.compile(rf"\b(?:{dotted}|from tools import [\w, ]*\b{path.stem})\b")
    else:
        folder, named = root / "tests" / "docs", re.compile(rf"\b{re.escape(path.name)}\b")
    for test in sorted(folder.rglob("test_*.py")):
        if named.search(test.read_text(encoding="utf-8")):
            yield PurePosixPath(test.relative_to(root).as_posix())


def tests_of(path: PurePosixPath, root: Path) -> Iterator[PurePosixPath]:
    """Yield the files and folders whose tests are about a file."""
    match path.parts[0]:
        case "tests" if path.name.startswith("test_") and path.suffix == ".py":
            yield path
        case "tests" if len(path.parts) > 2:
            # Golden files, inputs, helpers: whatever is beside them.
            yield from filter(None, [nearest_tests(PurePosixPath(*path.parts[1:-1]), root)])
        case "tests":
            return
        case package if package in PACKAGES and path.suffix == ".py":
            yield from tests_of_module(path, root)
        case package if package in PACKAGES:
            yield from filter(None, [nearest_tests(PurePosixPath(*path.parts[1:-1]), root)])
        case _:
            if path.parts[0] == "docs" and path.suffix == ".md":
                yield PurePosixPath("tests/docs/test_pages.py")
            yield from tests_that_name(path, root)


def select(changed: Iterable[str], root: Path) -> list[str]:
    """Return the files and folders to test, without those that are inside another one."""
    found = {test for path in changed for test in tests_of(PurePosixPath(path), root)}
    return sorted(str(test) for test in found if not found.intersection(test.parents))


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tools.changed_tests", description=__doc__)
    options.add_argument("--base", help="the revision to compare with; main without it")
    options.add_argument("--jobs", default="auto", help="processes, as pytest's -n")
    options.add_argument("--list", action="store_true", help="print what would be tested, and test nothing")
    arguments = options.parse_args()
    base = arguments.base or default_base()
    selected = select(changed_files(base), ROOT)
    print(*(selected or [f"nothing that a test mirrors changed since {base}"]), sep="\n", flush=True)
    if arguments.list or not selected:
        return 0
    share = len(selected) >= ENOUGH_TO_SHARE or any((ROOT / path).is_dir() for path in selected)
    jobs = ["-n", arguments.jobs, "--dist", "worksteal"] if share else []
    done = subprocess.run([sys.executable, "-m", "pytest", *jobs, "-m", QUICK, *selected], cwd=ROOT, check=False)
    return 0 if done.returncode == NOTHING_COLLECTED else done.returncode


if __name__ == "__main__":
    sys.exit(main())
