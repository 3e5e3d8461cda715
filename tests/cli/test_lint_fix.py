"""``kschedctl lint --fix`` on disks: no manifest is lost, and it is always known which ones were changed."""

import json
import os
import resource
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.cli.in_process import Printed, run

PAGE: Final = 4096
#: A budget that the repair of KS306 makes longer.
BUDGET: Final = """apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
"""
REPAIRED: Final = f"{BUDGET}  maxUnavailable: 1\n"


@pytest.fixture
def deploy(tmp_path: Path) -> Path:
    folder = tmp_path / "deploy"
    folder.mkdir()
    return folder


def fix(folder: Path, *words: str) -> Printed:
    """Repair the manifests in the folder ``deploy``, which is the argument unless there are others."""
    paths = () if any(not word.startswith("-") for word in words) else ("deploy",)
    return run("lint", *paths, "--fix", "--select", "KS306", *words, folder=folder.parent)


def texts(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def is_repaired(text: str) -> bool:
    return "maxUnavailable: 1" in text


@contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """Make a folder a disk of a few pages, and return True; return False if that is not allowed."""
    folder.mkdir()
    mount = ("mount", "-t", "tmpfs", "-o", f"size={16 * PAGE}", "tmpfs", str(folder))
    try:
        mounted = os.geteuid() == 0 and subprocess.run(mount, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(("umount", str(folder)), check=True)


def fill(folder: Path) -> None:
    """Write to a disk until it is full."""
    with open(folder / "filler", "wb", buffering=0) as stream:
        while True:
            try:
                stream.write(b"x" * PAGE)
            except OSError:
                return


@contextmanager
def limited(size: int) -> Iterator[None]:
    """Make files that grow beyond a size fail, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("form", ["human", "json"])
def test_a_full_disk_loses_no_manifest(deploy: Path, form: str) -> None:
    long = BUDGET + "#" * (2 * PAGE - len(BUDGET) - 1) + "\n"
    with small_disk(deploy / "full") as is_disk:
        for name in ("a.yaml", "full/b.yaml", "z.yaml"):
            (deploy / name).write_text(long if name == "full/b.yaml" else BUDGET)
        if is_disk:
            fill(deploy / "full")
            done = fix(deploy, f"-o{form}")
        else:
            with limited(len(long)):
                done = fix(deploy, f"-o{form}")
        after = texts(deploy)
    after.pop("full/filler", None)
    assert after == {"a.yaml": REPAIRED, "full/b.yaml": long, "z.yaml": REPAIRED}
    assert done.code == 2
    why = "No space left on device" if is_disk else "File too large"
    assert f"error: deploy/full/b.yaml: cannot be written: {why}; the file is kept unchanged\n" in done.err
    assert "note: 2 files repaired: deploy/a.yaml, deploy/z.yaml\n" in done.err
    # The findings are those of the files as they are.
    if form == "json":
        answer = json.loads(done.out)
        assert [each["file"] for each in answer["findings"]] == ["deploy/full/b.yaml"]
        assert answer["summary"]["fixed"] == 2
    else:
        assert "deploy/full/b.yaml:4:1 KS306" in done.out
        assert "repaired: 2 findings" in done.out


def test_files_keep_their_permissions(deploy: Path) -> None:
    modes = {"a.yaml": 0o600, "b.yaml": 0o755, "c.yaml": 0o664}
    for name, mode in modes.items():
        (deploy / name).write_text(BUDGET)
        (deploy / name).chmod(mode)
    assert fix(deploy).code == 0
    assert texts(deploy) == dict.fromkeys(modes, REPAIRED)
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in deploy.iterdir()} == modes


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to every file")
def test_files_that_must_not_be_written_are_not_replaced(deploy: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (deploy / name).write_text(BUDGET)
    (deploy / "a.yaml").chmod(0o444)
    done = fix(deploy)
    assert texts(deploy) == {"a.yaml": BUDGET, "b.yaml": REPAIRED}
    assert done.code == 2
    assert "error: deploy/a.yaml: cannot be written: Permission denied; the file is kept unchanged\n" in done.err


def test_links_that_leave_the_folder_are_named_and_left(deploy: Path) -> None:
    shared = deploy.parent / "shared.yaml"
    shared.write_text(BUDGET)
    (deploy / "a.yaml").symlink_to("../shared.yaml")
    (deploy / "b.yaml").write_text(BUDGET)
    done = fix(deploy)
    assert (shared.read_text(), (deploy / "b.yaml").read_text()) == (BUDGET, REPAIRED)
    assert (
        f"warning: deploy/a.yaml: is not changed, as it is a link to {shared}, outside of the named folders" in done.err
    )
    assert "deploy/a.yaml:4:1 KS306" in done.out
    assert "(--fix)" not in done.out
    assert done.code == 1
    assert "a.yaml" not in run("lint", "deploy", "--diff", "--select", "KS306", folder=deploy.parent).out


@pytest.mark.parametrize("words", [("deploy", "shared.yaml"), ("deploy/a.yaml",), ("deploy", "deploy/a.yaml")])
def test_files_that_somebody_names_are_written_through_a_link(deploy: Path, words: tuple[str, ...]) -> None:
    shared = deploy.parent / "shared.yaml"
    shared.write_text(BUDGET)
    (deploy / "a.yaml").symlink_to(shared)
    done = fix(deploy, *words)
    assert done.code == 0
    assert (deploy / "a.yaml").is_symlink()
    assert shared.read_text() == REPAIRED


def test_links_inside_of_the_folder_stay_links(deploy: Path) -> None:
    (deploy / "base").mkdir()
    (deploy / "base/web.yaml").write_text(BUDGET)
    (deploy / "a.yaml").symlink_to("base/web.yaml")
    assert fix(deploy).code == 0
    assert (deploy / "a.yaml").is_symlink()
    assert (deploy / "base/web.yaml").read_text() == REPAIRED


def test_a_full_disk_loses_no_baseline(deploy: Path) -> None:
    (deploy / "web.yaml").write_text(BUDGET)
    words = ("lint", "deploy", "--select", "KS306", "--baseline", "base.jsonl", "--update-baseline")
    assert run(*words, folder=deploy.parent).code == 0
    baseline = deploy.parent / "base.jsonl"
    before = baseline.read_text()
    (deploy / "db.yaml").write_text(BUDGET.replace("web", "db"))
    with limited(len(before)):
        assert run(*words, folder=deploy.parent).code == 2
    assert baseline.read_text() == before
