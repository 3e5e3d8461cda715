"""Claims that cannot be used: missing, being deleted, of another pod, or without their volume."""

from __future__ import annotations

import msgspec
import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import StatefulSet
from tests.builders import (
    LONG_AGO,
    decide,
    make_claim,
    make_cluster,
    make_node,
    make_object,
    make_pod,
    make_storage_class,
    make_volume,
    mount,
)
from tests.diagnosis.rules.cures import cures

OF_SET = ("apps/v1", "StatefulSet", "db")
TEMPLATES = {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]}
SET = make_object(StatefulSet, "db", namespace="default", spec=TEMPLATES)
CREATE = "create claim uploads in namespace default (untried)"


def deleted(claim: ApiObject) -> ApiObject:
    """Return an object that is being deleted."""
    data = msgspec.to_builtins(claim)
    data["metadata"]["deletionTimestamp"] = LONG_AGO
    return msgspec.convert(data, type(claim))


@pytest.mark.parametrize(
    ("pod", "objects", "cause", "expected"),
    [
        pytest.param(
            make_pod(volumes=mount("uploads")),
            [make_claim("upload")],
            "claim uploads does not exist in namespace default; did you mean upload",
            ["use claim upload instead of uploads, which does not exist", CREATE],
            id="typing error",
        ),
        pytest.param(
            make_pod(volumes=mount("uploads")),
            [make_claim("uploads", namespace="files")],
            "claim uploads does not exist in namespace default; a claim of that name is in namespace files, where the "
            "pod cannot use it",
            [CREATE],
            id="another namespace",
        ),
        pytest.param(
            make_pod(volumes=mount("uploads")),
            [],
            "claim uploads does not exist in namespace default: the snapshot has no claims at all",
            [CREATE],
            id="no claims at all",
        ),
        pytest.param(
            make_pod("db-0", volumes=mount("data-db-0"), owner=OF_SET),
            [SET, make_claim("data-db-1")],
            "claim data-db-0 does not exist in namespace default: StatefulSet db has not created it",
            ["look at the events of StatefulSet db, which creates claim data-db-0 (untried)"],
            id="claim of a StatefulSet",
        ),
        pytest.param(
            make_pod(volumes=[{"name": "tmp", "ephemeral": {"volumeClaimTemplate": {}}}]),
            [],
            "claim pod-tmp of the pod's ephemeral volume tmp is not created yet",
            ["look at the pod's events, and at kube-controller-manager (untried)"],
            id="claim of an ephemeral volume",
        ),
        pytest.param(
            make_pod(volumes=[{"name": "tmp", "ephemeral": {"volumeClaimTemplate": {}}}]),
            [make_claim("pod-tmp")],
            "claim pod-tmp has the name that the pod's ephemeral volume tmp needs, but was not created for this pod",
            ["rename the pod or its volume tmp, or remove claim pod-tmp if nobody needs it (untried)"],
            id="name of an ephemeral volume's claim is taken",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            [deleted(make_claim()), make_pod("old", node="node", volumes=mount("data"))],
            "claim data is being deleted: pod default/old still uses it",
            ["let pod default/old end: only then claim data is gone; then create it again (untried)"],
            id="being deleted, and kept by a pod",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            [deleted(make_claim()), make_pod("old", node="node", volumes=mount("data"), owner=("v1", "Foo", "db"))],
            "claim data is being deleted: pod default/old still uses it",
            [
                "let pod default/old end, or scale Foo default/db down: only then claim data is gone; then create it "
                "again (untried)"
            ],
            id="being deleted, and kept by the pod of a workload",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            [deleted(make_claim()), make_pod("old", node="node", volumes=mount("data"), terminating=True)],
            "claim data is being deleted: pod default/old still uses it",
            ["wait until claim data is gone; then create it again (untried)"],
            id="being deleted, and kept by a pod that ends",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            [deleted(make_claim(bound="pv-1")), make_volume("pv-1", persistentVolumeReclaimPolicy="Delete")],
            "claim data is being deleted",
            [
                "if the data is needed: set reclaim policy Retain in volume pv-1 at once (untried)",
                "wait until claim data is gone; then create it again (untried)",
            ],
            id="being deleted together with its volume",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            [make_claim(bound="pv-1"), make_volume("pv-2")],
            "claim data is bound to volume pv-1, which does not exist",
            [
                "if the disk still exists: create PersistentVolume pv-1 for it again, with its claimRef (untried)",
                "else recreate claim data and restore a backup (untried)",
            ],
            id="lost volume",
        ),
    ],
)
def test_cause(pod: Pod, objects: list[ApiObject], cause: str, expected: list[str]) -> None:
    decision = decide(pod, make_cluster([make_node()], (), make_storage_class(), *objects))
    assert [one.cause for one in diagnose(decision)] == [cause]
    assert cures(decision)[: len(expected)] == expected


def test_volumes_that_the_snapshot_does_not_have_are_not_called_lost() -> None:
    cluster = make_cluster([make_node()], (), make_storage_class(), make_claim(bound="pv-1"))
    (found,) = diagnose(decide(make_pod(volumes=mount("data")), cluster))
    assert found.rule == "pre-filter"
