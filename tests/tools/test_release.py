"""The parts of a release: version, contents of packages, notes, checksums, and what comes next."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tools import artifacts, dist_contents, release, release_notes, try_package
from tools.release import ROOT, Made, Repository, checked, next_steps, table

CHANGELOG = """# Changelog

## 0.2.0 (2026-12-01)

### Added

- More.

## 0.1.0 (2026-11-23)

- The first.
"""


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("v0.2.0", "v0.2.0 is not a version"),
        ("0.2", "0.2 is not a version"),
        ("0.2.0.dev1", "is not a version"),
        ("0.1.0", "v0.1.0 exists already: "),
    ],
)
def test_versions_that_cannot_be_released(version: str, reason: str, tmp_path: Path) -> None:
    git(tmp_path, "init")
    git(tmp_path, "commit", "--allow-empty", "--message", "first")
    git(tmp_path, "tag", "v0.1.0")
    with pytest.raises(SystemExit, match=f"^.*{reason}"):
        checked(version, Repository(tmp_path))
    assert checked("0.2.0rc1", Repository(tmp_path)) == "v0.2.0rc1"


def test_targets_of_a_release_are_targets_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert [target for target in (*release.TARGETS, "changelog", "notes") if f"\n{target}:" not in makefile] == []


def test_table_has_sizes_rounded_up() -> None:
    assert list(table([Made("kschedctl-0.2.0.tar.gz", 12_681_484), Made("site/", 90)])) == [
        "kschedctl-0.2.0.tar.gz   12,682 kB",
        "site/                         1 kB",
    ]


@pytest.mark.parametrize("dry", [True, False])
def test_next_steps_push_the_tag(dry: bool) -> None:
    text = "\n".join(next_steps("v0.2.0", dry))
    assert "git push origin HEAD v0.2.0 " in text
    assert ("nothing was tagged" in text) == dry


def test_notes_are_the_section_of_the_version() -> None:
    assert release_notes.notes(CHANGELOG, "0.2.0") == "### Added\n\n- More."
    assert release_notes.notes(CHANGELOG, "0.1.0") == "- The first."
    with pytest.raises(SystemExit, match=r"no section for 0\.2: "):
        release_notes.notes(CHANGELOG, "0.2")


def test_packages_have_the_tracked_files_and_nothing_else(tmp_path: Path) -> None:
    for name in ("kept", "extra"):
        (tmp_path / name).write_text("")
    sdist = tmp_path / "kschedctl-0.2.0.tar.gz"
    with tarfile.open(sdist, "w:gz") as packed:
        for name in ("kept", "extra"):
            packed.add(tmp_path / name, f"kschedctl-0.2.0/{name}")
    assert dist_contents.check(sdist, {"kept", "lost"}) == [
        "kschedctl-0.2.0.tar.gz: is missing: PKG-INFO",
        "kschedctl-0.2.0.tar.gz: is missing: lost",
        "kschedctl-0.2.0.tar.gz: should not be there: extra",
    ]
    wheel = dist_contents.expected_in_wheel(dist_contents.tracked(), "kschedctl-0.2.0")
    assert {
        "kschedctl/py.typed",
        "kschedctl/questions/schema/schema.json",
        "kschedctl-0.2.0.dist-info/METADATA",
    } <= wheel
    assert {path.partition("/")[0] for path in wheel} == {"kschedctl", "kschedctl-0.2.0.dist-info"}


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("kschedctl-0.2.0-py3-none-any.whl", "0.2.0"),
        ("kschedctl-0.2.0rc1.tar.gz", "0.2.0rc1"),
        ("kschedctl-0.0.1.dev7+g1a2b3c4.tar.gz", "0.0.1.dev7+g1a2b3c4"),
    ],
)
def test_version_of_a_package(name: str, version: str) -> None:
    assert try_package.version_of(Path("dist", name)) == version


def test_what_is_tried_is_the_first_command_of_readme() -> None:
    shop = str(ROOT / "fixtures" / "shop" / "cluster")
    assert try_package.first_command() == ["kschedctl", "explain", "shop/web-7", "--snapshot", shop]


def test_artifacts_are_complete_files_with_checksums(tmp_path: Path) -> None:
    (tmp_path / "kschedctl-0.2.0.tar.gz").write_text("sdist")
    with pytest.raises(SystemExit, match=r"lacks kschedctl-0\.2\.0-py3-none-any\.whl; "):
        artifacts.main("0.2.0", tmp_path)
    (tmp_path / "kschedctl-0.2.0-py3-none-any.whl").write_text("wheel")
    (tmp_path / "sbom.cdx.json").write_text('{"metadata": {"component": {"name": "kschedctl"}}}')
    for _ in range(2):
        artifacts.main("0.2.0", tmp_path)
    lines = (tmp_path / "SHA256SUMS").read_text().splitlines()
    assert [line.split("  ")[1] for line in lines] == [
        "kschedctl-0.2.0-py3-none-any.whl",
        "kschedctl-0.2.0.tar.gz",
        "sbom.cdx.json",
    ]
    assert json.loads((tmp_path / "sbom.cdx.json").read_text())["metadata"]["component"]["version"] == "0.2.0"
    assert lines[1].split("  ")[0] == hashlib.sha256(b"sdist").hexdigest()
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=tmp_path, check=True, capture_output=True)


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
