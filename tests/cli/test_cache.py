"""Commands print the same with ``--cache``, before and after the cache file is written."""

import shutil
from pathlib import Path

import pytest

from kschedctl.sources.snapshot.names import CACHE_PREFIX
from tests.cli.in_process import run
from tests.paths import ROOT

FIXTURES = ROOT / "fixtures"
CLUSTERS = ("shop/cluster", "devices/cluster", "gangs/cluster", "volumes/conflict", "volumes/repair", "pending")
COMMANDS = (
    "explain -A",
    "explain -A -o json",
    "nodes --by zone",
    "nodes -o json",
    "pending",
    "pending -o json",
    "simulate",
    "devices",
    "volumes -A",
    "drain node-1 --force --ignore-daemonsets --delete-emptydir-data",
    "leader",
    "diff -A --cordon node-1",
    "explain -A --kubernetes-version 1.34 --fail-zone eu-central-1a",
    "explain -A --call-extenders",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "of-user"))
    for name in CLUSTERS:
        shutil.copytree(FIXTURES / name, tmp_path / "work" / name)
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def cache_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob(f"{CACHE_PREFIX}*"))


@pytest.mark.parametrize("command", COMMANDS)
def test_output_is_the_same_with_a_cache(command: str, folder: Path) -> None:
    for name in CLUSTERS:
        plain = run(*command.split(), "--snapshot", name)
        first = run(*command.split(), "--snapshot", name, "--cache")
        second = run(*command.split(), "--snapshot", name, "--cache")
        # Some commands need what not every cluster has; errors are the same, too.
        assert plain.code in (0, 1) or name != CLUSTERS[0], plain.err
        assert (first.code, first.out) == (plain.code, plain.out) == (second.code, second.out)
        note = "note: the cache is not used, because extenders get whole objects\n"
        assert second.err.replace(note, "") == plain.err
    assert len(cache_files(folder)) == (0 if "--call-extenders" in command else len(CLUSTERS))


def test_without_the_option_nothing_is_written(folder: Path) -> None:
    assert run("nodes", "--snapshot", "shop/cluster").code == 0
    assert cache_files(folder) == []


def test_the_variable_turns_the_cache_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSCHEDCTL_CACHE", "1")
    assert run("nodes", "--snapshot", "shop/cluster").code == 0
    assert len(cache_files(folder)) == 1
    given = (folder / "pending" / "cluster.yaml").read_bytes()
    assert run("nodes", "--snapshot", "-", given=given).code == 0
    assert len(cache_files(folder)) == 1


def test_both_sides_of_a_diff_are_cached(folder: Path) -> None:
    answer = run("diff", "-A", "--snapshot", "shop/cluster", "--against", "pending", "--cache")
    assert answer.code in (0, 1), answer.err
    assert len(cache_files(folder)) == 2


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        pytest.param("--snapshot -", "standard input is not cached: name a file or folder", id="standard input"),
        pytest.param("--context prod", "requires a snapshot: a running cluster is not cached", id="running cluster"),
    ],
)
def test_other_sources_are_not_cached(options: str, problem: str, folder: Path) -> None:
    answer = run("nodes", *options.split(), "--cache")
    assert answer.code == 2
    assert f"Invalid value for --cache: {problem}" in answer.err
