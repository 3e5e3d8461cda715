"""Elections as Leases show them, and what is wrong with them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.cluster.cluster import Cluster
from kschedctl.leaderelection.election import Election
from kschedctl.leaderelection.overview import check_config, check_elections, elections
from kschedctl.objects.coordination import (
    LEADER_ANNOTATION,
    ConfigMap,
    Lease,
    LeaseCandidate,
    LeaseCandidateSpec,
    LeaseSpec,
)
from kschedctl.objects.duration import Duration
from kschedctl.objects.meta import ApiObject, ObjectMeta
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.config.types import LeaderElection
from tests.builders import make_node, make_pod

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
SCHEDULER_POD: dict[str, Any] = {"namespace": "kube-system", "labels": {"component": "kube-scheduler"}, "node": "cp-1"}


def lease(
    name: str = "kube-scheduler",
    *,
    holder: str = "cp-1_6f1d",
    ago: float | None = 3,
    namespace: str = "kube-system",
    duration: int = 15,
    **more: Any,
) -> Lease:
    renewed = None if ago is None else NOW - timedelta(seconds=ago)
    spec = LeaseSpec(holder_identity=holder, lease_duration_seconds=duration, renew_time=renewed, **more)
    return Lease(metadata=ObjectMeta(name=name, namespace=namespace), spec=spec)


def candidate(name: str, emulation: str, binary: str, *, age: int = 0, of: str = "kube-scheduler") -> LeaseCandidate:
    spec = LeaseCandidateSpec(lease_name=of, emulation_version=emulation, binary_version=binary)
    created = NOW - timedelta(seconds=age)
    metadata = ObjectMeta(name=name, namespace="kube-system", creation_timestamp=created)
    return LeaseCandidate(metadata=metadata, spec=spec)


def config_map(name: str, record: str) -> ConfigMap:
    metadata = ObjectMeta(name=name, namespace="kube-system", annotations={LEADER_ANNOTATION: record})
    return ConfigMap(metadata=metadata)


def cluster(*objects: ApiObject, taken_at: datetime | None = NOW) -> Cluster:
    builder = ClusterBuilder()
    for obj in (make_node("cp-1"), make_node("cp-2.example.com"), *objects):
        builder.add(obj)
    return builder.build(taken_at=taken_at)


def only(*objects: ApiObject, taken_at: datetime | None = NOW) -> Election:
    (found,) = elections(cluster(*objects, taken_at=taken_at)).elections
    return found


@pytest.mark.parametrize(
    ("given", "expired", "earliest", "latest"),
    [
        pytest.param(lease(), False, 12, 20.8, id="renewed 3 s before: the rest of 15 s and two pauses of 4.4 s"),
        pytest.param(lease(ago=14.9), False, 0.1, 8.9, id="about to end"),
        pytest.param(lease(ago=15), True, 0, 8.8, id="just ended"),
        pytest.param(lease(ago=23), True, 0, 0.8, id="nearly the last moment for one that waits"),
        pytest.param(lease(ago=600), True, None, None, id="ended long ago: nobody waits"),
        pytest.param(lease(ago=-2), False, 15, 23.8, id="renewed while the snapshot was taken"),
        pytest.param(lease(holder="", duration=1), True, 0, 4.4, id="given up"),
        pytest.param(lease(holder="", duration=1, ago=60), True, None, None, id="given up long ago: nobody waits"),
        pytest.param(lease(ago=-9e9), None, None, None, id="dated in the future: its age is unknown"),
        pytest.param(lease(duration=60), False, 57, 65.8, id="a lease of a minute"),
        pytest.param(lease(ago=None), None, None, None, id="never renewed"),
    ],
)
def test_when_another_would_lead(
    given: Lease, expired: bool | None, earliest: float | None, latest: float | None
) -> None:
    found = only(given)
    assert found.expired == expired
    assert found.earliest == (None if earliest is None else pytest.approx(earliest))
    assert found.latest == (None if latest is None else pytest.approx(latest))


@pytest.mark.parametrize(
    ("given", "state", "said"),
    [
        (lease(ago=4), "led", ""),
        (lease(ago=4.1), "late", "warning: cp-1_6f1d is late or dead: last renewed 4 s before the snapshot"),
        (lease(ago=14.9), "late", "warning: cp-1_6f1d is late or dead: last renewed 15 s before the snapshot"),
        (lease(ago=26, duration=137), "led", ""),
        (
            lease(ago=40, duration=137),
            "late",
            "warning: cp-1_6f1d is late or dead: last renewed 40 s before the snapshot",
        ),
        (lease(ago=16), "expired", "error: no leader: the lease of cp-1_6f1d ended 1 s before the snapshot"),
        (lease(ago=7200), "overdue", "error: no leader: the lease of cp-1_6f1d ended 1 h 59 min before the snapshot"),
        (lease(holder="", duration=1), "released", "error: no leader: the last holder released the lease"),
        (lease(holder="", ago=None), "neverHeld", "info: no leader: nobody has acquired the lease yet"),
        (
            lease(ago=-2.5e11),
            "clockAhead",
            "warning: renewed 7,927 years after the snapshot was taken: a clock is wrong",
        ),
        (lease(ago=None), "unknown", ""),
        (
            lease(holder="cp-1_" + "x" * 295, ago=5),
            "late",
            f"warning: cp-1_{'x' * 71}... (300 characters) is late or dead",
        ),
        (lease(ago=3e7, duration=2**31 - 1), "led", ""),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_states(given: Lease, state: str, said: str) -> None:
    found = only(given)
    assert (found.state, found.led) == (state, state in ("led", "late", "clockAhead", "unknown"))
    problem = "; ".join(problems(given)).replace("Lease kube-system/kube-scheduler: ", "")
    assert problem.startswith(said) if said else not problem


def test_a_holder_is_not_reported_as_gone_where_nodes_or_pods_could_not_be_listed() -> None:
    given = cluster(lease(holder="elsewhere_1"))
    assert [each.rule for each in check_elections(given, elections(given))] == ["Holder"]
    given.not_listed = frozenset({"Node"})
    assert list(check_elections(given, elections(given))) == []


def test_without_a_time_of_the_snapshot_nothing_is_known_of_ages() -> None:
    found = only(lease(), taken_at=None)
    assert (found.renewed_ago, found.expired, found.earliest, found.latest) == (None, None, None, None)
    assert list(check_elections(cluster(lease(), taken_at=None), elections(cluster(lease(), taken_at=None)))) == []


@pytest.mark.parametrize(
    ("holder", "pod", "node"),
    [
        pytest.param("cp-1_6f1d", "kube-system/kube-scheduler-cp-1", "cp-1", id="the static pod of a node"),
        pytest.param("cp-2_6f1d", "", "cp-2.example.com", id="a host by the first part of its name"),
        pytest.param("cp-2.example.com_6f1d", "", "cp-2.example.com", id="a host by its whole name"),
        pytest.param("web-0_6f1d", "kube-system/web-0", "cp-1", id="a pod, of the namespace of the lease first"),
        pytest.param("web-1", "shop/web-1", "cp-1", id="a pod of another namespace"),
        pytest.param("laptop_6f1d", "", "", id="neither"),
    ],
)
def test_who_a_holder_is(holder: str, pod: str, node: str) -> None:
    pods = [
        make_pod("kube-scheduler-cp-1", **SCHEDULER_POD),
        make_pod("web-0", namespace="shop", node="cp-1"),
        make_pod("web-0", namespace="kube-system", node="cp-1"),
        make_pod("web-1", namespace="shop", node="cp-1"),
    ]
    found = only(lease(holder=holder), *pods)
    assert (found.pod, found.node) == (pod, node)


def operator(name: str, *, ago: float = 600, **pod_fields: Any) -> Pod:
    """Return a pod of a Deployment in namespace ``ops``, by default a running one."""
    owner, digest = name.rpartition("-")[0], name.split("-")[1]
    labels = {"pod-template-hash": digest}
    fields: dict[str, Any] = {"node": "cp-1", "labels": labels, "owner": ("apps/v1", "ReplicaSet", owner), **pod_fields}
    pod = make_pod(name, namespace="ops", **fields)
    return replace(pod, metadata=replace(pod.metadata, creation_timestamp=NOW - timedelta(seconds=ago)))


def held_by(holder: str, **fields: Any) -> Lease:
    return lease("op", namespace="ops", holder=f"{holder}_1", **{"ago": 50, "duration": 137, **fields})


CONTROL_PLANE = {"node-role.kubernetes.io/control-plane": ""}
OTHER, OLD = "op-aaaaa-bcdfg", "op-zzzzz-hjklm"


@pytest.mark.parametrize(
    ("objects", "gone", "waiting"),
    [
        pytest.param([held_by(OLD), operator(OTHER)], True, (f"ops/{OTHER}",), id="its pod is missing"),
        pytest.param([held_by(OTHER), operator(OTHER)], False, (), id="its pod runs"),
        pytest.param([held_by(OLD), operator(OLD), operator(OTHER)], False, (f"ops/{OTHER}",), id="two replicas"),
        pytest.param([held_by(OTHER), operator(OTHER, ago=40)], True, (f"ops/{OTHER}",), id="created again"),
        pytest.param([held_by(OLD)], False, (), id="no pod of its workload"),
        pytest.param([held_by(OLD), operator("web-aaaaa-bcdfg")], False, (), id="a pod of another workload"),
        pytest.param(
            [
                lease(),
                make_pod("kube-scheduler-cp-1", **SCHEDULER_POD),
                make_pod("kube-scheduler-cp-2", **SCHEDULER_POD),
            ],
            False,
            ("kube-system/kube-scheduler-cp-2",),
            id="static pods",
        ),
        pytest.param([lease(), candidate("cp-2_2", "1.36", "1.36")], False, ("cp-2_2",), id="a LeaseCandidate"),
        pytest.param(
            [
                lease(),
                *(make_node(name, labels={"node-role.kubernetes.io/control-plane": ""}) for name in ("cp-1", "cp-3")),
            ],
            False,
            ("cp-3",),
            id="nodes of the control plane",
        ),
    ],
)
def test_the_holder_and_the_other_candidates(objects: list[ApiObject], gone: bool, waiting: tuple[str, ...]) -> None:
    found = only(*objects)
    assert (found.gone, found.waiting) == (gone, waiting)


def test_heartbeats_are_no_elections_and_the_control_plane_comes_first() -> None:
    api_server = Lease(
        metadata=ObjectMeta(
            name="apiserver-x", namespace="kube-system", labels={"apiserver.kubernetes.io/identity": "kube-apiserver"}
        )
    )
    found = elections(
        cluster(lease("b", namespace="a"), lease(), lease("cp-1", namespace="kube-node-lease"), api_server)
    )
    assert [one.name for one in found.elections] == ["kube-system/kube-scheduler", "a/b"]
    assert found.n_heartbeats == 2


@pytest.mark.parametrize(
    ("candidates", "elected"),
    [
        ([("a", "1.36.0", "1.36.0", 0), ("b", "1.35.0", "1.37.0", 0)], "b"),
        ([("a", "1.36.0", "1.37.0", 0), ("b", "1.36.0", "1.36.9", 0)], "b"),
        ([("a", "1.36.0", "1.36.0", 5), ("b", "1.36.0", "1.36.0", 9)], "b"),
        ([("a", "1.9.0", "1.9.0", 0), ("b", "1.36.0", "1.36.0", 9)], "a"),
        ([("a", "new", "1.9.0", 0), ("b", "1.36.0", "1.36.0", 9)], "b"),
        ([("a", "", "", 0)], ""),
    ],
    ids=["older emulation", "older binary", "older candidate", "as numbers", "no version", "none"],
)
def test_who_the_oldest_emulation_version_is(candidates: list[tuple[str, str, str, int]], elected: str) -> None:
    given = [candidate(name, emulation, binary, age=age) for name, emulation, binary, age in candidates]
    found = only(lease(), *given, candidate("z", "1.0.0", "1.0.0", of="other"))
    assert [one.name for one in found.candidates if one.preferred] == ([elected] if elected else [])
    assert len(found.candidates) == len(candidates)


RECORD = '{{"holderIdentity":"{holder}","leaseDurationSeconds":15,"renewTime":"2026-05-04T11:59:58Z"}}'


def problems(*objects: ApiObject) -> list[str]:
    given = cluster(*objects)
    return [f"{each.severity}: {each.object}: {each.problem}" for each in check_elections(given, elections(given))]


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([lease()], [], id="nothing is wrong"),
        pytest.param(
            [lease(ago=100)],
            [
                "error: Lease kube-system/kube-scheduler: no leader: the lease of cp-1_6f1d ended 85 s before the "
                "snapshot"
            ],
            id="ended",
        ),
        pytest.param(
            [lease(holder="", duration=1)],
            ["error: Lease kube-system/kube-scheduler: no leader: the last holder released the lease"],
            id="given up in the control plane",
        ),
        pytest.param(
            [lease("report", namespace="shop", holder="", duration=1)],
            ["info: Lease shop/report: no leader: the last holder released the lease"],
            id="given up elsewhere",
        ),
        pytest.param(
            [lease(ago=-300)],
            ["warning: Lease kube-system/kube-scheduler: renewed 5 min after the snapshot was taken: a clock is wrong"],
            id="a clock that is ahead",
        ),
        pytest.param(
            [lease(holder="gone_1")],
            ["warning: Lease kube-system/kube-scheduler: the holder gone_1 is not a pod or node of the snapshot"],
            id="a holder that is unknown",
        ),
        pytest.param(
            [held_by(OLD), operator(OTHER)],
            [f"warning: Lease ops/op: the holder {OLD}_1 is gone and did not release the lease"],
            id="a holder that is gone",
        ),
        pytest.param(
            [config_map("old", RECORD.format(holder="cp-1"))],
            [
                "warning: ConfigMap kube-system/old: the record is an annotation of ConfigMap, which current "
                "candidates neither read nor write"
            ],
            id="an old lock",
        ),
        pytest.param(
            [lease(), config_map("kube-scheduler", RECORD.format(holder="cp-2"))],
            [
                "error: ConfigMap kube-system/kube-scheduler: the record is an annotation of ConfigMap, which "
                "current candidates neither read nor write: cp-2 leads here, and cp-1_6f1d leads by the Lease of "
                "the same name"
            ],
            id="two locks, two leaders",
        ),
        pytest.param(
            [make_pod("kube-scheduler-cp-1", **SCHEDULER_POD), make_pod("kube-scheduler-cp-2", **SCHEDULER_POD)],
            [
                "warning: Pod kube-system/kube-scheduler-cp-1: no pod of kube-scheduler (2 pods: kube-scheduler-cp-1 "
                "and kube-scheduler-cp-2) holds a Lease; without an election all of them schedule pods"
            ],
            id="schedulers without an election",
        ),
        pytest.param(
            [make_pod("kube-scheduler-cp-1", **SCHEDULER_POD), lease(holder="cp-2_1")],
            [],
            id="one that waits while the other leads",
        ),
        pytest.param(
            [make_pod("mine-0", namespace="shop", containers=[{"name": "c", "image": "a.example/x-scheduler:1"}])],
            ["info: Pod shop/mine-0: no pod of mine-0 (1 pod: mine-0) holds a Lease"],
            id="one alone, by its image",
        ),
        pytest.param(
            [
                make_pod("mine-0", namespace="shop", containers=[{"name": "c", "image": "a.example/x-scheduler:1"}]),
                lease("some-name", namespace="shop", holder="mine-0_1"),
            ],
            [],
            id="one that leads under another name",
        ),
        pytest.param(
            [make_pod("mine-0", containers=[{"name": "c", "image": "scheduler.example.com/app:1"}])],
            [],
            id="no scheduler: its registry is called so",
        ),
    ],
)
def test_what_is_wrong(objects: list[ApiObject], expected: list[str]) -> None:
    assert problems(*objects) == expected


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param(LeaderElection(), [], id="fits"),
        pytest.param(
            LeaderElection(leader_elect=False),
            [
                "error: leaderElection.leaderElect: is false: this scheduler schedules pods even if another one leads, "
                "and cp-1_6f1d leads kube-system/kube-scheduler"
            ],
            id="takes no part",
        ),
        pytest.param(
            LeaderElection(resource_namespace="shop"),
            [
                "warning: leaderElection.resourceName: the cluster has no Lease shop/kube-scheduler: no scheduler runs "
                "with these names"
            ],
            id="another lease",
        ),
        pytest.param(
            LeaderElection(lease_duration=Duration.seconds(30)),
            [
                "warning: leaderElection.leaseDuration: is 30 s in whole seconds, but the leader of "
                "kube-system/kube-scheduler has 15 s: it runs with another configuration"
            ],
            id="other times",
        ),
        pytest.param(
            LeaderElection(retry_period=Duration.seconds(9)),
            [
                "error: leaderElection: kube-scheduler exits with: renewDeadline must be greater than "
                "retryPeriod*JitterFactor"
            ],
            id="times that client-go refuses",
        ),
    ],
)
def test_a_configuration_against_its_lease(config: LeaderElection, expected: list[str]) -> None:
    found = elections(cluster(lease()))
    assert [f"{each.severity}: {each.field}: {each.problem}" for each in check_config(config, found)] == expected
