import pytest

from kschedctl.cluster.default_storage_class import has_class
from kschedctl.common.errors import SnapshotError
from kschedctl.objects.quantity import NANO
from kschedctl.objects.volume import PersistentVolumeClaim
from kschedctl.scheduler.volumes.claims import (
    claim_class,
    claim_uses,
    group_claims,
    is_bound_to,
    not_owned,
    requested_storage,
    storage_capacity,
    volume_class,
)
from tests.builders import make_claim, make_cluster, make_pod, make_storage_class, make_volume, mount

BETA = "volume.beta.kubernetes.io/storage-class"
GIB = 2**30 * NANO


@pytest.mark.parametrize(
    ("claim", "expected", "says"),
    [
        pytest.param(make_claim(storage_class="gp3"), "gp3", True, id="a class"),
        pytest.param(make_claim(storage_class=""), "", True, id="no class, on purpose"),
        pytest.param(make_claim(storage_class=None), "", False, id="says nothing"),
        pytest.param(
            make_claim(storage_class="gp3", annotations={BETA: "old"}), "old", True, id="the annotation first"
        ),
        pytest.param(
            make_claim(storage_class="gp3", annotations={BETA: ""}), "", True, id="an empty annotation counts"
        ),
    ],
)
def test_class_of_a_claim(claim: PersistentVolumeClaim, expected: str, says: bool) -> None:
    assert (claim_class(claim), has_class(claim)) == (expected, says)


def test_class_of_a_volume() -> None:
    assert volume_class(make_volume(storage_class="gp3")) == "gp3"
    assert volume_class(make_volume(storage_class="gp3", annotations={BETA: "old"})) == "old"


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        pytest.param(None, False, id="a free volume"),
        pytest.param({"namespace": "default", "name": "data"}, True, id="by name"),
        pytest.param({"namespace": "default", "name": "data", "uid": "uid-default-data"}, True, id="by name and uid"),
        pytest.param({"namespace": "default", "name": "data", "uid": "older"}, False, id="an older claim of that name"),
        pytest.param({"namespace": "else", "name": "data"}, False, id="another namespace"),
    ],
)
def test_volumes_that_name_a_claim(reference: dict[str, str] | None, expected: bool) -> None:
    assert is_bound_to(make_volume(claimRef=reference), make_claim()) is expected


def test_an_ephemeral_volumes_claim_belongs_to_one_pod() -> None:
    assert not_owned(make_claim("web-0-scratch", owner="web-0"), make_pod("web-0")) == ""
    text = "PVC default/web-0-scratch was not created for pod default/web-0 (pod is not owner)"
    assert not_owned(make_claim("web-0-scratch"), make_pod("web-0")) == text


def test_sizes() -> None:
    assert requested_storage(make_claim(size="2Gi")) == 2 * GIB
    assert requested_storage(make_claim(resources={})) is None
    assert storage_capacity(make_volume(size="3Gi")) == 3 * GIB
    assert storage_capacity(make_volume(capacity={})) == 0


def test_sizes_that_are_no_quantities() -> None:
    with pytest.raises(SnapshotError) as error:
        requested_storage(make_claim(size="much"))
    text = 'PersistentVolumeClaim default/data: spec.resources.requests.storage: "much" is not a quantity'
    assert str(error.value) == text
    with pytest.raises(SnapshotError) as error:
        storage_capacity(make_volume(size="much"))
    assert str(error.value) == 'PersistentVolume pv: spec.capacity.storage: "much" is not a quantity'


def test_claims_of_a_pod_in_the_order_of_its_volumes() -> None:
    volumes = [
        *mount("data"),
        {"name": "scratch", "ephemeral": {}},
        {"name": "config", "configMap": {}},
        *mount("data"),
    ]
    uses = list(claim_uses(make_pod("web-0", volumes=volumes)))
    assert [(use.claim, use.ephemeral) for use in uses] == [("data", False), ("web-0-scratch", True), ("data", False)]


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        pytest.param(make_claim(bound="pv"), "bound", id="bound for good"),
        pytest.param(make_claim(volumeName="pv"), "immediate", id="names its volume, not bound for good yet"),
        pytest.param(make_claim(), "delayed", id="the class waits"),
        pytest.param(make_claim(storage_class="now"), "immediate", id="the class does not wait"),
        pytest.param(make_claim(storage_class="gone"), "immediate", id="the class does not exist"),
        pytest.param(make_claim(storage_class=""), "immediate", id="no class"),
    ],
)
def test_groups(claim: PersistentVolumeClaim, expected: str) -> None:
    cluster = make_cluster((), (), make_storage_class(), make_storage_class("now", waits=False))
    groups = group_claims(cluster, [claim])
    assert getattr(groups, expected) == (claim,)
