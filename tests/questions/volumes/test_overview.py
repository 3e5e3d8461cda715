from typing import Any

import pytest

from kschedctl.objects.meta import ApiObject
from kschedctl.objects.volume import CSINode, PersistentVolumeClaim
from kschedctl.questions.volumes.answer import ClaimVerdict
from kschedctl.questions.volumes.overview import ClaimOverview, PodOverview, VolumeOverview, find_trap
from kschedctl.scheduler.volumes.binder import Binder
from kschedctl.scheduler.volumes.claims import storage_class_of
from kschedctl.trials.claim_action import ClaimAction
from kschedctl.trials.persistent_volumes import sync_claim
from tests.builders import (
    ZONE,
    make_claim,
    make_cluster,
    make_node,
    make_object,
    make_pod,
    make_storage_class,
    make_volume,
    mount,
)

NODES = [make_node(zone, zone=zone) for zone in "abc"]
NOW = make_storage_class("now", waits=False)
LATE = make_storage_class("late")


def in_zone(zone: str, name: str = "pv", claim: str = "data", **fields: Any) -> ApiObject:
    return make_volume(name, claim=f"default/{claim}", affinity={ZONE: [zone]}, **fields)


def look_at_claim(claim: PersistentVolumeClaim, *objects: ApiObject) -> ClaimOverview:
    return VolumeOverview(make_cluster(NODES, (), claim, *objects)).claims()[0]


def look_at_pod(pod: Any, *objects: ApiObject) -> PodOverview:
    return VolumeOverview(make_cluster(NODES, (), *objects)).pod(pod)


def test_a_bound_claim_ties_its_pods_to_its_zone() -> None:
    user = make_pod("web", node="b", volumes=mount("data"))
    found = look_at_claim(make_claim(bound="pv"), in_zone("b"), LATE, user)
    assert found.outcome.action is ClaimAction.KEEP
    assert found.volume is not None
    assert found.volume.name == "pv"
    assert found.storage_class is not None
    assert found.storage_class.name == "late"
    assert found.zones == ("b",)
    assert found.pods == ("default/web",)


def test_a_claim_that_waits_leaves_all_zones_open() -> None:
    found = look_at_claim(make_claim(), LATE)
    assert (found.zones, found.trap) == ((), None)


def test_one_claim_on_every_node() -> None:
    objects = [make_claim(bound="pv"), in_zone("b"), make_claim("open"), LATE]
    overview = VolumeOverview(make_cluster(NODES, (), *objects))
    bound, open_ = (overview.on_nodes(found.claim) for found in overview.claims())
    assert [(node.name, node.usable) for node in bound] == [("a", False), ("b", True), ("c", False)]
    assert [node.claims[0].verdict for node in open_] == [ClaimVerdict.PROVISIONED] * 3


def test_claims_in_two_zones_leave_no_node() -> None:
    objects = [
        make_claim("one", bound="pv-1"),
        in_zone("a", "pv-1", "one"),
        make_claim("two", bound="pv-2"),
        in_zone("b", "pv-2", "two"),
    ]
    found = look_at_pod(make_pod(volumes=mount("one", "two")), *objects)
    assert found.conflict
    assert found.zones == ()
    assert [claim.zones for claim in found.claims] == [("a",), ("b",)]
    assert [[claim.verdict for claim in node.claims] for node in found.nodes] == [
        [ClaimVerdict.BOUND, ClaimVerdict.UNREACHABLE],
        [ClaimVerdict.UNREACHABLE, ClaimVerdict.BOUND],
        [ClaimVerdict.UNREACHABLE, ClaimVerdict.UNREACHABLE],
    ]


def test_claims_of_a_pod_do_not_take_the_same_volume() -> None:
    objects = [
        make_claim("one"),
        make_claim("two"),
        make_storage_class(provisioner="kubernetes.io/no-provisioner"),
        make_volume("pv-1"),
        make_volume("pv-2", size="2Gi", affinity={ZONE: ["a"]}),
    ]
    found = look_at_pod(make_pod(volumes=mount("one", "two")), *objects)
    assert [[(claim.verdict, claim.volume) for claim in node.claims] for node in found.nodes[:2]] == [
        [(ClaimVerdict.TAKES, "pv-1"), (ClaimVerdict.TAKES, "pv-2")],
        [(ClaimVerdict.TAKES, "pv-1"), (ClaimVerdict.NONE, "")],
    ]


@pytest.mark.parametrize(
    ("objects", "verdict", "detail"),
    [
        pytest.param(
            [make_claim(bound="pv")],
            ClaimVerdict.MISSING,
            "claim data is bound to volume pv, which does not exist",
            id="missing",
        ),
        pytest.param(
            [make_claim(bound="pv"), make_volume(claim="default/data", labels={ZONE: "b"})],
            ClaimVerdict.OTHER_ZONE,
            "",
            id="another zone by its label",
        ),
        pytest.param(
            [make_claim(annotations={"volume.kubernetes.io/selected-node": "b"}), LATE],
            ClaimVerdict.ELSEWHERE,
            "being provisioned for node b",
            id="another node selected",
        ),
        pytest.param(
            [make_claim(storage_class="now"), NOW],
            ClaimVerdict.IMMEDIATE,
            "the PersistentVolume controller must bind it first",
            id="not the scheduler's",
        ),
    ],
)
def test_verdicts(objects: list[ApiObject], verdict: ClaimVerdict, detail: str) -> None:
    node = look_at_pod(make_pod(volumes=mount("data")), *objects).nodes[0]
    assert not node.usable
    assert (node.claims[0].verdict, node.claims[0].detail) == (verdict, detail)


def test_a_missing_claim_is_told_in_the_schedulers_words() -> None:
    found = look_at_pod(make_pod(volumes=mount("data")))
    assert found.problem == 'persistentvolumeclaim "data" not found'
    assert (found.claims, found.conflict) == ((), False)


def test_node_selector_and_claim_in_different_zones() -> None:
    objects = [make_claim(bound="pv"), in_zone("b")]
    found = look_at_pod(make_pod(volumes=mount("data"), nodeSelector={ZONE: "a"}), *objects)
    assert (found.selected_zones, found.zones, found.conflict) == (("a",), ("b",), True)


IN_B = make_volume(claim="default/data", affinity={ZONE: ["b"]})


def find(
    claim: PersistentVolumeClaim, *objects: ApiObject, nodes: Any = NODES
) -> tuple[str, tuple[str, ...], tuple[str, ...]] | None:
    cluster = make_cluster(nodes, (), claim, *objects)
    (stored,) = cluster.list(PersistentVolumeClaim)
    found = find_trap(Binder(cluster), sync_claim(cluster, stored), storage_class_of(cluster, stored))
    return (found.storage_class, found.zones, found.other_zones) if found is not None else None


ZONAL = make_object(CSINode, "a", spec={"drivers": [{"name": "csi.example.com", "topologyKeys": [ZONE]}]})


@pytest.mark.parametrize(
    ("claim", "objects", "expected"),
    [
        pytest.param(
            make_claim(storage_class="now", bound="pv"),
            [NOW, IN_B],
            ("now", ("b",), ("a", "c")),
            id="bound at once, in one of three zones",
        ),
        pytest.param(
            make_claim(storage_class="now", bound="pv"),
            [NOW, make_volume(claim="default/data", labels={ZONE: "b__c"})],
            ("now", ("b", "c"), ("a",)),
            id="the zone is in the volume's label",
        ),
        pytest.param(
            make_claim(storage_class="now"),
            [NOW, make_volume(storage_class="now", affinity={ZONE: ["c"]})],
            ("now", ("c",), ("a", "b")),
            id="about to be bound",
        ),
        pytest.param(
            make_claim(storage_class="now"), [NOW, ZONAL], ("now", (), ("a", "b", "c")), id="about to be provisioned"
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
def test_the_trap(claim: PersistentVolumeClaim, objects: list[ApiObject], expected: object) -> None:
    assert find(claim, *objects) == expected


def test_no_trap_in_a_cluster_of_one_zone() -> None:
    objects = [NOW, make_volume(claim="default/data", affinity={ZONE: ["a"]})]
    claim = make_claim(storage_class="now", bound="pv")
    assert find(claim, *objects, nodes=[make_node("x", zone="a"), make_node("y")]) is None
