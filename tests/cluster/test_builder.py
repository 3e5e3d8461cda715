from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kschedctl.cluster import builder
from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.default_storage_class import default_storage_class, with_default_class
from kschedctl.cluster.pod_groups import pod_group_gates
from kschedctl.cluster.records import LOST, PENDING
from kschedctl.common.errors import SnapshotError
from kschedctl.common.findings import Place
from kschedctl.objects.core import Namespace, Service
from kschedctl.objects.device import ResourceClaim, ResourceClaimTemplate, ResourceSlice
from kschedctl.objects.event import Event, EventSource, ObjectReference
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import CompositePodGroup, PodGroup
from kschedctl.objects.releases.release import RELEASES
from kschedctl.objects.volume import PersistentVolumeClaim, StorageClass
from kschedctl.objects.workload import PodDisruptionBudget
from tests.builders import (
    make_claim,
    make_cluster,
    make_container,
    make_members,
    make_node,
    make_object,
    make_pod,
    make_pod_group,
    make_storage_class,
)


def built(*objects: tuple[ApiObject, Place]) -> Cluster:
    builder = ClusterBuilder()
    for obj, place in objects:
        builder.add(obj, place)
    return builder.build()


def test_an_empty_cluster() -> None:
    cluster = built()
    assert (len(cluster.nodes), len(cluster.pods), cluster.warnings) == (0, 0, ())


def test_what_is_known_of_the_snapshot_is_kept() -> None:
    taken_at = datetime(2026, 1, 1, tzinfo=UTC)
    cluster = ClusterBuilder().build(server_version="v1.36.3", taken_at=taken_at)
    assert (cluster.server_version, cluster.taken_at) == ("v1.36.3", taken_at)


CLAIM = make_object(ResourceClaim, "c", status={"allocation": {"allocationTimestamp": "2026-05-04T12:00:00Z"}})
STARTED = make_pod("p", node="n", status={"startTime": "2026-05-04T11:00:00Z"})


@pytest.mark.parametrize(
    ("objects", "hour"),
    [
        pytest.param([CLAIM, STARTED], 12, id="an allocation"),
        pytest.param([STARTED, make_pod("q")], 11, id="the start of a pod"),
        pytest.param([make_node("n"), make_pod("q")], None, id="no time"),
    ],
)
def test_objects_show_the_time_and_no_change_moves_it(objects: list[ApiObject], hour: int | None) -> None:
    cluster = built(*((obj, "") for obj in objects))
    assert cluster.taken_at == (datetime(2026, 5, 4, hour, tzinfo=UTC) if hour is not None else None)
    later = make_pod("later", status={"startTime": "2027-01-01T00:00:00Z"})
    changed = cluster.with_pods(removed=range(len(cluster.pods)), added=[later]).with_objects(ResourceClaim, [])
    assert changed.taken_at == changed.compacted().taken_at == cluster.taken_at


@pytest.mark.parametrize(
    ("earlier", "later", "warning"),
    [
        pytest.param(
            make_node("n", cpu="1"),
            make_node("n", cpu="2"),
            "Node n is in a.yaml and again in b.yaml; the later counts",
            id="nodes",
        ),
        pytest.param(
            make_pod("p", namespace="shop"),
            make_pod("p", namespace="shop", node="n"),
            "Pod shop/p is in a.yaml and again in b.yaml; the later counts",
            id="pods",
        ),
        pytest.param(
            make_object(Service, "s", namespace="shop"),
            make_object(Service, "s", namespace="shop", spec={"selector": {"a": "b"}}),
            "Service shop/s is in a.yaml and again in b.yaml; the later counts",
            id="other objects",
        ),
    ],
)
def test_of_duplicates_the_later_counts_with_a_warning(earlier: ApiObject, later: ApiObject, warning: str) -> None:
    cluster = built((earlier, "a.yaml"), (later, "b.yaml"))
    assert cluster.warnings == (warning,)
    match later:
        case Pod():
            assert [record.node_name for record in cluster.pods.records] == ["n"]
        case Service():
            assert [service.spec.selector for service in cluster.list(Service)] == [{"a": "b"}]
        case _:
            assert cluster.nodes.allocatable[0]["cpu"] == 2000


def test_equal_copies_are_no_reason_to_warn_and_many_that_differ_are_one_warning() -> None:
    objects = [make_node("n"), make_pod("p", node="n"), make_pod("done", phase="Failed"), make_object(Service, "s")]
    twice = [(obj, f"{copy}/{i}.yaml") for copy in "ab" for i, obj in enumerate(objects)]
    assert built(*twice).warnings == ()
    others = [(make_pod(name, node=node), f"{node}.yaml") for name in ("p", "q", "r") for node in ("n", "m")]
    (warning,) = built(*others).warnings
    assert warning == "Pod default/p is in n.yaml and again in m.yaml; the later counts; so it is with 2 other objects"


def test_the_same_name_in_another_namespace_or_kind_is_no_duplicate() -> None:
    objects = [make_pod("x"), make_pod("x", namespace="shop"), make_node("x"), make_object(Namespace, "x")]
    assert built(*((obj, f"{i}.yaml") for i, obj in enumerate(objects))).warnings == ()


def test_objects_without_a_namespace_are_in_default() -> None:
    bare = make_object(Pod, "p")
    cluster = built((bare, "a.yaml"), (make_pod("p", node="n"), "b.yaml"), (make_object(Service, "s"), ""))
    assert cluster.pods.index == {("default", "p"): 0}
    assert cluster.warnings == ("Pod default/p is in a.yaml and again in b.yaml; the later counts",)
    assert cluster.get(Service, "s", "default") is not None
    assert cluster.get(Service, "s", "other") is None


def warning(number: int, name: str, reporter: str = "kubelet", message: str = "no room", kind: str = "Job") -> Event:
    return Event(
        type="Warning",
        message=message,
        involved_object=ObjectReference(kind=kind, namespace="shop", name=name),
        source=EventSource(component=reporter),
        last_timestamp=datetime(2026, 11, 20, tzinfo=UTC) + timedelta(seconds=number),
    )


def test_the_newest_event_of_each_object_and_reporter_is_kept() -> None:
    events = [warning(2, "a"), warning(3, "a", message="newest"), warning(1, "a"), warning(0, "a", "karpenter")]
    events.append(warning(0, "b"))
    kept = built(*((event, "f") for event in events)).list(Event)
    assert {(event.name, event.message) for event in kept} == {
        ("Job/a/kubelet", "newest"),
        ("Job/a/karpenter", "no room"),
        ("Job/b/kubelet", "no room"),
    }
    # Equal messages are one text.
    assert len({id(event.message) for event in kept if event.message == "no room"}) == 1


def test_of_too_many_events_the_older_half_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "_MOST_EVENTS", 10)
    kept = built(*((warning(number, f"pod-{number}"), "f") for number in range(11))).list(Event)
    assert [event.involved_object.name for event in kept] == [f"pod-{number}" for number in range(5, 11)]


@pytest.mark.parametrize("events_first", [True, False])
def test_of_pods_only_the_events_of_those_in_trouble_are_kept(events_first: bool) -> None:
    crashes = {"phase": "Running", "containerStatuses": [{"name": "c", "state": {"waiting": {"reason": "BackOff"}}}]}
    pods = [
        make_pod("runs", namespace="shop", node="n", status={"phase": "Running"}),
        make_pod("crashes", namespace="shop", node="n", status=crashes),
        make_pod("starts", namespace="shop", node="n", status={"phase": "Pending"}),
        make_pod("waits", namespace="shop"),
    ]
    events = [warning(1, name, kind="Pod") for name in ("runs", "crashes", "starts", "waits", "gone")]
    objects: list[ApiObject] = [*events, *pods] if events_first else [*pods, *events]
    kept = built(*((obj, "f") for obj in objects)).list(Event)
    assert [event.involved_object.name for event in kept] == ["crashes", "starts", "waits"]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_finished_pods_do_not_count(phase: str) -> None:
    finished = make_pod("p", node="n", status={"phase": phase})
    assert len(make_cluster([make_node("n")], [finished]).pods) == 0
    assert len(built((make_pod("p"), "a"), (finished, "b")).pods) == 0


def test_pods_without_a_node_are_pending_and_those_of_a_node_that_is_not_there_are_lost() -> None:
    pods = [make_pod("a", node="n"), make_pod("b"), make_pod("c", node="gone")]
    cluster = make_cluster([make_node("n")], pods)
    assert cluster.pods.node_row.tolist() == [0, PENDING, LOST]
    assert cluster.pods.assigned.tolist() == [0]


def test_pods_that_mean_the_same_to_others_are_of_one_class() -> None:
    pods = [
        make_pod("a", node="n"),
        make_pod("b", priority=5),
        make_pod("c", tolerations=[{"operator": "Exists"}]),
        make_pod("d", containers=[make_container(image="other")]),
        make_pod("labels", labels={"a": "b"}),
        make_pod("namespace", namespace="other"),
        make_pod("requests", requests={"cpu": "1"}),
        make_pod("terminating", terminating=True),
    ]
    cluster = make_cluster([make_node("n")], pods)
    assert cluster.pods.class_id.tolist() == [0, 0, 0, 0, 1, 2, 3, 4]
    assert cluster.pods.class_terminating.tolist() == [False] * 4 + [True]


def test_a_pod_comes_back_defaulted_with_its_own_spec() -> None:
    cluster = make_cluster([make_node("n")], [make_pod("a"), make_pod("b", priority=5, tolerations=[{"key": "x"}])])
    pod = cluster.pods.pod(1)
    assert (pod.key, pod.spec.priority, pod.spec.tolerations[0].key) == ("default/b", 5, "x")
    assert pod.spec.scheduler_name == "default-scheduler"


BROKEN = {"matchExpressions": [{"key": "app", "operator": "Near"}]}
NEAR = '"Near" is not a selector operator; operators: In, NotIn, Exists, DoesNotExist'


def term_of(**fields: Any) -> dict[str, Any]:
    return {"topologyKey": "zone", **fields}


def slice_of(**device: Any) -> dict[str, Any]:
    pool = {"driver": "d", "pool": {"name": "p"}}
    return {"spec": {**pool, "devices": [{"name": "other"}, {"name": "gpu", **device}]}}


def capacity(**policy: Any) -> dict[str, Any]:
    return slice_of(capacity={"a.b/c": {"value": "1", "requestPolicy": policy}})


MANY = '"many" is not a quantity'
DEVICE, REQUEST = "spec.devices[1]", "spec.devices.requests[0].exactly.capacity.requests.memory"
POLICY = f"{DEVICE}.capacity[a.b/c].requestPolicy"
ASKED = {"devices": {"requests": [{"name": "r", "exactly": {"capacity": {"requests": {"memory": "many"}}}}]}}
CONSUMED = {"results": [{"consumedCapacity": {"memory": ""}}]}
WRONG_AMOUNTS: list[tuple[type[ApiObject], str, str, dict[str, Any]]] = [
    (ResourceSlice, f"{DEVICE}.capacity.memory.value", MANY, slice_of(capacity={"memory": {"value": "many"}})),
    (ResourceSlice, f"{POLICY}.default", MANY, capacity(default="many")),
    (ResourceSlice, f"{POLICY}.validValues[1]", MANY, capacity(validValues=["1", "many"])),
    (ResourceSlice, f"{POLICY}.validRange.max", MANY, capacity(validRange={"max": "many"})),
    (ResourceSlice, f"{POLICY}.validRange.step", "0 is not greater than 0", capacity(validRange={"step": 0})),
    (ResourceSlice, f"{POLICY}.validRange.step", "-1 is not greater than 0", capacity(validRange={"step": "-1"})),
    (
        ResourceSlice,
        f"{DEVICE}.consumesCounters[0].counters.a.value",
        MANY,
        slice_of(consumesCounters=[{"counterSet": "s", "counters": {"a": {"value": "many"}}}]),
    ),
    (ResourceClaim, REQUEST, MANY, {"spec": ASKED}),
    (ResourceClaimTemplate, f"spec.{REQUEST}", MANY, {"spec": {"spec": ASKED}}),
    (
        ResourceClaim,
        "status.allocation.devices.results[0].consumedCapacity.memory",
        '"" is not a quantity',
        {"status": {"allocation": {"devices": CONSUMED}}},
    ),
]


@pytest.mark.parametrize(
    ("obj", "where", "path", "problem"),
    [
        pytest.param(
            make_node("n", cpu="many"), "x.yaml (Node n)", "status.allocatable.cpu", '"many" is not a quantity', id="n"
        ),
        pytest.param(
            make_object(Pod, "p", namespace="shop", spec={"containers": [make_container(requests={"cpu": "two"})]}),
            "x.yaml (Pod shop/p)",
            "spec.containers[0].resources.requests.cpu",
            '"two" is not a quantity',
            id="request",
        ),
        pytest.param(
            make_object(Pod, "p", namespace="shop", spec={"overhead": {"memory": "1Q"}}),
            "x.yaml (Pod shop/p)",
            "spec.overhead.memory",
            '"1Q" is not a quantity',
            id="overhead",
        ),
        pytest.param(
            make_pod(topologySpreadConstraints=[{"topologyKey": "zone"}, {"labelSelector": BROKEN}]),
            "x.yaml (Pod default/pod)",
            "spec.topologySpreadConstraints[1].labelSelector.matchExpressions[0].operator",
            NEAR,
            id="spread constraint",
        ),
        pytest.param(
            make_pod(
                affinity={
                    "podAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [term_of(), term_of(labelSelector=BROKEN)]
                    }
                }
            ),
            "x.yaml (Pod default/pod)",
            "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[1].labelSelector"
            ".matchExpressions[0].operator",
            NEAR,
            id="affinity",
        ),
        pytest.param(
            make_pod(
                affinity={
                    "podAntiAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {"weight": 1, "podAffinityTerm": term_of(namespaceSelector=BROKEN)}
                        ]
                    }
                }
            ),
            "x.yaml (Pod default/pod)",
            "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm"
            ".namespaceSelector.matchExpressions[0].operator",
            NEAR,
            id="preferred anti-affinity",
        ),
        *(
            pytest.param(make_object(kind, "o", **fields), f"x.yaml ({kind.__name__} {name})", path, problem, id=path)
            for kind, path, problem, fields in WRONG_AMOUNTS
            for name in ["o" if kind is ResourceSlice else "default/o"]
        ),
        *(
            pytest.param(
                make_object(PodGroup, "g", spec={"schedulingPolicy": {"gang": gang}}),
                "x.yaml (PodGroup default/g)",
                "spec.schedulingPolicy.gang.minCount",
                f"{gang.get('minCount', 0)} is less than 1",
                id=f"gang {gang}",
            )
            for gang in ({"minCount": 0}, {"minCount": -1}, {})
        ),
        pytest.param(
            make_object(CompositePodGroup, "g", spec={"schedulingPolicy": {"gang": {"minGroupCount": 0}}}),
            "x.yaml (CompositePodGroup default/g)",
            "spec.schedulingPolicy.gang.minGroupCount",
            "0 is less than 1",
            id="gang of groups",
        ),
        *(
            pytest.param(
                make_object(kind, "o", namespace="a/b"),
                f"x.yaml ({kind.__name__} a/b/o)",
                "metadata.namespace",
                '"a/b" is not a valid namespace',
                id=f"{kind.__name__} in a namespace with a slash",
            )
            for kind in (Pod, Service)
        ),
    ],
)
def test_errors_name_place_object_and_field(obj: ApiObject, where: str, path: str, problem: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        ClusterBuilder().add(obj, "x.yaml")
    (finding,) = caught.value.findings
    assert (str(finding.where), finding.field, finding.problem) == (where, path, problem)


def test_a_wrong_quantity_comes_with_a_hint() -> None:
    with pytest.raises(SnapshotError) as caught:
        ClusterBuilder().add(make_node("n", cpu="many"), "prod/nodes.yaml, document 2")
    assert str(caught.value) == (
        'prod/nodes.yaml, document 2 (Node n): status.allocatable.cpu: "many" is not a quantity\n'
        "  a number with an optional suffix is expected, such as 2, 500m or 1.5Gi"
    )


def test_a_budget_with_a_wrong_selector_is_ignored_with_a_warning() -> None:
    budget = make_object(PodDisruptionBudget, "b", namespace="shop", spec={"selector": BROKEN})
    (warning,) = built((budget, "")).warnings
    assert warning == (f"PodDisruptionBudget shop/b is ignored: spec.selector.matchExpressions[0].operator: {NEAR}")


def test_namespaces_have_their_names_as_labels() -> None:
    cluster = make_cluster([], [], make_object(Namespace, "shop", labels={"team": "a"}))
    assert cluster.namespace_labels == {"shop": {"team": "a", "kubernetes.io/metadata.name": "shop"}}


@pytest.mark.parametrize(
    ("parents", "circles"),
    [
        ({"a": "b", "b": "c", "c": ""}, []),
        ({"a": "gone"}, []),
        ({"a": "a"}, ["default/a"]),
        ({"a": "b", "b": "a"}, ["default/a and default/b"]),
        ({"below": "a", "a": "b", "b": "c", "c": "a"}, ["default/a, default/b and default/c"]),
        ({"a": "b", "b": "a", "x": "x", "y": "x"}, ["default/a and default/b", "default/x"]),
    ],
)
def test_composite_groups_in_a_circle(parents: dict[str, str], circles: list[str]) -> None:
    groups = [
        (make_object(CompositePodGroup, name, spec={"parentCompositePodGroupName": parent}), "x.yaml")
        for name, parent in parents.items()
    ]
    told = [f"CompositePodGroup {each}: spec.parentCompositePodGroupName leads in a circle" for each in circles]
    assert list(built(*groups).warnings) == told


def created(name: str, time: str) -> StorageClass:
    """A default class with a creation time."""
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    return make_storage_class(name, metadata={"name": name, "annotations": annotations, "creationTimestamp": time})


def test_of_several_default_classes_the_newest_counts_then_the_first_by_name() -> None:
    old, new = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
    found = default_storage_class(make_cluster((), (), created("a", old), created("c", new), created("b", new)))
    assert found is not None
    assert found.name == "b"
    assert default_storage_class(make_cluster()) is None


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        pytest.param(make_claim(storage_class=None), "standard", id="no class"),
        pytest.param(make_claim(storage_class=""), "", id="no class on purpose"),
        pytest.param(make_claim(storage_class="fast"), "fast", id="a class"),
    ],
)
def test_a_new_claim_gets_the_default_class(claim: PersistentVolumeClaim, expected: str) -> None:
    cluster = make_cluster((), (), make_storage_class("standard", default=True))
    assert with_default_class(claim, cluster).spec.storage_class_name == expected
    assert with_default_class(claim, make_cluster()) == claim


ALL = "GenericWorkload"
GANG = "GangScheduling"
RACKS = "TopologyAwareWorkloadScheduling"


@pytest.mark.parametrize(
    ("objects", "pods", "shown"),
    [
        ([], [make_pod()], [set(), set(), set()]),
        ([], make_members("p"), [{ALL}, {ALL}, {ALL}]),
        ([make_pod_group()], [], [{ALL}, {ALL}, {ALL}]),
        ([make_pod_group(min_count=2)], [], [{ALL, GANG}, {ALL}, {ALL}]),
        ([make_pod_group(topology_key="rack")], [], [{ALL, RACKS}, {ALL, RACKS}, {ALL, RACKS}]),
        ([make_pod_group(priority=5)], [], [{ALL, GANG, "WorkloadAwarePreemption"}, {ALL}, {ALL}]),
        ([make_pod_group(preemptionPolicy="Never")], [], [{ALL}, {ALL, "PodGroupPreemptionPolicy"}, {ALL}]),
        ([make_pod_group(parentCompositePodGroupName="job")], [], [{ALL}, {ALL}, {ALL, RACKS, "CompositePodGroup"}]),
    ],
)
def test_gates(objects: Sequence[ApiObject], pods: Sequence[Pod], shown: list[set[str]]) -> None:
    cluster = make_cluster([make_node("n1")], pods, *objects)
    found = {version: set(pod_group_gates(cluster, release)) for version, release in RELEASES.items()}
    assert [found[version] for version in ("1.36", "1.37", "1.38")] == shown
    assert not any(gates for version, gates in found.items() if version not in ("1.36", "1.37", "1.38"))
    for version, gates in found.items():
        # The gates can be set together.
        RELEASES[version].with_features(dict.fromkeys(gates, True))
