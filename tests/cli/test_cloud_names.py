"""The answers about a cluster with the long names of managed clusters, on terminals of usual widths."""

from pathlib import Path
from typing import Final

import pytest

from tests.cli.cloud_names import CLOUDS, renamed, renamed_folder
from tests.cli.in_process import run
from tests.cli.transcript import SHOP
from tests.paths import ROOT

COMMANDS: Final = (
    "explain -A",
    "explain search-3 -n shop -o wide",
    "pending",
    "preempt -A",
    "preempt search-3 -n shop -o wide",
    "volumes -A",
    "drain node-7 node-8 --ignore-daemonsets",
    "simulate -o wide",
    "verify -o wide",
    "diff -A --cordon node-5 -o wide",
)
#: Lines that are never wrapped, to be copied: commands, and the messages of kube-scheduler.
_COPIED: Final = ("kschedctl ", "kubectl ", "nodes are available: ", "# ")


@pytest.fixture(scope="module", params=CLOUDS)
def cloud(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    return request.param, renamed_folder(SHOP, tmp_path_factory.mktemp("clouds") / "cluster", request.param)


@pytest.mark.parametrize("columns", [80, pytest.param(100, marks=pytest.mark.slow), 140])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_line_is_wider_than_the_terminal(cloud: tuple[str, Path], command: str, columns: int) -> None:
    name, snapshot = cloud
    text = run(*renamed(command, name).split(), "--snapshot", str(snapshot), columns=columns).out
    lines = [line for line in text.splitlines() if not any(copied in line for copied in _COPIED)]
    assert len(lines) > 2
    assert not [line for line in lines if len(line) > columns]


@pytest.mark.parametrize("columns", [80, 160])
@pytest.mark.parametrize("plan", ["zones", "tuning"])
def test_a_sweep_is_one_table(plan: str, columns: int) -> None:
    text = run("sweep", str(ROOT / "fixtures" / "shop" / "sweeps" / f"{plan}.yaml"), columns=columns).out
    rows = [line for line in text.splitlines() if line.strip().partition(" ")[0].isdecimal() and line[0] == " "]
    assert len(rows) == {"zones": 9, "tuning": 18}[plan]
    assert max(map(len, rows)) <= columns
