from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.common.errors import SnapshotError
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.volume import CSIDriver, CSIStorageCapacity, PersistentVolumeClaim
from kschedctl.scheduler.volumes.binder import Binder, FoundVolumes
from kschedctl.scheduler.volumes.claims import SELECTED_NODE, group_claims
from kschedctl.scheduler.volumes.matching import volume_limit
from tests.builders import (
    HOSTNAME,
    ZONE,
    make_claim,
    make_cluster,
    make_csi_node,
    make_node,
    make_object,
    make_storage_class,
    make_volume,
)
from tests.reference import volume_binding

NODES = [make_node("a1", zone="a"), make_node("a2", zone="a"), make_node("b1", zone="b")]


def find(claims: list[PersistentVolumeClaim], *objects: ApiObject) -> FoundVolumes:
    cluster = make_cluster(NODES, (), *claims, *objects)
    stored = [cluster.get(PersistentVolumeClaim, claim.name, claim.namespace) for claim in claims]
    return Binder(cluster).find_pod_volumes(group_claims(cluster, [claim for claim in stored if claim is not None]))


def taken(found: FoundVolumes) -> dict[str, list[str]]:
    """Per claim the volume it takes on each node, ``-`` for none."""
    return {
        match.claim.name: ["-" if i < 0 else match.candidates[i].name for i in match.choice] for match in found.matches
    }


LOCAL = make_storage_class("late", provisioner="kubernetes.io/no-provisioner")


def test_the_smallest_volume_that_fits_is_taken_where_it_can_be_reached() -> None:
    found = find(
        [make_claim(size="3Gi")],
        LOCAL,
        make_volume("large", size="10Gi"),
        make_volume("small", size="2Gi"),
        make_volume("near-a", size="5Gi", affinity={ZONE: ["a"]}),
    )
    assert taken(found) == {"data": ["near-a", "near-a", "large"]}
    assert not found.bind_conflict.any()


def test_no_volume_is_taken_twice_and_the_smallest_claim_goes_first() -> None:
    claims = [make_claim("big", size="4Gi"), make_claim("small", size="1Gi")]
    found = find(claims, LOCAL, make_volume("only", size="5Gi"), make_volume("b", size="9Gi", affinity={ZONE: ["b"]}))
    assert taken(found) == {"small": ["only", "only", "only"], "big": ["-", "-", "b"]}
    assert found.bind_conflict.tolist() == [True, True, False]


def test_a_volume_that_names_the_claim_is_the_only_one_for_it() -> None:
    reserved = make_volume("reserved", size="9Gi", claim="default/data", phase="Pending", affinity={ZONE: ["a"]})
    found = find([make_claim()], LOCAL, reserved, make_volume("small", size="1Gi"))
    assert taken(found) == {"data": ["reserved", "reserved", "-"]}


def test_a_claim_that_is_mounted_twice_takes_two_volumes() -> None:
    claim = make_claim()
    found = find([claim, claim], LOCAL, make_volume("one"), make_volume("two", size="2Gi"))
    assert [match.candidates[match.choice[0]].name for match in found.matches] == ["one", "two"]


def test_bound_claims_stop_at_the_first_that_fails() -> None:
    claims = [make_claim("near", bound="pv"), make_claim("lost", bound="gone")]
    found = find(claims, make_volume("pv", affinity={ZONE: ["a"]}))
    assert found.node_conflict.tolist() == [False, False, True]
    assert found.missing_volume.tolist() == [True, True, False]


def test_fields_in_a_volumes_affinity_are_not_compared() -> None:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["elsewhere"]}]}]
    volume = make_volume("pv", nodeAffinity={"required": {"nodeSelectorTerms": terms}})
    assert not find([make_claim(bound="pv")], volume).node_conflict.any()


@pytest.mark.parametrize(
    ("migrated", "expected"),
    [
        pytest.param("", [True, True, True], id="not migrated: the node has no such label"),
        pytest.param("kubernetes.io/gce-pd", [False, True, True], id="migrated: the driver's label counts"),
    ],
)
def test_zones_of_in_tree_volumes_are_translated_where_their_plugin_is_migrated(
    migrated: str, expected: list[bool]
) -> None:
    nodes = [make_node("n1", labels={"topology.gke.io/zone": "x"}), make_node("n2"), make_node("n3")]
    volume = make_volume("pv", source={"gcePersistentDisk": {"pdName": "d"}}, affinity={ZONE: ["x"]})
    cluster = make_cluster(nodes, (), make_csi_node("n1", limits={}, migrated=migrated), volume)
    found = Binder(cluster).find_pod_volumes(group_claims(cluster, [make_claim(bound="pv")]))
    assert found.node_conflict.tolist() == expected


CSI = "csi.example.com"


def capacity(name: str, limit: str, zone: str, **fields: Any) -> CSIStorageCapacity:
    topology = {"matchLabels": {ZONE: zone}}
    return make_object(
        CSIStorageCapacity,
        name,
        namespace="csi",
        storageClassName="late",
        capacity=limit,
        nodeTopology=topology,
        **fields,
    )


TRACKED = make_object(CSIDriver, CSI, spec={"storageCapacity": True})
TOPOLOGY = [{"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}]


@pytest.mark.parametrize(
    ("objects", "conflict", "no_space"),
    [
        pytest.param([make_storage_class()], "", "", id="anywhere"),
        pytest.param([LOCAL], "a1 a2 b1", "", id="a class that does not provision"),
        pytest.param([make_storage_class(allowedTopologies=TOPOLOGY)], "a1 a2", "", id="allowed topologies"),
        pytest.param([make_storage_class(allowedTopologies=[{}])], "a1 a2 b1", "", id="an empty term allows nothing"),
        pytest.param([make_storage_class(), TRACKED], "", "a1 a2 b1", id="nothing known of capacity"),
        pytest.param([make_storage_class(), TRACKED, capacity("c", "5Gi", "a")], "", "b1", id="capacity in one zone"),
        pytest.param([make_storage_class(), TRACKED, capacity("c", "1Gi", "a")], "", "a1 a2 b1", id="too little"),
        pytest.param(
            [make_storage_class(), TRACKED, capacity("c", "50Gi", "a", maximumVolumeSize="1Gi")],
            "",
            "a1 a2 b1",
            id="the largest volume counts more than the sum",
        ),
        pytest.param([make_storage_class(), capacity("c", "1Gi", "a")], "", "", id="a driver that does not keep count"),
    ],
)
def test_provisioning(objects: list[ApiObject], conflict: str, no_space: str) -> None:
    found = find([make_claim(size="3Gi")], *objects)
    names = [node.name for node in NODES]
    assert " ".join(n for n, mask in zip(names, found.bind_conflict, strict=True) if mask) == conflict
    assert " ".join(n for n, mask in zip(names, found.not_enough_space, strict=True) if mask) == no_space


def test_a_claim_that_is_being_provisioned_for_a_node_stays_there() -> None:
    found = find([make_claim(annotations={SELECTED_NODE: "a2"})], make_storage_class(), make_volume("free"))
    assert found.bind_conflict.tolist() == [True, False, True]
    assert taken(found) == {}


def test_ascending_volumes_serve_many_nodes_at_once() -> None:
    nodes = [make_node(f"n{i}") for i in range(50)]
    volumes = [make_volume(f"pv-{i}", size=f"{50 - i}Gi", affinity={HOSTNAME: [f"n{i}"]}) for i in range(50)]
    cluster = make_cluster(nodes, (), LOCAL, make_claim(size="10Gi"), *volumes)
    found = Binder(cluster).find_pod_volumes(group_claims(cluster, cluster.list(PersistentVolumeClaim)))
    assert taken(found)["data"] == [f"pv-{i}" if i <= 40 else "-" for i in range(50)]


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[PersistentVolumeClaim], list[ApiObject]]:
    zones = st.sampled_from([None, ["a"], ["b"], ["a", "b"]])
    modes = st.sampled_from([["ReadWriteOnce"], ["ReadWriteMany"], ["ReadWriteOnce", "ReadWriteMany"]])
    late = draw(st.sampled_from([LOCAL, make_storage_class(), make_storage_class(allowedTopologies=TOPOLOGY)]))
    sizes = draw(st.permutations(range(1, 12)))
    claims: list[PersistentVolumeClaim] = []
    volumes = []
    for i in range(draw(st.integers(1, 3))):
        annotations = (
            {SELECTED_NODE: draw(st.sampled_from(["a1", "b1", "gone"]))} if draw(st.integers(0, 9)) == 0 else {}
        )
        bound = f"pv-bound-{i}" if draw(st.integers(0, 3)) == 0 else ""
        selector = draw(st.sampled_from([None, None, {"matchLabels": {"tier": "x"}}]))
        claims.append(
            make_claim(
                f"c{i}",
                size=f"{draw(st.integers(1, 8))}Gi",
                modes=draw(modes),
                bound=bound,
                annotations=annotations,
                selector=selector,
            )
        )
        if bound and draw(st.integers(0, 4)):
            zone = draw(zones)
            volumes.append(make_volume(bound, claim=f"default/c{i}", affinity=None if zone is None else {ZONE: zone}))
    for i in range(draw(st.integers(0, 6))):
        zone = draw(zones)
        volumes.append(
            make_volume(
                f"pv{i}",
                size=f"{sizes[i]}Gi",
                modes=draw(modes),
                storage_class=draw(st.sampled_from(["late", "late", "late", "other"])),
                claim="default/c0" if i == 0 and draw(st.booleans()) else "",
                phase=draw(st.sampled_from(["Available", "Available", "Available", "Released"])),
                affinity=None if zone is None else {ZONE: zone},
                labels=draw(st.sampled_from([{}, {"tier": "x"}])),
                deleting=draw(st.integers(0, 9)) == 0,
            )
        )
    objects: list[ApiObject] = [late, *volumes]
    if draw(st.booleans()):
        objects += [TRACKED, capacity("x", draw(st.sampled_from(["1Gi", "6Gi"])), draw(st.sampled_from(["a", "b"])))]
    return claims, objects


@given(clusters())
def test_equals_the_search_node_by_node(case: tuple[list[PersistentVolumeClaim], list[ApiObject]]) -> None:
    claims, objects = case
    cluster = make_cluster(NODES, (), *claims, *objects)
    stored = list(cluster.list(PersistentVolumeClaim))
    found = Binder(cluster).find_pod_volumes(group_claims(cluster, stored))
    for row, node in enumerate(cluster.nodes.objects):
        problems, choice = volume_binding.find_pod_volumes(cluster, stored, node)
        masks = {
            "node": found.node_conflict,
            "bind": found.bind_conflict,
            "space": found.not_enough_space,
            "missing": found.missing_volume,
        }
        assert {name for name, mask in masks.items() if mask[row]} == problems
        if not found.selected_elsewhere[row]:
            assert {claim: names[row] for claim, names in taken(found).items() if names[row] != "-"} == choice


def csi_capacity(**fields: Any) -> CSIStorageCapacity:
    return make_object(CSIStorageCapacity, "c", namespace="csi", **fields)


def test_the_largest_volume() -> None:
    assert volume_limit(csi_capacity()) is None
    assert volume_limit(csi_capacity(capacity="1Ki")) == 1024 * 10**9
    assert volume_limit(csi_capacity(capacity="1Ki", maximumVolumeSize="1")) == 10**9


def test_a_capacity_that_is_no_quantity() -> None:
    with pytest.raises(SnapshotError) as error:
        volume_limit(csi_capacity(maximumVolumeSize="much"))
    assert str(error.value) == 'CSIStorageCapacity csi/c: maximumVolumeSize: "much" is not a quantity'
