"""CSI drivers that report no free storage for nodes which would hold the pod."""

import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.core import Node
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.volume import CSIDriver, CSIStorageCapacity
from tests.builders import (
    HOSTNAME,
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

NAS = "nas.csi.example.com"
STORAGE = make_node("store", taints=["storage-only=true:NoSchedule"])
NODES = [STORAGE, make_node("a"), make_node("b")]
ZERO = f"CSI driver {NAS} reports no free storage of class late for a and b (CSIStorageCapacity 0)"
NONE = f"CSI driver {NAS} tracks capacity, and there is no CSIStorageCapacity of class late for a and b"
REST = "; store is tainted storage-only=true:NoSchedule"
OFF = f"turn capacity tracking off, as its volumes can be used on every node: storageCapacity: false in CSIDriver {NAS}"
IF_SHARED = (
    f"if its volumes can be used on every node: turn capacity tracking off, storageCapacity: false in CSIDriver {NAS}"
)
LOOK = (
    f"get CSI driver {NAS} to report the capacity of class late (CSIStorageCapacity): look at its settings and the log "
    "of its provisioner (untried)"
)
SOURCE = {"csi": {"driver": NAS, "volumeHandle": "v"}}
SHARED = make_volume("old", claim="default/other", source=SOURCE)
LOCAL = make_volume("old", claim="default/other", source=SOURCE, affinity={HOSTNAME: ["a"]})


def free(node: str, capacity: str) -> CSIStorageCapacity:
    topology = {"matchLabels": {HOSTNAME: node}}
    fields = {"storageClassName": "late", "nodeTopology": topology, "capacity": capacity}
    return make_object(CSIStorageCapacity, f"on-{node}", namespace="nas", **fields)


def nas_pod(*, ready: bool) -> Pod:
    conditions = [] if ready else [{"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-20T09:12:00Z"}]
    owner = ("apps/v1", "ReplicaSet", "csi-nas-controller")
    return make_pod("csi-nas-0", namespace="nas", node="store", owner=owner, status={"conditions": conditions})


@pytest.mark.parametrize(
    ("nodes", "objects", "cause", "expected"),
    [
        pytest.param(
            NODES, [free("store", "1Ti"), free("a", "0"), free("b", "0"), SHARED], ZERO + REST, [OFF, LOOK], id="0"
        ),
        pytest.param(
            NODES,
            [free("store", "1Ti"), free("a", "0"), free("b", "0")],
            ZERO + REST,
            [IF_SHARED, LOOK],
            id="0, and no volume shows where volumes can be used",
        ),
        pytest.param(NODES, [free("store", "1Ti"), SHARED], NONE + REST, [OFF, LOOK], id="nothing for some nodes"),
        pytest.param(NODES[1:], [SHARED], NONE, [OFF, LOOK], id="nothing for any node"),
        pytest.param(
            NODES,
            [free("store", "1Ti"), nas_pod(ready=False)],
            f"{NONE}: ReplicaSet nas/csi-nas-controller is not ready since 2026-11-20 09:12 UTC{REST}",
            ["repair ReplicaSet nas/csi-nas-controller: look at its log and its events (untried)", LOOK],
            id="the provisioner is not ready",
        ),
        pytest.param(
            NODES[1:],
            [free("a", "1Mi"), free("b", "0")],
            "claim data wants 1Gi, class late can provision at most 1Mi anywhere, and no node has as much",
            None,
            id="too small",
        ),
        pytest.param(
            NODES,
            [free("store", "1Ti"), free("a", "0"), free("b", "0"), LOCAL],
            None,
            None,
            id="local disks that are full",
        ),
    ],
)
def test_cause_and_cures(
    nodes: list[Node], objects: list[ApiObject], cause: str | None, expected: list[str] | None
) -> None:
    driver = make_object(CSIDriver, NAS, spec={"storageCapacity": True})
    pods = [each for each in objects if isinstance(each, Pod)]
    others = [each for each in objects if not isinstance(each, Pod)]
    cluster = make_cluster(nodes, pods, driver, make_storage_class(provisioner=NAS), make_claim(), *others)
    decision = decide(make_pod(volumes=mount("data")), cluster)
    found = diagnose(decision)[0]
    if cause is None:
        assert found.rule != "no-storage-reported"
        return
    assert found.cause == cause
    if expected is not None:
        assert cures(decision) == expected
