"""The output of ``snapshot info``; a captured snapshot gives the same answers as its source."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli import in_process
from tests.cli.transcript import SHOP


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
