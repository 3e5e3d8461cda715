from typing import Any

import pytest

from kschedctl.objects.selectors import NodeSelector
from kschedctl.objects.volume import Volume
from kschedctl.objects.well_known import BETA_REGION, BETA_ZONE, REGION, ZONE
from kschedctl.scheduler.volumes.csi_nodes import (
    MigrationError,
    in_tree_plugin,
    inline_handle,
    migrated_affinity,
    volume_handle,
)
from tests.builders import make_pod, make_volume

GCE = {"gcePersistentDisk": {"pdName": "disk"}}
GKE_ZONE = "topology.gke.io/zone"


def volume_with(source: dict[str, Any]) -> Volume:
    return make_pod(volumes=[{"name": "v", **source}]).spec.volumes[0]


def ebs(volume_id: str) -> dict[str, Any]:
    return {"awsElasticBlockStore": {"volumeID": volume_id}}


@pytest.mark.parametrize(
    ("source", "handle"),
    [
        pytest.param(ebs("vol-1"), "vol-1", id="an AWS identifier"),
        pytest.param(ebs("aws://us-east-1a/vol-1"), "vol-1", id="an AWS URL with its zone"),
        pytest.param(ebs("aws:///vol-1"), "vol-1", id="an AWS URL without a zone"),
        pytest.param(GCE, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk", id="a GCE disk"),
        pytest.param({"azureDisk": {"diskURI": "uri", "kind": "Managed"}}, "uri", id="an Azure disk"),
        pytest.param({"cinder": {"volumeID": "c"}}, "c", id="a Cinder volume"),
        pytest.param({"portworxVolume": {"volumeID": "p"}}, "p", id="a Portworx volume"),
    ],
)
def test_handles_of_disks_in_pods(source: dict[str, Any], handle: str) -> None:
    assert inline_handle(volume_with(source)) == handle


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        pytest.param(ebs("aws://zone/disk"), "Invalid format for AWS volume (aws://zone/disk)", id="not a volume"),
        pytest.param(ebs("aws://zone/vol-1/x"), "Invalid format for AWS volume", id="more than a volume"),
        pytest.param({"azureDisk": {"diskURI": "uri"}}, "kind(Shared) is not supported", id="shared is the default"),
    ],
)
def test_disks_without_an_equivalent(source: dict[str, Any], problem: str) -> None:
    with pytest.raises(MigrationError) as error:
        inline_handle(volume_with(source))
    assert problem in str(error.value)


@pytest.mark.parametrize(
    ("labels", "place"),
    [
        pytest.param({}, "zones/UNSPECIFIED", id="nowhere"),
        pytest.param({ZONE: "us-east1-b"}, "zones/us-east1-b", id="a zone"),
        pytest.param({BETA_ZONE: "us-east1-c", ZONE: "us-east1-b"}, "zones/us-east1-c", id="the beta label goes first"),
        pytest.param({ZONE: "us-east1-b__us-east1-c"}, "regions/us-east1", id="several zones are a region"),
    ],
)
def test_handles_of_gce_volumes(labels: dict[str, str], place: str) -> None:
    assert volume_handle(make_volume(source=GCE, labels=labels)) == f"projects/UNSPECIFIED/{place}/disks/disk"


@pytest.mark.parametrize(
    ("label", "problem"),
    [
        pytest.param("a__b", "zone in unexpected format, expected: {locale}-{region}-{zone}, got: a", id="no region"),
        pytest.param(
            "us-east1-b__us-west1-b",
            "multiple or no regions gotten from zones, got: map[us-east1:{} us-west1:{}]",
            id="two regions",
        ),
    ],
)
def test_gce_volumes_of_no_region(label: str, problem: str) -> None:
    with pytest.raises(MigrationError) as error:
        volume_handle(make_volume(source=GCE, labels={ZONE: label}))
    assert str(error.value) == f"failed to get region from zones: {problem}"


@pytest.mark.parametrize(
    ("affinity", "labels", "expected"),
    [
        pytest.param(None, {}, None, id="neither affinity nor labels"),
        pytest.param({ZONE: ["z"]}, {}, [{GKE_ZONE: ("z",)}], id="the zone becomes the driver's"),
        pytest.param({BETA_ZONE: ["z"]}, {}, [{GKE_ZONE: ("z",)}], id="the beta zone too"),
        pytest.param(None, {ZONE: "z"}, [{GKE_ZONE: ("z",)}], id="the zone of the label"),
        pytest.param(
            {"disk": ["ssd"]},
            {ZONE: "us-a-b"},
            [{"disk": ("ssd",), GKE_ZONE: ("us-a-b",)}],
            id="the label adds to others",
        ),
        pytest.param({ZONE: ["z"]}, {ZONE: "y"}, [{GKE_ZONE: ("z",)}], id="the affinity goes before the label"),
        pytest.param(
            {BETA_ZONE: ["z"], BETA_REGION: ["r"]}, {}, [{GKE_ZONE: ("z",), REGION: ("r",)}], id="the beta region"
        ),
        pytest.param({ZONE: ["z"], REGION: ["r"]}, {}, [{GKE_ZONE: ("z",), REGION: ("r",)}], id="the region stays"),
    ],
)
def test_affinity(
    affinity: dict[str, list[str]] | None, labels: dict[str, str], expected: list[dict[str, tuple[str, ...]]] | None
) -> None:
    volume = make_volume(source=GCE, affinity=affinity, labels=labels)
    plugin = in_tree_plugin(volume.spec)
    assert plugin is not None
    found = migrated_affinity(volume, plugin)
    terms = (
        None if found is None else [{e.key: e.values for e in t.match_expressions} for t in found.node_selector_terms]
    )
    assert terms == expected


def test_azure_zones_are_not_translated() -> None:
    volume = make_volume(source={"azureDisk": {"diskURI": "u", "kind": "Managed"}}, affinity={ZONE: ["z"]})
    plugin = in_tree_plugin(volume.spec)
    assert plugin is not None
    assert isinstance(migrated_affinity(volume, plugin), NodeSelector)
    assert volume.spec.node_affinity is not None
    assert migrated_affinity(volume, plugin) == volume.spec.node_affinity.required


def test_csi_volumes_have_no_in_tree_plugin() -> None:
    assert in_tree_plugin(make_volume().spec) is None
