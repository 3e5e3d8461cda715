from dataclasses import replace
from typing import Any

import pytest

from kschedctl.objects.releases.release import LATEST
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.plugins.volume_restrictions import (
    ClaimInUse,
    ClaimOfNominatedPod,
    DiskInUse,
    DiskOfNominatedPod,
)
from tests.builders import (
    decide,
    fitting,
    make_claim,
    make_cluster,
    make_node,
    make_pod,
    make_storage_class,
    mount,
    reason,
    said,
    told,
)

PLUGIN = "VolumeRestrictions"
DISK = Status(Code.UNSCHEDULABLE, ("node(s) had no available disk",))
IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)


def gce(name: str, **fields: Any) -> dict[str, Any]:
    return {"gcePersistentDisk": {"pdName": name, **fields}}


def ebs(volume_id: str, **fields: Any) -> dict[str, Any]:
    return {"awsElasticBlockStore": {"volumeID": volume_id, **fields}}


def iscsi(iqn: str, **fields: Any) -> dict[str, Any]:
    return {"iscsi": {"targetPortal": "portal", "iqn": iqn, **fields}}


def rbd(*monitors: str, **fields: Any) -> dict[str, Any]:
    return {"rbd": {"monitors": list(monitors), "image": "image", **fields}}


def pod_with(disk: dict[str, Any], name: str = "pod", **fields: Any) -> Any:
    return make_pod(name, volumes=[{"name": "disk", **disk}], **fields)


@pytest.mark.parametrize(
    ("wanted", "used", "expected"),
    [
        pytest.param(gce("a"), gce("a"), DISK, id="a GCE disk is for one pod"),
        pytest.param(gce("a"), gce("b"), Status(), id="another GCE disk"),
        pytest.param(gce("a", readOnly=True), gce("a", readOnly=True), Status(), id="or for several that only read"),
        pytest.param(gce("a", readOnly=True), gce("a"), DISK, id="all of them must only read"),
        pytest.param(
            ebs("a", readOnly=True), ebs("a", readOnly=True), DISK, id="an AWS disk is for one pod in any case"
        ),
        pytest.param(ebs("a"), gce("a"), Status(), id="disks of different kinds"),
        pytest.param(iscsi("a"), iscsi("a"), DISK, id="an iSCSI target"),
        pytest.param(iscsi("a", readOnly=True), iscsi("a", readOnly=True), Status(), id="an iSCSI target to read"),
        pytest.param(rbd("m1", "m2"), rbd("m2", "m3"), DISK, id="an RBD image by a monitor in common"),
        pytest.param(rbd("m1"), rbd("m2"), Status(), id="an RBD image of other monitors"),
        pytest.param(rbd("m1", pool="rbd"), rbd("m1"), DISK, id="rbd is the default pool"),
        pytest.param(rbd("m1", pool="fast"), rbd("m1"), Status(), id="an RBD image of another pool"),
        pytest.param(rbd("m1", readOnly=True), rbd("m1", readOnly=True), Status(), id="an RBD image to read"),
    ],
)
def test_disks(wanted: dict[str, Any], used: dict[str, Any], expected: Status) -> None:
    cluster = make_cluster([make_node()], [pod_with(used, name="user", node="node")])
    assert said(decide(pod_with(wanted), cluster), PLUGIN) == expected


def test_a_disk_is_free_on_other_nodes() -> None:
    cluster = make_cluster([make_node("a"), make_node("b")], [pod_with(gce("disk"), name="user", node="a")])
    decision = decide(pod_with(gce("disk")), cluster)
    assert fitting(decision, PLUGIN) == "b"
    assert reason(decision, PLUGIN, "a").detail == "the disk of volume disk is used by default/user"


def test_a_read_write_once_pod_claim_in_use_closes_every_node() -> None:
    claim = make_claim(modes=["ReadWriteOncePod"])
    user = make_pod("user", node="a", volumes=mount("data"))
    objects = [claim, make_storage_class()]
    decision = decide(make_pod(volumes=mount("data")), make_cluster([make_node("a"), make_node("b")], [user], *objects))
    assert said(decision, PLUGIN, "b") == Status(Code.UNSCHEDULABLE, (IN_USE,))
    found = reason(decision, PLUGIN, "b")
    assert found.detail == "claim data is used by default/user"
    assert found.data == {"claim": "data", "pod": "default/user"}
    release = replace(LATEST, claim_in_use="in use")
    other = decide(make_pod(volumes=mount("data")), decision.cluster, release=release)
    assert said(other, PLUGIN, "b") == Status(Code.UNSCHEDULABLE, ("in use",))
    assert reason(other, PLUGIN, "b").text == "in use"


@pytest.mark.parametrize(
    ("claim", "user"),
    [
        pytest.param(
            make_claim(modes=["ReadWriteOncePod"]), make_pod("user", volumes=mount("data")), id="its user is on no node"
        ),
        pytest.param(
            make_claim(modes=["ReadWriteOncePod"]),
            make_pod("user", namespace="other", node="node", volumes=mount("data")),
            id="its user has a claim of another namespace",
        ),
        pytest.param(
            make_claim(modes=["ReadWriteOnce"]),
            make_pod("user", node="node", volumes=mount("data")),
            id="it can be shared",
        ),
    ],
)
def test_skipped_where_a_claim_is_free(claim: Any, user: Any) -> None:
    decision = decide(make_pod(volumes=mount("data")), make_cluster([make_node()], [user], claim))
    assert PLUGIN in decision.state.skip_filter_plugins


def test_a_claim_that_does_not_exist_ends_the_matter() -> None:
    decision = decide(make_pod(volumes=mount("data")), make_cluster([make_node()]))
    expected = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ('persistentvolumeclaim "data" not found',), PLUGIN)
    assert decision.pre_filter is not None
    assert decision.pre_filter.status == expected


@pytest.mark.parametrize(
    ("operands", "words", "data"),
    [
        pytest.param(
            ClaimInUse("data", "default/user"),
            "claim data is used by default/user",
            {"claim": "data", "pod": "default/user"},
            id="claim",
        ),
        pytest.param(
            ClaimOfNominatedPod(), "the claim is used by a pod nominated to the node", {}, id="claim of a nominated pod"
        ),
        pytest.param(
            DiskInUse("disk", "default/user"),
            "the disk of volume disk is used by default/user",
            {"pod": "default/user"},
            id="disk",
        ),
        pytest.param(
            DiskOfNominatedPod(), "the disk is used by a pod nominated to the node", {}, id="disk of a nominated pod"
        ),
    ],
)
def test_operands(operands: Operands, words: str, data: dict[str, Any]) -> None:
    assert told(operands) == (words, data)
