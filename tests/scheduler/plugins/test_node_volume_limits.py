"""In most tests the node takes two volumes of csi.example.com."""

from typing import Any

import pytest

from kschedctl.objects.releases.release import RELEASES
from kschedctl.objects.volume import CSIDriver, VolumeAttachment
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.plugins.node_volume_limits import DriverNotInstalled, TooManyVolumes
from tests.builders import (
    decide,
    make_claim,
    make_cluster,
    make_csi_node,
    make_node,
    make_object,
    make_pod,
    make_profile,
    make_storage_class,
    make_volume,
    mount,
    reason,
    said,
    told,
)

PLUGIN = "NodeVolumeLimits"
DRIVER = "csi.example.com"
FULL = Status(Code.UNSCHEDULABLE, ("node(s) exceed max volume count",))
EBS = "ebs.csi.aws.com"
PORTWORX = "pxd.portworx.com"
LIMITED = make_csi_node(limits={DRIVER: 2})


def disk(name: str, driver: str = DRIVER) -> list[Any]:
    """A bound claim and its volume."""
    source = {"csi": {"driver": driver, "volumeHandle": name}}
    return [make_claim(name, bound=f"pv-{name}"), make_volume(f"pv-{name}", claim=f"default/{name}", source=source)]


def user(name: str, *claims: str) -> Any:
    return make_pod(name, node="node", volumes=mount(*claims))


def attached(name: str, volume: str, *, node: str = "node") -> Any:
    spec = {"attacher": DRIVER, "nodeName": node, "source": {"persistentVolumeName": volume}}
    return make_object(VolumeAttachment, name, spec=spec)


ABC = [*disk("a"), *disk("b"), *disk("c")]


@pytest.mark.parametrize(
    ("pods", "objects", "wanted", "expected"),
    [
        pytest.param([user("p", "a")], [], ["b"], Status(), id="room for one more"),
        pytest.param([user("p", "a", "b")], [], ["c"], FULL, id="full"),
        pytest.param([user("p", "a", "b")], [], ["b"], Status(), id="a volume that is there already"),
        pytest.param([user("p", "a"), user("q", "a")], [], ["b"], Status(), id="a shared volume counts once"),
        pytest.param([user("p", "a")], [], ["b", "c"], FULL, id="two new ones"),
        pytest.param([], [], ["b", "b"], Status(), id="a volume mounted twice counts once"),
        pytest.param([user("p", "a")], [attached("x", "pv-b")], ["c"], FULL, id="attached, but used by no pod here"),
        pytest.param([user("p", "a")], [attached("x", "pv-a")], ["c"], Status(), id="attached for a pod here"),
        pytest.param([user("p", "a")], [attached("x", "pv-b", node="far")], ["c"], Status(), id="attached elsewhere"),
        pytest.param([user("p", "a")], [attached("x", "pv-b")], ["b"], FULL, id="attached, and wanted: counts as new"),
        pytest.param([user("p", "a", "gone")], [], ["b"], Status(), id="a claim that is gone does not count"),
    ],
)
def test_limits(pods: list[Any], objects: list[Any], wanted: list[str], expected: Status) -> None:
    cluster = make_cluster([make_node()], pods, LIMITED, make_storage_class(), *ABC, *objects)
    assert said(decide(make_pod(volumes=mount(*wanted)), cluster), PLUGIN) == expected


def test_detail_has_the_driver_and_the_numbers() -> None:
    cluster = make_cluster([make_node()], [user("p", "a", "b")], LIMITED, *ABC)
    found = reason(decide(make_pod(volumes=mount("c")), cluster), PLUGIN)
    assert found.detail == "csi.example.com: adds 1 to 2 attached, the node's limit is 2"
    assert found.data == {"driver": DRIVER, "added": 1, "attached": 2, "limit": 2}


def csi_driver(*, insists: bool | None = True) -> Any:
    spec = {} if insists is None else {"preventPodSchedulingIfMissing": insists}
    return make_object(CSIDriver, DRIVER, spec=spec)


HERE = make_csi_node(limits={DRIVER: None})
OTHER = make_csi_node(limits={"other.example.com": 0})


@pytest.mark.parametrize(
    ("objects", "installed"),
    [
        pytest.param([csi_driver(), HERE], True, id="the node's CSINode lists it"),
        pytest.param([csi_driver(), OTHER], False, id="the node's CSINode lists another"),
        pytest.param([csi_driver()], False, id="the node has no CSINode"),
        pytest.param([csi_driver(insists=False)], True, id="the driver does not insist"),
        pytest.param([csi_driver(insists=None)], True, id="nor by default"),
        pytest.param([], True, id="there is no CSIDriver"),
    ],
)
@pytest.mark.parametrize("wanted", ["a", "new"], ids=["bound", "to be provisioned"])
def test_a_driver_that_insists_must_be_on_the_node(objects: list[Any], wanted: str, installed: bool) -> None:
    cluster = make_cluster([make_node()], [], *ABC, make_storage_class(), make_claim("new"), *objects)
    refused = Status(Code.UNSCHEDULABLE, (f"{DRIVER} CSI driver is not installed on the node",))
    decision = decide(make_pod(volumes=mount(wanted)), cluster)
    assert said(decision, PLUGIN) == (Status() if installed else refused)
    assert said(decide(make_pod(volumes=mount(wanted)), cluster, release=RELEASES["1.36"]), PLUGIN) == Status()
    if not installed:
        assert reason(decision, PLUGIN).operands == DriverNotInstalled(DRIVER)


def test_a_volume_that_is_there_already_needs_its_driver_too() -> None:
    cluster = make_cluster([make_node()], [user("p", "a")], csi_driver(), OTHER, *ABC)
    assert said(decide(make_pod(volumes=mount("a")), cluster), PLUGIN).code is Code.UNSCHEDULABLE


@pytest.mark.parametrize(("csi_node", "fits"), [(OTHER, False), (make_csi_node("elsewhere", limits={}), True)])
def test_a_disk_that_is_migrated_needs_its_driver_where_there_is_a_csi_node(csi_node: Any, fits: bool) -> None:
    driver = make_object(CSIDriver, EBS, spec={"preventPodSchedulingIfMissing": True})
    pod = make_pod(volumes=[{"name": "disk", "awsElasticBlockStore": {"volumeID": "aws://z/vol-1"}}])
    decision = decide(pod, make_cluster([make_node()], [], driver, csi_node))
    assert decision.schedulable is fits


@pytest.mark.parametrize(
    "csi_node",
    [
        pytest.param(make_csi_node("other", limits={DRIVER: 0}), id="no CSINode"),
        pytest.param(make_csi_node(limits={DRIVER: None}), id="no limit"),
        pytest.param(make_csi_node(limits={"other.example.com": 0}), id="a limit of another driver"),
    ],
)
def test_nodes_without_a_limit(csi_node: Any) -> None:
    cluster = make_cluster([make_node()], [user("p", "a", "b")], csi_node, *ABC)
    assert said(decide(make_pod(volumes=mount("c")), cluster), PLUGIN) == Status()


def test_claims_that_are_not_bound_count_for_their_provisioner() -> None:
    objects = [*ABC, LIMITED, make_storage_class(), make_claim("new"), make_claim("newer")]
    cluster = make_cluster([make_node()], [user("p", "a")], *objects)
    assert said(decide(make_pod(volumes=mount("new")), cluster), PLUGIN) == Status()
    assert said(decide(make_pod(volumes=mount("new", "newer")), cluster), PLUGIN) == FULL


@pytest.mark.parametrize(
    ("source", "driver"),
    [
        pytest.param({"awsElasticBlockStore": {"volumeID": "aws://z/vol-1"}}, EBS, id="AWS"),
        pytest.param({"gcePersistentDisk": {"pdName": "disk"}}, "pd.csi.storage.gke.io", id="GCE"),
        pytest.param({"azureDisk": {"diskURI": "disk", "kind": "Managed"}}, "disk.csi.azure.com", id="Azure"),
        pytest.param({"cinder": {"volumeID": "disk"}}, "cinder.csi.openstack.org", id="OpenStack"),
    ],
)
def test_disks_in_the_pod_count_for_the_driver_in_their_place(source: dict[str, Any], driver: str) -> None:
    pod = make_pod(volumes=[{"name": "disk", **source}])
    assert said(decide(pod, make_cluster([make_node()], (), make_csi_node(limits={driver: 0}))), PLUGIN) == FULL
    assert said(decide(pod, make_cluster([make_node()], (), make_csi_node(limits={driver: 1}))), PLUGIN) == Status()


def test_an_in_tree_volume_is_the_same_as_its_csi_volume() -> None:
    claim, volume = disk("a", EBS)
    objects = [make_csi_node(limits={EBS: 1}), claim, volume]
    cluster = make_cluster([make_node()], [user("p", "a")], *objects)
    same = make_pod(volumes=[{"name": "disk", "awsElasticBlockStore": {"volumeID": "a"}}])
    other = make_pod(volumes=[{"name": "disk", "awsElasticBlockStore": {"volumeID": "b"}}])
    assert said(decide(same, cluster), PLUGIN) == Status()
    assert said(decide(other, cluster), PLUGIN) == FULL


@pytest.mark.parametrize(
    ("version", "migrated", "expected"),
    [
        pytest.param("1.36", "", FULL, id="1.36: always"),
        pytest.param("1.35", "", Status(), id="1.35: not without the annotation"),
        pytest.param("1.35", "kubernetes.io/portworx-volume", FULL, id="1.35: with the annotation"),
        pytest.param("1.34", "kubernetes.io/aws-ebs", Status(), id="1.34: not with that of others"),
    ],
)
def test_portworx_volumes(version: str, migrated: str, expected: Status) -> None:
    csi_node = make_csi_node(limits={PORTWORX: 0}, migrated=migrated)
    pod = make_pod(volumes=[{"name": "disk", "portworxVolume": {"volumeID": "v"}}])
    decision = decide(pod, make_cluster([make_node()], (), csi_node), release=RELEASES[version])
    assert said(decision, PLUGIN) == expected


def test_ephemeral_volumes_count_by_the_pod_they_belong_to() -> None:
    template = {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}
    volumes = [{"name": "scratch", "ephemeral": template}]
    pods = [make_pod(name, node="node", volumes=volumes) for name in ("p", "q")]
    claims = [make_claim(f"{name}-scratch", owner=name) for name in ("p", "q")]
    cluster = make_cluster([make_node()], pods, LIMITED, make_storage_class(), *claims, *ABC)
    assert said(decide(make_pod(volumes=mount("a")), cluster), PLUGIN) == FULL


@pytest.mark.parametrize(
    ("pods", "pod", "expected"),
    [
        pytest.param(
            [],
            make_pod(volumes=mount("gone")),
            Status(
                Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
                ('looking up PVC default/gone: persistentvolumeclaim "gone" not found',),
            ),
            id="no claim",
        ),
        pytest.param(
            [],
            make_pod(volumes=[{"name": "disk", "azureDisk": {"diskURI": "disk"}}]),
            Status(
                Code.ERROR,
                ("converting volume(disk) from inline to csi: kind(Shared) is not supported in csi migration",),
            ),
            id="a disk without an equivalent",
        ),
        pytest.param(
            [make_pod("p", node="node", volumes=[{"name": "a", "ephemeral": {}}])],
            make_pod(volumes=mount("a")),
            Status(Code.ERROR, ("PVC default/p-a was not created for pod default/p (pod is not owner)",)),
            id="a pod on the node with another's claim",
        ),
    ],
)
def test_what_cannot_be_counted(pods: list[Any], pod: Any, expected: Status) -> None:
    off = [{"name": name} for name in ("VolumeBinding", "VolumeZone", "VolumeRestrictions")]
    config = make_profile(plugins={"multiPoint": {"disabled": off}})
    csi_node = make_csi_node(limits={DRIVER: 2, "disk.csi.azure.com": 2})
    cluster = make_cluster([make_node()], pods, csi_node, make_claim("p-a", owner="else"), *ABC)
    assert said(decide(pod, cluster, config=config), PLUGIN) == expected


def test_skipped_without_volumes_that_a_driver_attaches() -> None:
    pod = make_pod(volumes=[{"name": "config", "configMap": {"name": "c"}}])
    assert PLUGIN in decide(pod, make_cluster([make_node()], (), LIMITED)).state.skip_filter_plugins


@pytest.mark.parametrize(
    ("operands", "words", "data"),
    [
        pytest.param(
            TooManyVolumes(DRIVER, added=2, attached=24, limit=25),
            f"{DRIVER}: adds 2 to 24 attached, the node's limit is 25",
            {"driver": DRIVER, "added": 2, "attached": 24, "limit": 25},
            id="one too many",
        ),
        pytest.param(
            DriverNotInstalled(DRIVER), f"the node's CSINode does not list {DRIVER}", {"driver": DRIVER}, id="no driver"
        ),
    ],
)
def test_operands(operands: Operands, words: str, data: dict[str, Any]) -> None:
    assert told(operands) == (words, data)
