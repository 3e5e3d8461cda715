"""Every command that takes --snapshot reads the snapshot of KSCHEDCTL_SNAPSHOT if it has no such option."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from kschedctl.cli.commands import COMMANDS
from kschedctl.cli.options.command_parameters import parameters_of
from tests.cli.in_process import Printed, run
from tests.cli.transcript import SHOP

TAKING: Final = [name for name in COMMANDS if "snapshot" in parameters_of(name)]
#: The arguments without which a command reads no snapshot.
WORDS: Final = {
    "capacity": ["shop/web-7"],
    "diff": ["--cordon", "a"],
    "drain": ["a"],
    "lint": [str(SHOP.parent / "manifests")],
    "rollout": ["deploy/web"],
    "snapshot": ["-o", "out.tar.gz"],
    "verify": ["-A"],
}


def lint(*words: str, variable: str | Path = "") -> Printed:
    environment = {"KSCHEDCTL_SNAPSHOT": str(variable)} if variable else {}
    return run("lint", *WORDS["lint"], *words, environment={"COLUMNS": "0", **environment})


@pytest.mark.parametrize("name", TAKING)
def test_the_variable_names_the_snapshot(name: str, tmp_path: Path) -> None:
    missing = tmp_path / "no-such-snapshot"
    environment = {"KSCHEDCTL_SNAPSHOT": str(missing), "COLUMNS": "0"}
    done = run(name, *WORDS.get(name, ()), folder=tmp_path, environment=environment)
    assert done.code == 2
    assert f"{missing}: there is no such file or folder" in done.err


def test_lint_finds_the_same_with_the_variable_as_with_the_option() -> None:
    by_variable = lint("-o", "json", variable=SHOP)
    assert by_variable == lint("-o", "json", "--snapshot", str(SHOP))
    assert by_variable.code == 1
    assert [each["rule"] for each in json.loads(by_variable.out)["findings"]] == ["KS501", "KS501", "KS506"]


def test_the_variable_goes_before_the_settings(tmp_path: Path) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text("snapshot: [no-such-snapshot]\n")
    assert lint("--settings", str(settings)).code == 2
    assert lint("--settings", str(settings), variable=SHOP).code == 1


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([], "not run without a cluster: 19 rules, such as KS501; --snapshot PATH runs them"),
        (["--select", "KS2", "--fail-zone"], "not run without a cluster: 1 rule, such as KS511"),
        (["--select", "KS2"], ""),
        (["--snapshot", str(SHOP), "--exit-zero"], ""),
    ],
)
def test_what_is_not_run_for_lack_of_a_cluster_is_printed(words: list[str], line: str) -> None:
    done = lint(*words)
    assert done.code == 0
    assert ("not run" in done.out) == bool(line)
    assert line in done.out
    assert bool(json.loads(lint(*words, "-o", "json").out)["summary"]["notRun"]) == bool(line)
