"""A sweep at the command line: interrupted and gone on with, without its extra, and what it prints beside the table."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from kschedctl.common.extras import install_command
from tests.cli.in_process import run
from tests.cli.transcript import SHOP


def write_plan(folder: Path, **fields: Any) -> Path:
    plan = {"apiVersion": "kschedctl/v1", "kind": "Sweep", "base": {"snapshot": str(SHOP)}, **fields}
    path = folder / "plan.yaml"
    path.write_text(yaml.safe_dump(plan, sort_keys=False))
    return path


def n_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.slow
def test_ctrl_c_leaves_what_is_done_and_resume_does_the_rest(tmp_path: Path) -> None:
    n_cases = 80
    axes = {"fail-zone": [None, "eu-central-1a"], "seed": {"values": {"from": 1, "to": n_cases // 2}}}
    plan, results = write_plan(tmp_path, axes=axes), tmp_path / "results.jsonl"
    words = [sys.executable, "-m", "kschedctl", "sweep", str(plan), "--results", str(results), "-j", "2"]
    # As from a terminal, the processes that it starts get the signal as well.
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
        end = time.monotonic() + 60
        while n_lines(results) < 10:
            assert time.monotonic() < end
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    n_done = n_lines(results) - 1
    assert 9 <= n_done < n_cases
    assert (process.returncode, err) == (130, b"")
    assert out.decode().startswith(f"interrupted: {n_done} of {n_cases} cases answered so far\n")
    done = run("sweep", str(plan), "--results", str(results), "--resume", "-o", "csv")
    assert (done.code, n_lines(results)) == (0, n_cases + 1)
    assert done.out == run("sweep", str(plan), "-o", "csv", "-j", "1").out


def test_without_the_extra_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = write_plan(tmp_path, axes={"seed": [1]})
    monkeypatch.setitem(sys.modules, "distributed", None)
    printed = run("sweep", str(plan), "--dask", "tcp://127.0.0.1:1")
    problem = f"error: --dask needs the package distributed\n  {install_command('dask')}\n"
    assert (printed.code, printed.out, printed.err) == (2, "", problem)


def test_a_front_wants_goals(tmp_path: Path) -> None:
    printed = run("sweep", str(write_plan(tmp_path, axes={"seed": [1]})), "--pareto")
    assert printed.code == 2
    assert "goals" in printed.err


def test_what_is_wrong_with_the_only_snapshot_is_wrong_with_the_plan(tmp_path: Path) -> None:
    printed = run("sweep", str(write_plan(tmp_path, base={"snapshot": "nowhere"}, axes={"seed": [1, 2]})))
    assert printed.code == 2
    assert printed.err.startswith(f"error: {tmp_path}/nowhere: there is no such file or folder")


def test_of_a_fleet_only_what_is_wrong_fails(tmp_path: Path) -> None:
    axes = {"snapshot": [str(SHOP), "nowhere"]}
    printed = run("sweep", str(write_plan(tmp_path, axes=axes, base={}, measure=["nodes"])), "-o", "csv")
    assert printed.code == 1
    assert printed.out == (
        f"case,snapshot,nodes,error\n1,{SHOP},15,\n2,nowhere,,nowhere: there is no such file or folder\n"
    )


def test_rows_in_doubt_count_with_strict(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, base={"snapshot": str(SHOP / "nodes.yaml")}, axes={"seed": [1]})
    assert [run("sweep", str(plan), *more).code for more in ([], ["--strict"])] == [0, 0]
    (tmp_path / "both").mkdir()
    for name, machine in (("a.yaml", b"m6i.xlarge"), ("b.yaml", b"m7i.xlarge")):
        (tmp_path / "both" / name).write_bytes((SHOP / "nodes.yaml").read_bytes().replace(b"m6i.xlarge", machine))
    plan = write_plan(tmp_path, base={"snapshot": "both"}, axes={"seed": [1]})
    assert [run("sweep", str(plan), *more).code for more in ([], ["--strict"])] == [0, 3]
