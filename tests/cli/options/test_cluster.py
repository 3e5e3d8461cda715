"""``--cluster``: one cluster of a snapshot that holds several, for every command that takes a snapshot."""

import shutil
from pathlib import Path

import pytest

from tests.cli.in_process import run
from tests.cli.transcript import DEVICES, SHOP

SEVERAL = "several"
VARIABLES = {"KSCHEDCTL_SNAPSHOT": SEVERAL, "KSCHEDCTL_CLUSTER": "gpus"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, cluster in (("shop", SHOP), ("gpus", DEVICES / "cluster")):
        shutil.copytree(cluster, Path(SEVERAL, name))


@pytest.mark.parametrize(
    "words",
    [
        "nodes",
        "nodes --cache",
        "pending",
        "verify",
        "diff --cordon cpu-1 -A",
        "snapshot -o copy",
        "lint several/gpus/pods.yaml",
        "serve --listen 127.0.0.1:0",
    ],
)
def test_several_clusters_are_refused_unless_one_is_chosen(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run(*words.split(), "--snapshot", SEVERAL)
    assert done.code == 2
    assert f"{SEVERAL}: holds 2 clusters: gpus and shop\n  choose one with --cluster NAME" in done.err
    if not words.startswith("serve"):
        done = run(*words.split(), "--snapshot", SEVERAL, "--cluster", "gpus")
        assert done.code in (0, 1), done.err
        assert "holds 2 clusters" not in done.err


def test_the_environment_names_snapshot_and_cluster() -> None:
    assert "6 nodes" in run("nodes", environment=VARIABLES).out
    assert "15 nodes" in run("nodes", "--cluster", "shop", environment=VARIABLES).out
    # The variable is about the snapshot of the other variable.
    assert "15 nodes" in run("nodes", "--snapshot", f"{SEVERAL}/shop", environment=VARIABLES).out
    assert "holds 2 clusters" in run("nodes", "--snapshot", SEVERAL, environment=VARIABLES).err


def test_next_questions_are_about_the_same_cluster() -> None:
    done = run("explain", "-n", "shop", "--snapshot", SEVERAL, "--cluster", "shop")
    assert f"--snapshot {SEVERAL} --cluster shop" in done.out


def test_two_clusters_of_a_snapshot_are_compared() -> None:
    source = ("--snapshot", SEVERAL, "--cluster", "shop")
    done = run("diff", "-A", *source, "--against-cluster", "gpus")
    assert "snapshot of 15 nodes" in done.out
    assert "snapshot of 6 nodes" in done.out
    done = run("diff", "-A", *source, "--against", SEVERAL)
    assert "holds 2 clusters" in done.err
    done = run("diff", "-A", *source, "--against", f"{SEVERAL}/gpus")
    assert "snapshot of 6 nodes" in done.out


def test_a_running_cluster_is_one() -> None:
    done = run("nodes", "--cluster", "shop", "--context", "prod")
    assert done.code == 2
    assert "--cluster: requires a snapshot" in done.err


def test_what_a_snapshot_contains() -> None:
    assert "holds 2 clusters" in run("snapshot", "info", SEVERAL).err
    assert "6 Node" in run("snapshot", "info", SEVERAL, "--cluster", "gpus").out
