"""Workloads that share a claim."""

import pytest

from kschedctl.linter.examples import manifests
from tests.linter.linting import lint

MOUNT = "volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]\n"


def workloads(*kinds: str, mode: str = "ReadWriteOnce") -> str:
    claim = f"v1 PersistentVolumeClaim data\naccessModes: [{mode}]\n"
    return manifests("---\n".join([claim, *(f"{kind} {name}\n{MOUNT}" for kind, name in zip(kinds, "abc"))]))  # noqa: B905


@pytest.mark.parametrize(
    ("kinds", "mode", "severity"),
    [
        (["apps/v1 Deployment", "apps/v1 Deployment"], "ReadWriteOnce", "warning"),
        (["batch/v1 Job", "batch/v1 Job"], "ReadWriteOnce", "info"),
        (["batch/v1 Job", "batch/v1 Job", "batch/v1 Job"], "ReadWriteOncePod", "info"),
        (["batch/v1 Job", "apps/v1 Deployment"], "ReadWriteOnce", "warning"),
        (["batch/v1 Job", "apps/v1 Deployment"], "ReadWriteOncePod", "error"),
        (["batch/v1 Job", "v1 Pod"], "ReadWriteOnce", "warning"),
    ],
)
def test_workloads_whose_pods_end_use_a_claim_in_turn(kinds: list[str], mode: str, severity: str) -> None:
    (found,) = lint(workloads(*kinds, mode=mode), "KS407")
    assert found.severity == severity
    assert found.message.endswith("run in turn") is (severity == "info")


def test_a_pod_that_is_not_restarted_ends() -> None:
    text = workloads("batch/v1 Job", "v1 Pod").replace("kind: Pod\n", "kind: Pod\n", 1)
    ending = text.rpartition("spec:\n")
    (found,) = lint(f"{ending[0]}spec:\n  restartPolicy: Never\n{ending[2]}", "KS407")
    assert found.severity == "info"
