"""Storage scoring; by default an empty store scores 100, a full one 0: 100 - 100 * requested // capacity."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.objects.meta import ApiObject
from kschedctl.objects.releases.release import RELEASES
from kschedctl.objects.volume import CSIDriver, CSIStorageCapacity, PersistentVolumeClaim
from kschedctl.scheduler.plugins.node_resources.scoring import requested_to_capacity_ratio
from kschedctl.scheduler.plugins.volume_binding.scoring import storage_capacity_scores
from kschedctl.scheduler.volumes.binder import Binder
from kschedctl.scheduler.volumes.claims import group_claims
from tests.builders import (
    ZONE,
    decide,
    make_args,
    make_claim,
    make_cluster,
    make_node,
    make_object,
    make_pod,
    make_profile,
    make_storage_class,
    make_volume,
    mount,
    raw_scores,
)
from tests.reference import volume_binding

PLUGIN = "VolumeBinding"
NODES = [make_node("a", zone="a"), make_node("b", zone="b")]
CLASSES = [make_storage_class("late"), make_storage_class("fast", provisioner="fast.example.com")]
LOCAL = make_storage_class("local", provisioner="kubernetes.io/no-provisioner")
TELLS = [
    make_object(CSIDriver, name, spec={"storageCapacity": True}) for name in ("csi.example.com", "fast.example.com")
]


def room(name: str, zone: str, free: str, *, storage_class: str = "late", largest: str | None = None) -> ApiObject:
    """Return a CSIStorageCapacity of a zone."""
    fields: dict[str, Any] = {"capacity": free, "maximumVolumeSize": largest}
    topology = {"matchLabels": {ZONE: zone}}
    return make_object(CSIStorageCapacity, name, storageClassName=storage_class, nodeTopology=topology, **fields)


def volume(name: str, size: str, zone: str, storage_class: str = "local") -> ApiObject:
    return make_volume(name, size=size, storage_class=storage_class, affinity={ZONE: [zone]})


ROOMS = [room("in-a", "a", "10Gi"), room("in-b", "b", "40Gi")]


@pytest.mark.parametrize(
    ("claims", "objects", "expected"),
    [
        pytest.param(
            [make_claim("c", size="3Gi")],
            [*TELLS, *ROOMS],
            {"a": 70, "b": 93},
            id="provisioned: 100 - 300 // 10, 100 - 300 // 40",
        ),
        pytest.param(
            [make_claim("c", size="3Gi"), make_claim("d", size="5Gi")],
            [*TELLS, *ROOMS],
            {"a": 20, "b": 80},
            id="claims of a class share its room: 100 - 800 // 10, 100 - 800 // 40",
        ),
        pytest.param(
            [make_claim("c", size="6Gi"), make_claim("d", size="6Gi")],
            [*TELLS, *ROOMS],
            {"a": 0, "b": 70},
            id="more than there is, though each claim by itself fits, is full",
        ),
        pytest.param(
            [make_claim("c", size="3Gi"), make_claim("d", size="1Gi", storage_class="fast")],
            [
                *TELLS,
                *ROOMS,
                room("fa", "a", "8Gi", storage_class="fast"),
                room("fb", "b", "3Gi", storage_class="fast"),
            ],
            {"a": 79, "b": 80},
            id="the mean of classes, halves up: (70 + 88) / 2, (93 + 67) / 2",
        ),
        pytest.param(
            [make_claim("c", size="3Gi"), make_claim("d", size="1Gi", storage_class="fast")],
            [TELLS[0], *ROOMS],
            {"a": 70, "b": 93},
            id="a driver that does not tell its room does not count",
        ),
        pytest.param([make_claim("c")], [], {"a": 0, "b": 0}, id="no driver tells: 0, as if full"),
        pytest.param(
            [make_claim("c", size="3Gi")],
            [*TELLS, room("in-a", "a", "10Gi", largest="3Gi"), room("in-b", "b", "4Gi", largest="50Gi")],
            {"a": 70, "b": 25},
            id="the capacity counts, where the largest volume decided: 100 - 300 // 4",
        ),
        pytest.param(
            [make_claim("c", size="3Gi", storage_class="local")],
            [LOCAL, volume("va", "4Gi", "a"), volume("vb", "10Gi", "b")],
            {"a": 25, "b": 70},
            id="existing volumes: 100 - 300 // 4, 100 - 300 // 10",
        ),
        pytest.param(
            [make_claim("c", size="2Gi"), make_claim("d", size="1Gi", storage_class="local")],
            [LOCAL, volume("va", "4Gi", "a"), volume("vb", "10Gi", "b"), *TELLS, *ROOMS],
            {"a": 75, "b": 90},
            id="where a claim found a volume, what is to be provisioned does not count",
        ),
        pytest.param(
            [make_claim("c", size="1Gi", bound="pv")],
            [make_volume("pv", size="2Gi", claim="default/c")],
            {"a": 0, "b": 0},
            id="bound claims do not count",
        ),
    ],
)
def test_room(claims: list[Any], objects: list[ApiObject], expected: dict[str, int]) -> None:
    pod = make_pod(volumes=mount(*(claim.name for claim in claims)))
    cluster = make_cluster(NODES, (), *claims, *CLASSES, *objects)
    decision = decide(pod, cluster)
    assert raw_scores(decision, PLUGIN) == expected
    assert decision.scores is not None
    assert decision.scores.weights[PLUGIN] == 1
    assert decision.not_modelled == ()
    assert raw_scores(decide(pod, cluster, release=RELEASES["1.36"]), PLUGIN) is None


CLAIMING = make_pod(volumes=mount("c"))
CLUSTER = make_cluster(NODES, (), make_claim("c", size="3Gi"), *CLASSES, *TELLS, *ROOMS)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        pytest.param([], {"a": 70, "b": 93}, id="none: the default"),
        pytest.param([(0, 0), (100, 10)], {"a": 30, "b": 7}, id="the other way round"),
        pytest.param([(10, 10), (20, 4), (40, 0)], {"a": 20, "b": 100}, id="in parts: 40 - 40 * 10 / 20 at 30"),
        pytest.param([(20, 10), (30, 3)], {"a": 30, "b": 100}, id="flat before the first point and behind the last"),
    ],
)
def test_shape(shape: list[tuple[int, int]], expected: dict[str, int]) -> None:
    points = [{"utilization": utilization, "score": score} for utilization, score in shape]
    config = make_args(VolumeBinding={"shape": points})
    assert raw_scores(decide(CLAIMING, CLUSTER, config=config), PLUGIN) == expected


def test_a_pod_without_claims_scores_nothing() -> None:
    assert raw_scores(decide(make_pod(), CLUSTER), PLUGIN) == {"a": 0, "b": 0}


def without(point: str) -> dict[str, Any]:
    return make_profile(plugins={point: {"disabled": [{"name": PLUGIN}]}})


def test_without_its_filter_nothing_is_known_of_the_storage() -> None:
    assert raw_scores(decide(CLAIMING, CLUSTER, config=without("filter")), PLUGIN) == {"a": 0, "b": 0}


def test_without_its_pre_filter_the_cycle_ends_with_an_error() -> None:
    decision = decide(make_pod(), CLUSTER, config=without("preFilter"))
    text = 'reading "VolumeBinding" from cycleState: not found'
    assert decision.error == f'running "VolumeBinding" filter plugin: {text}'
    config = make_profile(plugins={p: {"disabled": [{"name": PLUGIN}]} for p in ("preFilter", "filter")})
    assert decide(make_pod(), CLUSTER, config=config).error == f'running PreScore plugin "VolumeBinding": {text}'


@pytest.mark.parametrize(
    ("claim", "objects", "note"),
    [
        pytest.param(make_claim("c", size="3Gi"), ROOMS, None, id="one with a capacity for each node"),
        pytest.param(
            make_claim("c", size="3Gi"),
            [make_object(CSIStorageCapacity, "max", storageClassName="late", maximumVolumeSize="9Gi", nodeTopology={})],
            "whose CSIStorageCapacity has no capacity",
            id="a largest volume without a capacity",
        ),
        pytest.param(
            make_claim("c", storage_class=None, annotations={"volume.beta.kubernetes.io/storage-class": "late"}),
            ROOMS,
            "whose class is in an annotation",
            id="a class in an annotation alone",
        ),
        pytest.param(
            make_claim("c", size="3Gi"),
            [*ROOMS, room("more", "b", "50Gi")],
            "for which several CSIStorageCapacities are large enough",
            id="chance decides whose capacity counts",
        ),
        pytest.param(
            make_claim("c", size="3Gi"), [*ROOMS, room("same", "b", "40Gi")], None, id="not where it does not matter"
        ),
        pytest.param(
            make_claim("c", size="45Gi"), [*ROOMS, room("more", "b", "50Gi")], None, id="nor where only one has room"
        ),
    ],
)
def test_what_cannot_be_said(claim: Any, objects: list[ApiObject], note: str | None) -> None:
    decision = decide(CLAIMING, make_cluster(NODES, (), claim, *CLASSES, *TELLS, *objects))
    assert [note.feature for note in decision.not_modelled] == (
        [f"VolumeBinding's score of claim default/c, {note}"] if note else []
    )


@st.composite
def stores(draw: st.DrawFn) -> tuple[list[PersistentVolumeClaim], list[ApiObject]]:
    names = st.sampled_from(["late", "fast", "local"])
    claims = [
        make_claim(f"c{i}", size=f"{draw(st.integers(1, 8))}Gi", storage_class=draw(names))
        for i in range(draw(st.integers(1, 4)))
    ]
    sizes = draw(st.permutations(range(1, 15)))
    objects: list[ApiObject] = [*CLASSES, LOCAL, *draw(st.sampled_from([[], TELLS[:1], TELLS]))]
    objects += [
        volume(f"v{i}", f"{sizes[i]}Gi", draw(st.sampled_from(["a", "b"])), draw(names))
        for i in range(draw(st.integers(0, 6)))
    ]
    for zone in ("a", "b"):
        for name in ("late", "fast"):
            free = f"{draw(st.integers(8, 40))}Gi"
            objects.append(room(f"{name}-{zone}", zone, free, storage_class=name))
    return claims, objects


SHAPES = st.sampled_from([[(0, 100), (100, 0)], [(0, 0), (100, 100)], [(10, 100), (45, 30), (70, 90)]])


@given(stores(), SHAPES)
def test_equals_the_slow_reference(
    store: tuple[list[PersistentVolumeClaim], list[ApiObject]], shape: list[tuple[int, int]]
) -> None:
    claims, objects = store
    cluster = make_cluster(NODES, (), *claims, *objects)
    stored = list(cluster.list(PersistentVolumeClaim))
    found = Binder(cluster).find_pod_volumes(group_claims(cluster, stored))
    scores = storage_capacity_scores(found, requested_to_capacity_ratio(shape))
    for row, node in enumerate(cluster.nodes.objects):
        problems, _ = volume_binding.find_pod_volumes(cluster, stored, node)
        if not problems:
            assert scores[row] == volume_binding.storage_score(cluster, stored, node, shape)
