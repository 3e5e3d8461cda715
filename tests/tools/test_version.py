"""The version of a package: that of the git tag, also in an archive of the repository."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.test_release import git
from tools.release import ROOT

FILES = ("pyproject.toml", "README.md", "LICENSE", ".gitattributes", ".git_archival.txt")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository with the files that a version comes from, at tag v0.3.0."""
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path)
    git(tmp_path, "init")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--message", "first")
    git(tmp_path, "tag", "v0.3.0")
    return tmp_path


def version(folder: Path, **environment: str) -> str:
    own = {name: value for name, value in os.environ.items() if not name.startswith("SETUPTOOLS_SCM")}
    command = [sys.executable, "-m", "hatchling", "metadata", "version"]
    done = subprocess.run(
        command, cwd=folder, env=own | environment, check=False, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_at_a_tag_and_after_it(repository: Path) -> None:
    assert version(repository) == "0.3.0"
    git(repository, "tag", "chart-1.0.0")
    git(repository, "commit", "--allow-empty", "--message", "second")
    assert re.fullmatch(r"0\.3\.1\.dev1\+g[0-9a-f]+", version(repository))


def test_without_a_tag(repository: Path) -> None:
    git(repository, "tag", "--delete", "v0.3.0")
    assert re.fullmatch(r"0\.0\.1\.dev1\+g[0-9a-f]+", version(repository))


def test_in_an_archive_and_without_git(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("archive")
    git(repository, "archive", "--output", str(folder / "a.tar"), "HEAD")
    # The argument `filter` of shutil.unpack_archive, without which Python 3.12 warns, is not in 3.11.3.
    subprocess.run(["tar", "-xf", "a.tar"], cwd=folder, check=True)
    assert version(folder) == "0.3.0"
    (folder / ".git_archival.txt").unlink()
    assert version(folder) == "0.0.0"
    assert version(folder, SETUPTOOLS_SCM_PRETEND_VERSION="0.4.0") == "0.4.0"
