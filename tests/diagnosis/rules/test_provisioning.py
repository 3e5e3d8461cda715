"""Pods that fit and wait for a provisioner."""

from __future__ import annotations

import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from tests.builders import (
    decide,
    make_claim,
    make_cluster,
    make_csi_node,
    make_node,
    make_pod,
    make_storage_class,
    mount,
)
from tests.diagnosis.rules.cures import cures

CHOSEN = {"volume.kubernetes.io/selected-node": "n1"}
CAUSE = "claim data of StorageClass gp2 waits until provisioner {} creates its volume for node n1"
LOOK = "look at the events of claim data and the log of provisioner {} (untried)"
REPAIR = "repair Pod {}: look at its log and its events (untried)"
NOT_READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
INSTALL = "install CSI driver {0}, or repair it: no node has registered it (untried)"


@pytest.mark.parametrize(
    ("provisioner", "objects", "cause", "expected"),
    [
        pytest.param("csi.example.com", [], CAUSE.format("csi.example.com"), [LOOK], id="nothing is known of drivers"),
        pytest.param(
            "csi.example.com",
            [make_csi_node("n1", limits={"csi.example.com": None})],
            CAUSE.format("csi.example.com"),
            [LOOK],
            id="the driver is registered",
        ),
        pytest.param(
            "kubernetes.io/aws-ebs",
            [make_csi_node("n1", limits={"efs.csi.aws.com": None})],
            CAUSE.format("kubernetes.io/aws-ebs") + ", and no node has registered CSI driver ebs.csi.aws.com",
            [INSTALL.format("ebs.csi.aws.com"), LOOK],
            id="the driver of a class of the in-tree plugin is not installed",
        ),
        pytest.param(
            "rancher.io/local-path",
            [make_csi_node("n1", limits={"efs.csi.aws.com": None})],
            CAUSE.format("rancher.io/local-path"),
            [LOOK],
            id="a provisioner that is no CSI driver",
        ),
        pytest.param(
            "kubernetes.io/aws-ebs",
            [
                make_pod("ebs-csi-controller-0", node="n1", status=NOT_READY),
                make_pod("efs-csi-controller-0", node="n1"),
            ],
            CAUSE.format("kubernetes.io/aws-ebs") + ", and Pod default/ebs-csi-controller-0 is not ready",
            [REPAIR.format("default/ebs-csi-controller-0"), LOOK],
            id="the controller of the driver is not ready",
        ),
        pytest.param(
            "rancher.io/local-path",
            [make_pod("local-path-provisioner-0")],
            CAUSE.format("rancher.io/local-path") + ", and Pod default/local-path-provisioner-0 has only pending pods",
            [REPAIR.format("default/local-path-provisioner-0"), LOOK],
            id="the provisioner is pending",
        ),
        pytest.param(
            "pd.csi.storage.gke.io",
            [
                make_pod("csi-gce-pd-controller-0", node="n1", status=NOT_READY),
                make_pod("csi-gce-pd-controller-1", node="n1"),
                make_pod("csi-update-0", node="n1", status=NOT_READY),
            ],
            CAUSE.format("pd.csi.storage.gke.io"),
            [LOOK],
            id="another replica of the controller is ready",
        ),
    ],
)
def test_cause(provisioner: str, objects: list[ApiObject], cause: str, expected: list[str]) -> None:
    storage_class = make_storage_class("gp2", provisioner=provisioner)
    claim = make_claim(storage_class="gp2", annotations=CHOSEN)
    pods = [each for each in objects if isinstance(each, Pod)]
    others = [each for each in objects if not isinstance(each, Pod)]
    decision = decide(
        make_pod(volumes=mount("data")), make_cluster([make_node("n1")], pods, claim, storage_class, *others)
    )
    assert [one.cause for one in diagnose(decision)] == [cause]
    assert cures(decision) == [one.format(provisioner) for one in expected]
