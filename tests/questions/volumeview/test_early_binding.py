"""Nodes in zones a, b and c; the claim is default/data."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.objects.meta import ApiObject
from kschedctl.objects.volume import CSINode, PersistentVolumeClaim
from kschedctl.questions.volumeview.early_binding import Trap, find_trap
from kschedctl.scheduler.volumes.binder import Binder
from kschedctl.scheduler.volumes.claims import storage_class_of
from kschedctl.trials.persistent_volumes import sync_claim
from tests.builders import ZONE, make_claim, make_cluster, make_node, make_object, make_storage_class, make_volume

NODES = [make_node(zone, zone=zone) for zone in "abc"]
NOW = make_storage_class("now", waits=False)
LATE = make_storage_class("late")
IN_B = make_volume(claim="default/data", affinity={ZONE: ["b"]})


def find(claim: PersistentVolumeClaim, *objects: ApiObject, nodes: Any = NODES) -> Trap | None:
    cluster = make_cluster(nodes, (), claim, *objects)
    (stored,) = cluster.list(PersistentVolumeClaim)
    return find_trap(Binder(cluster), sync_claim(cluster, stored), storage_class_of(cluster, stored))


ZONAL = make_object(CSINode, "a", spec={"drivers": [{"name": "csi.example.com", "topologyKeys": [ZONE]}]})


@pytest.mark.parametrize(
    ("claim", "objects", "expected"),
    [
        pytest.param(
            make_claim(storage_class="now", bound="pv"),
            [NOW, IN_B],
            Trap("now", ("b",), ("a", "c")),
            id="bound at once, in one of three zones",
        ),
        pytest.param(
            make_claim(storage_class="now", bound="pv"),
            [NOW, make_volume(claim="default/data", labels={ZONE: "b__c"})],
            Trap("now", ("b", "c"), ("a",)),
            id="the zone is in the volume's label",
        ),
        pytest.param(
            make_claim(storage_class="now"),
            [NOW, make_volume(storage_class="now", affinity={ZONE: ["c"]})],
            Trap("now", ("c",), ("a", "b")),
            id="about to be bound",
        ),
        pytest.param(
            make_claim(storage_class="now"),
            [NOW, ZONAL],
            Trap("now", (), ("a", "b", "c")),
            id="about to be provisioned",
        ),
        pytest.param(make_claim(storage_class="now"), [NOW], None, id="by a driver without topology"),
        pytest.param(make_claim(bound="pv"), [LATE, IN_B], None, id="the class waits"),
        pytest.param(
            make_claim(storage_class="now", bound="pv"),
            [NOW, make_volume(claim="default/data")],
            None,
            id="the volume can be used everywhere",
        ),
        pytest.param(make_claim(storage_class="gone", bound="pv"), [IN_B], None, id="the class does not exist"),
    ],
)
def test_the_trap(claim: PersistentVolumeClaim, objects: list[ApiObject], expected: Trap | None) -> None:
    assert find(claim, *objects) == expected


def test_no_trap_in_a_cluster_of_one_zone() -> None:
    objects = [NOW, make_volume(claim="default/data", affinity={ZONE: ["a"]})]
    claim = make_claim(storage_class="now", bound="pv")
    assert find(claim, *objects, nodes=[make_node("x", zone="a"), make_node("y")]) is None
