"""Completion as requested by the shells and by kubectl."""

import json
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from typing import Final

import pytest

from kschedctl.cli import completion, kubectl_completion
from kschedctl.cli.commands import COMMANDS
from kschedctl.cli.invocation import parameters_of
from kschedctl.objects.releases.release import RELEASES
from tests.cli.in_process import Printed, run
from tests.cli.transcript import DEVICES, SHOP, VOLUMES

SCRIPTS = sysconfig.get_path("scripts")


class Asked:
    """The completions that a shell is offered, with a time limit of 60 seconds for slow machines."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capfd = capfd
        monkeypatch.setattr(completion, "_SECONDS", 60)

    def __call__(self, words: list[str], snapshot: str = "", **environment: str) -> list[str]:
        own = {"_KSCHEDCTL_COMPLETE": "", "COMP_WORDS": "", "COMP_CWORD": "", "KSCHEDCTL_SNAPSHOT": snapshot}
        for name, value in {**own, **environment}.items():
            self._monkeypatch.setenv(name, value)
        self._monkeypatch.setattr(sys, "argv", ["kubectl_complete-ksched", *words])
        kubectl_completion.run()
        printed = self._capfd.readouterr()
        assert printed.err == ""
        *names, files_too = printed.out.splitlines()
        assert files_too == ":0"
        return names


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Asked:
    return Asked(monkeypatch, capfd)


def test_kubectl_asks_a_program() -> None:
    done = subprocess.run([f"{SCRIPTS}/kubectl_complete-ksched", "ba"], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("batch\n:0\n", "")


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["ba"], ["batch"]),
        (["explain", "--kubern"], ["--kubernetes-version"]),
        (["explain", "a b", "--no-a"], ["--no-admission"]),
        (["explain", "--kubernetes-version", "1.3"], [*RELEASES]),
        (["explain", "-o", "js"], ["json", "jsonpath="]),
    ],
    ids=lambda value: " ".join(value),
)
def test_commands_options_and_values(offered: Asked, words: list[str], names: list[str]) -> None:
    assert offered(words) == names


@pytest.mark.parametrize(
    ("words", "names"),
    [
        pytest.param(["explain", "shop/web-7"], ["shop/web-7"], id="pods with their namespace"),
        pytest.param(["explain", "-n", "batch", "report-7"], ["report-7"], id="pods of a namespace"),
        pytest.param(["explain", "-n", "batch", "pod/report-7"], ["pod/report-7"], id="pods with their kind"),
        pytest.param(["preempt", "--victim", "monitoring/prom"], ["monitoring/prometheus-0"], id="a victim"),
        pytest.param(["explain", "-n", "b"], ["batch"], id="namespaces"),
        pytest.param(["devices", "-n", "b"], ["batch"], id="namespaces of claims"),
        pytest.param(["explain", "--drain", "gpu-"], [f"gpu-{i}" for i in range(1, 7)], id="nodes to drain"),
        pytest.param(["explain", "--node", "node-9"], ["node-9"], id="nodes to show"),
        pytest.param(["explain", "--prefer", "node-9"], ["node-9"], id="a node to prefer"),
        pytest.param(["diff", "--taint", "node-8"], ["node-8"], id="nodes to taint"),
        pytest.param(["diff", "--fail-zone", "eu-central-1b"], ["eu-central-1b"], id="zones"),
        pytest.param(
            ["diff", "-n", "shop", "--set-replicas", "replicaset/w"],
            ["replicaset/web-6d5f9c7b8d"],
            id="workloads of a namespace",
        ),
    ],
)
def test_names_of_the_cluster(offered: Asked, words: list[str], names: list[str]) -> None:
    assert offered(words, snapshot=str(SHOP)) == names


def test_claims_of_the_snapshot_that_an_option_names(offered: Asked) -> None:
    conflict = str(VOLUMES / "conflict")
    assert offered(["volumes", "--snapshot", conflict, "shop/fig"], snapshot=str(SHOP)) == ["shop/figures"]
    assert offered(["volumes", "--snapshot", conflict, "-n", "shop", "pvc/"]) == ["pvc/figures"]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        pytest.param(["ml/tr"], ["ml/train", "ml/train-four"], id="claims with their namespace"),
        pytest.param(["-n", "ml", "tu"], ["tune"], id="claims of a namespace"),
        pytest.param(["-n", "ml", "claim/tu"], ["claim/tune"], id="claims with their kind"),
        pytest.param(["class/gpu-"], ["class/gpu-large"], id="classes"),
        pytest.param(["-n", "other", "c"], ["class/gpu", "class/gpu-large"], id="classes have no namespace"),
    ],
)
def test_claims_for_devices_and_classes(offered: Asked, words: list[str], names: list[str]) -> None:
    assert offered(["devices", *words], snapshot=str(DEVICES / "cluster")) == names


def test_clusters_of_a_snapshot_that_holds_several(offered: Asked, tmp_path: Path) -> None:
    shutil.copytree(SHOP, tmp_path / "prod" / "shop")
    shutil.copytree(DEVICES / "cluster", tmp_path / "prod" / "gpus")
    snapshot = str(tmp_path / "prod")
    assert offered(["explain", "--cluster", ""], snapshot=snapshot) == ["gpus", "shop"]
    assert offered(["nodes", "--snapshot", snapshot, "--cluster", "s"]) == ["shop"]
    assert offered(["nodes", "--cluster", ""], snapshot=str(SHOP)) == []
    assert offered(["explain", "--cluster", "shop", "--node", "node-9"], snapshot=snapshot) == ["node-9"]
    assert offered(["explain", "--node", "cpu-1"], snapshot=snapshot, KSCHEDCTL_CLUSTER="gpus") == ["cpu-1"]


@pytest.mark.parametrize("snapshot", ["/nowhere", "-", __file__])
def test_what_goes_wrong_is_not_told(offered: Asked, snapshot: str) -> None:
    assert offered(["explain", "shop/"], snapshot=snapshot) == []


def test_without_a_cluster_nothing_is_offered(offered: Asked, tmp_path: Path) -> None:
    assert offered(["explain", "shop/"], HOME=str(tmp_path), KUBECONFIG="") == []


def test_what_was_found_in_time_is_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "python"
    slow.write_text("#!/bin/sh\nprintf 'Node\\t\\tnode-1\\tz\\nNode\\t\\tno'\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(slow))
    monkeypatch.setattr(completion, "_SECONDS", 2.0)
    began = time.monotonic()
    assert completion.nodes(_Context(), "") == ["node-1"]  # type: ignore[arg-type]
    assert time.monotonic() - began < 30


class _Context:
    """A command without any arguments yet."""

    params: dict[str, object] = {}  # noqa: RUF012


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
        ([], "not run without a cluster: 21 rules, such as KS501; --snapshot PATH runs them"),
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
