"""``snapshot``, its info and ``--cache``: commands answer the same from a capture and from a cache file."""

import json
import shutil
from pathlib import Path

import pytest

from kschedctl.sources.snapshot.names import CACHE_PREFIX
from tests.cli import in_process
from tests.cli.transcript import SHOP
from tests.paths import ROOT


def run(*arguments: str) -> str:
    done = in_process.run(*arguments)
    assert done.code in (0, 1), done.err
    return done.out


@pytest.mark.parametrize("name", ["out", "out.tar.gz"])
def test_captured_snapshot_answers_as_its_source(tmp_path: Path, name: str) -> None:
    target = str(tmp_path / name)
    run("snapshot", "-o", target, "--snapshot", str(SHOP))
    question = ("explain", "-A", "-o", "jsonpath={range .items[*]}{.verdict.summary} {.message}\n{end}")
    assert run(*question, "--snapshot", target) == run(*question, "--snapshot", str(SHOP))


def test_ages_depend_neither_on_the_files_nor_on_what_ifs(tmp_path: Path) -> None:
    def waited(*options: str) -> dict[str, int]:
        groups = json.loads(run("pending", "-o", "json", *options))["groups"]
        return {pod: group["waitingSeconds"] for group in groups for pod in group["pods"]}

    copy, captured, newest = tmp_path / "copy", tmp_path / "shop.tar.gz", "batch/report-7"
    shutil.copytree(SHOP, copy)
    run("snapshot", "-o", str(captured), "--snapshot", str(SHOP))
    ages = {newest: 0, "ml/train-1": 30, "shop/search-3": 60, "shop/web-7": 90}
    assert waited("--snapshot", str(SHOP)) == waited("--snapshot", str(copy)) == ages
    assert waited("--snapshot", str(captured)) == ages
    del ages[newest]
    assert waited("--snapshot", str(SHOP), "--delete", f"pod/{newest}") == ages


def test_info_of_a_captured_snapshot(tmp_path: Path) -> None:
    target = str(tmp_path / "out.tar.gz")
    run("snapshot", "-o", target, "--snapshot", str(SHOP), "--anonymize")
    told = run("snapshot", "info", target)
    assert told.startswith(f"{target}: a snapshot of 153 objects\n  captured    20")
    assert "\n  anonymised  yes\n" in told
    assert "\n       15 Node\n       77 Pod\n" in told
    # What the files that it was taken from do not have, nobody knows the number of.
    assert "\n  not in the snapshot: ReplicationController, PodTemplate, " in told
    assert "none of" not in told
    assert f"\n  {target}:pods.json: 77 objects\n" in told


def test_info_names_what_was_not_read(tmp_path: Path) -> None:
    (tmp_path / "nodes.yaml").write_text("apiVersion: v1\nkind: Node\nmetadata: {name: a}\n")
    (tmp_path / "pods.yaml.bak").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
    told = run("snapshot", "info", str(tmp_path))
    assert f"\n  warning: {tmp_path}/pods.yaml.bak was not read (not named .yaml" in told
    assert told.endswith(
        f"\n  {tmp_path}/nodes.yaml: 1 object\n"
        f"  {tmp_path}/pods.yaml.bak: not read, not named .yaml, .yml, .json, .jsonl, .ndjson or one of these"
        " with .gz\n"
    )


def test_info_of_other_files() -> None:
    told = run("snapshot", "info", str(SHOP))
    assert "\n  newest time 2026-05-04 11:59:30 UTC, 3 min ago\n" in told
    assert "anonymised" not in told
    assert "\n  not in the snapshot: " in told


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
        plain = in_process.run(*command.split(), "--snapshot", name)
        first = in_process.run(*command.split(), "--snapshot", name, "--cache")
        second = in_process.run(*command.split(), "--snapshot", name, "--cache")
        # Some commands need what not every cluster has; errors are the same, too.
        assert plain.code in (0, 1) or name != CLUSTERS[0], plain.err
        assert (first.code, first.out) == (plain.code, plain.out) == (second.code, second.out)
        note = "note: the cache is not used, because extenders get whole objects\n"
        assert second.err.replace(note, "") == plain.err
    assert len(cache_files(folder)) == (0 if "--call-extenders" in command else len(CLUSTERS))


def test_without_the_option_nothing_is_written(folder: Path) -> None:
    assert in_process.run("nodes", "--snapshot", "shop/cluster").code == 0
    assert cache_files(folder) == []


def test_the_variable_turns_the_cache_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSCHEDCTL_CACHE", "1")
    assert in_process.run("nodes", "--snapshot", "shop/cluster").code == 0
    assert len(cache_files(folder)) == 1
    given = (folder / "pending" / "cluster.yaml").read_bytes()
    assert in_process.run("nodes", "--snapshot", "-", given=given).code == 0
    assert len(cache_files(folder)) == 1


def test_both_sides_of_a_diff_are_cached(folder: Path) -> None:
    answer = in_process.run("diff", "-A", "--snapshot", "shop/cluster", "--against", "pending", "--cache")
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
    answer = in_process.run("nodes", *options.split(), "--cache")
    assert answer.code == 2
    assert f"error: --cache: {problem}" in answer.err
