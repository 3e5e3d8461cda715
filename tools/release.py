"""Makes a release ready: ``python -m tools.release 0.2.0 [--dry-run] [--revision HEAD]``, or ``make release``.

Everything is made in a clone of the last commit, in which the changelog of the version is committed and the tag is set.
The same ``make`` targets build and try the release in the workflow of the tag. Only if all of them succeed does the
repository get the tag with its commit, and no branch moves. A dry run leaves the repository as it is. Pushing the tag
is left to the maintainer.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tools.artifacts import ARTIFACTS

ROOT: Final = Path(__file__).parents[1]
#: The targets that make and try a release, in their order; each is run in the clone.
TARGETS: Final = ("dist", "trial", "sbom", "artifacts", "docs")
#: A final release or a release candidate, as in PEP 440.
VERSION: Final = re.compile(r"\d+\.\d+\.\d+(?:rc\d+)?")


class Made(NamedTuple):
    """A file of the release, or a folder, and its size in bytes."""

    name: str
    size: int


class Repository:
    """A git repository, and the commands that are run in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def git(self, *arguments: str) -> str:
        """Run a git command, and return what it prints."""
        done = subprocess.run(["git", *arguments], cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout.strip()

    def make(self, target: str, *variables: str) -> None:
        """Run a target of the Makefile with the Python that runs this script, and show what it prints."""
        # The clone is tested, whatever is installed here; the environment must not set the version.
        own = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "SETUPTOOLS_SCM"))}
        path = f"{Path(sys.executable).parent}{os.pathsep}{own.get('PATH', '')}"
        env = own | {"PATH": path, "PYTHONPATH": str(self.folder)}
        if subprocess.run(["make", target, *variables], cwd=self.folder, env=env, check=False).returncode:
            raise SystemExit(f"make {target} failed; nothing was tagged")

    def has_tag(self, tag: str) -> bool:
        """Report whether the repository has a tag."""
        return tag in self.git("tag", "--list", tag).splitlines()


def checked(version: str, repository: Repository) -> str:
    """Return the tag of a version that can be released; an error if there is one already, or the version is none."""
    if not VERSION.fullmatch(version):
        raise SystemExit(f"{version} is not a version such as 0.2.0 or 0.2.0rc1")
    tag = f"v{version}"
    if repository.has_tag(tag):
        raise SystemExit(f"{tag} exists already: {repository.git('log', '-1', '--format=%h %s', tag)}")
    return tag


def prepare(origin: Repository, folder: Path, revision: str, version: str) -> Repository:
    """Clone a revision into a folder, write and commit the changelog there, and tag the commit."""
    commit = origin.git("rev-parse", f"{revision}^{{commit}}")
    origin.git("clone", "--quiet", "--no-checkout", str(origin.folder), str(folder))
    clone = Repository(folder)
    for key in ("user.name", "user.email"):
        if value := origin.git("config", "--default", "", key):
            clone.git("config", key, value)
    clone.git("checkout", "--quiet", "--detach", commit)
    clone.make("changelog", f"VERSION={version}")
    clone.git("add", "--all")
    clone.git("commit", "--quiet", "--message", f"Version {version}")
    clone.make("notes", f"VERSION={version}")
    clone.git("tag", "--annotate", "--message", f"kschedctl {version}", f"v{version}")
    return clone


def size_of(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder."""
    return sum(each.stat().st_size for each in ([path] if path.is_file() else path.rglob("*")) if each.is_file())


def collect(clone: Path, to: Path) -> list[Made]:
    """Move what was made out of the clone into a folder, and return names with sizes."""
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    for source in (*(clone / ARTIFACTS).iterdir(), clone / "site"):
        shutil.move(source, to / source.name)
    return [Made(path.name + "/" * path.is_dir(), size_of(path)) for path in sorted(to.iterdir())]


def table(made: Iterable[Made]) -> Iterator[str]:
    """Yield one line per file, with its size in kB, rounded up."""
    rows = [(each.name, f"{-(-each.size // 1000):,} kB") for each in made]
    wide = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for name, size in rows:
        yield f"{name:<{wide[0]}}   {size:>{wide[1]}}"


def next_steps(tag: str, dry: bool) -> Iterator[str]:
    """Yield what a maintainer does next."""
    if dry:
        yield f"A dry run: nothing was tagged. make release VERSION={tag[1:]} does the same and then tags {tag} in this"
        yield "repository. After that:"
    else:
        yield f"{tag} is tagged in this repository, on a commit with its changelog. No branch was moved. Next:"
    yield f"  git merge --ff-only {tag}          # the changelog; merge without --ff-only if the branch has moved on"
    yield f"  git push origin HEAD {tag}         # .github/workflows/release.yml publishes the tag"


def release(version: str, revision: str, dry: bool) -> None:
    origin = Repository(ROOT)
    tag = checked(version, origin)
    if origin.git("status", "--porcelain"):
        print(f"warning: changes that are not committed are not released; {revision} is", file=sys.stderr)
    start, cpu = time.monotonic(), os.times()
    with tempfile.TemporaryDirectory(prefix="release-") as temporary:
        clone = prepare(origin, Path(temporary) / "kschedctl", revision, version)
        for target in TARGETS:
            print(f"== make {target}", flush=True)
            clone.make(target, f"VERSION={version}")
        made = collect(clone.folder, ROOT / "build" / "release" / version)
        if not dry:
            origin.git("fetch", "--quiet", "--no-tags", str(clone.folder), f"refs/tags/{tag}:refs/tags/{tag}")
    used = os.times()
    seconds = used.children_user + used.children_system - cpu.children_user - cpu.children_system
    print(f"\nbuild/release/{version}, in {time.monotonic() - start:.0f} s ({seconds:.0f} s of CPU time):\n")
    print(*table(made), "", *next_steps(tag, dry), sep="\n")


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__)
    options.add_argument("version", help="the version, such as 0.2.0")
    options.add_argument("--dry-run", action="store_true", help="tag nothing")
    options.add_argument("--revision", default="HEAD", help="the commit to release; the last one without it")
    arguments = options.parse_args()
    release(arguments.version, arguments.revision, arguments.dry_run)


if __name__ == "__main__":
    main()
