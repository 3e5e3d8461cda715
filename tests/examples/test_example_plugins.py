"""The example package as its users have it: installed, found through its entry points, and switched on."""

import os
import subprocess
import sys
import tomllib
from importlib.metadata import distributions
from pathlib import Path

import pytest

from kschedctl.scheduler.plugins.registry import ENTRY_POINT_GROUP
from tests.paths import ROOT

PACKAGE = ROOT / "examples" / "kschedctl-example-plugins"
PROJECT = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
ENTRY_POINTS = PROJECT["entry-points"][ENTRY_POINT_GROUP]


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """An environment in which the package is installed as in development: its metadata, and the way to its source."""
    metadata = tmp_path / f"{PROJECT['name'].replace('-', '_')}-{PROJECT['version']}.dist-info"
    metadata.mkdir()
    head = f"Metadata-Version: 2.1\nName: {PROJECT['name']}\nVersion: {PROJECT['version']}\n"
    (metadata / "METADATA").write_text(head)
    lines = [f"{name} = {value}" for name, value in ENTRY_POINTS.items()]
    (metadata / "entry_points.txt").write_text("\n".join([f"[{ENTRY_POINT_GROUP}]", *lines, ""]))
    (found,) = distributions(path=[str(tmp_path)])
    assert found.name == PROJECT["name"]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(PACKAGE), str(ROOT)]), "COLUMNS": "400"}


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kschedctl", *arguments, "--snapshot", "try/cluster.yaml"]
    return subprocess.run(command, cwd=PACKAGE, env=environment, capture_output=True, text=True, check=False)


def test_the_cheapest_node_is_taken(installed: dict[str, str]) -> None:
    done = run(installed, "explain", "try/web.yaml", "--config", "try/config.yaml", "--why")
    assert done.stdout.startswith("default/web fits on 3 of 3 nodes and is scheduled to cheap"), done.stderr
    assert [line.split() for line in done.stdout.splitlines() if "CheapNodes" in line] == [
        ["CheapNodes", "100", "75", "x2", "150"],
        ["CheapNodes", "400", "0", "x2", "0"],
        ["cheap", "is", "150", "points", "ahead", "of", "dear:", "CheapNodes", "+150"],
    ]


def test_the_plugin_tells_how_it_came_to_its_score(installed: dict[str, str]) -> None:
    done = run(installed, "explain", "try/web.yaml", "--config", "try/config.yaml", "--node", "cheap", "--why")
    lines = [line.strip() for line in done.stdout.splitlines()]
    at = lines.index("CheapNodes: the price in thousandths, cut off; normalised: 100 - 100 * score // highest")
    assert lines[at + 1 : at + 4] == [
        "score = 100 (the price is 0.10)",
        "normalised = 100 - 100 * 100 // 400 = 75 (the highest is 400)",
        "weighted = 75 * 2 = 150",
    ]


def test_a_gang_starts_together_and_one_that_is_too_large_does_not(installed: dict[str, str]) -> None:
    done = run(installed, "simulate", "try/training.yaml", "--config", "try/config.yaml", "-o", "wide")
    assert "3 of 7 pods placed; 4 pending" in done.stdout, done.stderr
    started = [line.split() for line in done.stdout.splitlines() if " Scheduled " in line]
    assert {words[0] for words in started} == {"0.010"}
    assert "rejected due to timeout after waiting 30s at plugin Gang." in done.stdout


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ("minMember: three", "podGroups[0].minMember: expected int64, got string"),
        ("minMembers: 3", "podGroups[0].minMembers: unknown field"),
    ],
)
def test_arguments_are_read_strictly(installed: dict[str, str], tmp_path: Path, wrong: str, problem: str) -> None:
    config = tmp_path / "config.yaml"
    config.write_text((PACKAGE / "try" / "config.yaml").read_text().replace("minMember: 3", wrong))
    done = run(installed, "explain", "try/web.yaml", "--config", str(config))
    assert done.returncode == 2
    assert f"profiles[0].pluginConfig[1].args.{problem}" in done.stderr


def test_without_the_package_the_plugins_are_unknown(installed: dict[str, str]) -> None:
    environment = {**installed, "PYTHONPATH": str(ROOT)}
    done = run(environment, "explain", "try/web.yaml", "--config", "try/config.yaml")
    assert done.returncode == 2
    assert "CheapNodes" in done.stderr


def test_its_readme_names_every_plugin_and_only_commands_that_are_tested() -> None:
    text = (PACKAGE / "README.md").read_text()
    for name, value in ENTRY_POINTS.items():
        assert f"[{name}]({value.partition(':')[0].replace('.', '/')}.py)" in text
    assert [line.split()[1] for line in text.splitlines() if line.startswith("    kschedctl ")] == [
        "explain",
        "simulate",
    ]
