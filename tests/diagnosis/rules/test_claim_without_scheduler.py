"""Pods with nodeName, which bypass the scheduler, and claims that wait for it."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.meta import ApiObject
from tests.builders import (
    decide,
    make_claim,
    make_cluster,
    make_csi_node,
    make_node,
    make_pod,
    make_storage_class,
    make_volume,
    mount,
)
from tests.diagnosis.rules.cures import cures

PENDING = {"phase": "Pending"}
CAUSE = "claim data waits for its first consumer, and spec.nodeName n1 bypasses the scheduler, which would choose the "
CAUSE += "node for its volume"
SELECTED = "volume.kubernetes.io/selected-node"


@pytest.mark.parametrize(
    ("status", "objects", "causes"),
    [
        pytest.param(PENDING, [make_claim(), make_storage_class()], [CAUSE], id="nodeName"),
        pytest.param({"phase": "Running"}, [make_claim(), make_storage_class()], [], id="the pod runs"),
        pytest.param(
            PENDING,
            [make_claim(annotations={SELECTED: "n1"}), make_storage_class()],
            ["claim data of StorageClass late waits until provisioner csi.example.com creates its volume for node n1"],
            id="the scheduler chose the node",
        ),
        pytest.param(PENDING, [make_claim(bound="pv"), make_storage_class(), make_volume()], [], id="bound claim"),
        pytest.param(
            PENDING,
            [make_claim(bound="pv"), make_storage_class(), make_volume(), make_csi_node("n1", limits={"other": None})],
            ["CSI driver csi.example.com of claim data is not registered on n1"],
            id="the driver is not registered",
        ),
    ],
)
def test_cause(status: dict[str, Any], objects: list[ApiObject], causes: list[str]) -> None:
    pod = make_pod(volumes=mount("data"), status=status)
    decision = decide(pod, make_cluster([make_node("n1")], (), *objects))
    assert [one.cause for one in diagnose(decision, "n1")] == causes
    assert not any(one.rule == "claim-without-scheduler" for one in diagnose(decision))


def test_cures_go_through_the_scheduler() -> None:
    cluster = make_cluster([make_node("n1")], (), make_claim(), make_storage_class())
    decision = decide(make_pod(volumes=mount("data"), status=PENDING), cluster)
    assert cures(decision, "n1") == [
        "use nodeSelector kubernetes.io/hostname: n1 instead of nodeName in pod pod, and recreate the pod (untried)",
        f"for once: do the scheduler's part, annotation {SELECTED}=n1 on the claim (untried)",
    ]


def test_without_a_provisioner_nobody_reads_the_annotation() -> None:
    static = make_storage_class(provisioner="kubernetes.io/no-provisioner")
    cluster = make_cluster([make_node("n1")], (), make_claim(), static, make_volume())
    decision = decide(make_pod(volumes=mount("data"), status=PENDING), cluster)
    assert len(cures(decision, "n1")) == 1
