"""The paths that are left out: what git ignores, dependencies, and the globs of the settings."""

import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from kschedctl.linter.excluded_paths import ExcludedPaths, GitIgnore
from kschedctl.linter.lint_files import read_files

FILES = ("a.yaml", "b.yaml", "build/a.yaml", "deep/build/a.yaml", "deep/x/a.yaml", "deep/x/y/b.yaml")
NO_GIT = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def tree(root: Path, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def read(root: Path, *paths: str, exclude: tuple[str, ...] = ()) -> list[str]:
    """Return the files that are read below paths, relative to the root."""
    found = read_files([root / path for path in paths or ("",)], excluded=ExcludedPaths(exclude, root))
    assert not found.errors
    return sorted(os.path.relpath(file.name, root) for file in found.files)


@NO_GIT
@pytest.mark.parametrize(
    "ignored",
    [
        {"": ""},
        {"": "a.yaml"},
        {"": "/a.yaml"},
        {"": "build"},
        {"": "build/"},
        {"": "/build/"},
        {"": "a.yaml/"},
        {"": "deep/build"},
        {"": "deep/*"},
        {"": "deep/*.yaml"},
        {"": "*/*.yaml"},
        {"": "**/a.yaml"},
        {"": "deep/**/b.yaml"},
        {"": "deep/**"},
        {"": "**/x/**/b.yaml"},
        {"": "**/**/b.yaml"},
        {"": "**"},
        {"": "?.yaml"},
        {"": "[!a].yaml"},
        {"": "[ab].yaml\n!a.yaml"},
        {"": "[b"},
        {"": "*a*.*a*l"},
        {"": "a*.y*l\n!*e*\n"},
        {"": "d*p/**/y/*"},
        {"": "a.yaml\\ \n"},
        {"": "\\a.yaml"},
        {"": "a.yaml   \n"},
        {"": "# a.yaml\n\n\r\n"},
        {"": "*.yaml\n!b.yaml\n"},
        {"": "!b.yaml\n*.yaml"},
        # A file in a folder that is ignored stays ignored.
        {"": "deep/\n!deep/x/a.yaml"},
        # The nearest file decides.
        {"": "a.yaml", "deep": "!a.yaml"},
        {"": "!a.yaml", "deep": "/x/a.yaml"},
        {"deep": "a.yaml\n", "deep/x": "!a.yaml\nb.yaml"},
    ],
)
def test_files_that_git_ignores_are_left_out(tmp_path: Path, ignored: dict[str, str]) -> None:
    tree(tmp_path, dict.fromkeys(FILES, "a: 1\n"))
    tree(tmp_path, {os.path.join(folder, ".gitignore"): text for folder, text in ignored.items()})
    assert read(tmp_path) == of_git(tmp_path)


@pytest.mark.parametrize("pattern", ["*a" * 40 + "b", "**/a/" * 40 + "b", "a" + " " * 100_000 + "b", "[" * 10_000])
def test_no_pattern_takes_long(pattern: str) -> None:
    # Idle, a quarter of a second at most; without the atomic groups of the expression, years.
    started = time.process_time()
    assert not GitIgnore.of(pattern).ignores("/".join(["a" * 60] * 40), is_folder=False)
    assert time.process_time() - started < 30


def of_git(root: Path) -> list[str]:
    """Return the files that git itself does not ignore."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "HOME": str(root)}
    words = ("ls-files", "--others", "--exclude-standard", "*.yaml")
    subprocess.run(["git", "init", "--quiet", root], check=True, env=environment)
    done = subprocess.run(["git", "-C", root, *words], check=True, env=environment, capture_output=True, text=True)
    return sorted(done.stdout.splitlines())


#: A manifest that is read in hidden folders.
ROLLOUT = "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\n"


@pytest.mark.parametrize(
    ("paths", "exclude", "expected"),
    [
        ([], (), ["web.yaml"]),
        # Paths that the user names are read.
        (["node_modules/a"], (), ["node_modules/a/x.yaml"]),
        (["vendor"], (), ["vendor/x.yaml"]),
        (["out"], (), ["out/x.yaml"]),
        ([".terraform"], (), [".terraform/modules/x.yaml"]),
        (["out/x.yaml"], (), ["out/x.yaml"]),
        (["web.yaml"], ("web.yaml",), ["web.yaml"]),
        ([], ("web.yaml",), []),
        ([], ("w*",), []),
        ([], ("other",), ["web.yaml"]),
    ],
)
def test_dependencies_and_globs_of_the_settings_are_left_out(
    tmp_path: Path, paths: list[str], exclude: tuple[str, ...], expected: list[str]
) -> None:
    tree(
        tmp_path,
        {
            ".git/config": "",
            ".gitignore": "out\n",
            "web.yaml": "a: 1\n",
            "node_modules/a/x.yaml": "a: 1\n",
            "vendor/x.yaml": "a: 1\n",
            ".terraform/modules/x.yaml": ROLLOUT,
            ".venv/lib/x.yaml": ROLLOUT,
            "out/x.yaml": "a: 1\n",
        },
    )
    assert read(tmp_path, *paths, exclude=exclude) == expected


def test_a_folder_above_counts_up_to_the_root_of_the_repository(tmp_path: Path) -> None:
    tree(
        tmp_path,
        {
            ".gitignore": "*\n",
            "repo/.git/config": "",
            "repo/.gitignore": "b.yaml\n",
            "repo/x/a.yaml": "a: 1\n",
            "repo/x/b.yaml": "a: 1\n",
        },
    )
    assert read(tmp_path, "repo/x") == ["repo/x/a.yaml"]


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ("apiVersion: apps/v1\nkind: Deployment\n", True),
        ("apiVersion: argoproj.io/v1alpha1\nkind: Rollout\n", True),
        ('apiVersion: apps.openshift.io/v1\nkind: "DeploymentConfig"\n', True),
        ('{"apiVersion": "argoproj.io/v1alpha1",\n "kind": "Rollout"}', True),
        ("# kind: Rollout\non: push\njobs: {}\n", False),
    ],
)
def test_hidden_files_are_read_if_they_have_workloads(tmp_path: Path, text: str, is_read: bool) -> None:
    tree(tmp_path, {".gitops/web.yaml": text})
    assert read(tmp_path) == ([".gitops/web.yaml"] if is_read else [])
