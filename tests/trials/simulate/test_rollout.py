"""Rollouts: what the strategy of a workload does pod by pod, where it stands still, and what is available meanwhile."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import ManifestError
from kschedctl.controllers.admission.chain import admit
from kschedctl.controllers.workloads.pods import pods_of as made_by
from kschedctl.objects.defaults import default_pod
from kschedctl.objects.meta import ApiObject, OwnerReference
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import LATEST
from kschedctl.objects.workload import Deployment, ReplicaSet, StatefulSet
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.simulate.rollout import Rollout, restarted, roll_out
from tests.builders import (
    make_claim,
    make_cluster,
    make_container,
    make_node,
    make_object,
    make_pod,
    make_storage_class,
    make_volume,
)
from tests.example_counts import scaled

RS = ("apps/v1", "ReplicaSet", "web-1")
STATEFUL = ("apps/v1", "StatefulSet", "db")
APART = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    }
}
SPREAD_OF_REVISION = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "labelSelector": {"matchLabels": {"app": "web"}},
                    "matchLabelKeys": ["pod-template-hash"],
                    "topologyKey": "kubernetes.io/hostname",
                }
            ]
        }
    }
}


def deployment(replicas: int, strategy: Any = None, pod: Mapping[str, Any] | None = None, **spec: Any) -> Deployment:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [make_container()], **(pod or {})}}
    own = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template, **spec}
    if strategy is not None:
        own["strategy"] = strategy
    return msgspec.convert({"metadata": {"name": "web", "namespace": "default"}, "spec": own}, Deployment)


def surge(most: Any, unavailable: Any) -> dict[str, Any]:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": most, "maxUnavailable": unavailable}}


def pods_of(workload: Deployment, nodes: list[str], revision: str = "1") -> list[Pod]:
    """The pods that a Deployment has now: one on each of some nodes."""
    template = workload.spec.template
    assert template is not None
    labels = {"app": "web", "pod-template-hash": revision}
    return [
        default_pod(
            msgspec.structs.replace(
                make_pod(f"web-{revision}-{i}", labels=labels, owner=RS, status={"phase": "Running"}),
                spec=msgspec.structs.replace(template.spec, node_name=node, priority=0),
            )
        )
        for i, node in enumerate(nodes)
    ]


def roll(workload: ApiObject, cluster: Cluster, **options: Any) -> Rollout:
    return roll_out(Scheduler(cluster), restarted(workload), admit=default_pod, **options)


def let_in(pod: Pod) -> Pod:
    """A pod after admission, which merges matchLabelKeys."""
    return admit(pod, make_cluster([], []), release=LATEST).pod


def told(out: Rollout) -> list[str]:
    return [str(step) for step in out.steps]


def nodes(number: int, **fields: Any) -> list[Any]:
    return [make_node(f"n{i}", **fields) for i in range(number)]


ON_2 = ["n0", "n1"]
HOST_PORT = {"containers": [make_container(ports=[{"containerPort": 80, "hostPort": 80}])]}
HALF = {"containers": [make_container(requests={"cpu": "3"})]}

STANDING = [
    pytest.param(APART, surge(1, 0), False, ["new 0 -> 1"], "anti-affinity", 2, id="anti-affinity, with surge"),
    pytest.param(
        APART, surge(0, 1), True, ["old 2 -> 1", "new 0 -> 1", "old 1 -> 0", "new 1 -> 2"], "", 1, id="without"
    ),
    pytest.param(HOST_PORT, surge(1, 0), False, ["new 0 -> 1"], "free ports", 2, id="host port, with surge"),
    pytest.param(
        HOST_PORT, surge(0, 1), True, ["old 2 -> 1", "new 0 -> 1", "old 1 -> 0", "new 1 -> 2"], "", 1, id="no surge"
    ),
    pytest.param(HALF, surge(1, 0), False, ["new 0 -> 1"], "Insufficient cpu", 2, id="capacity, with surge"),
    pytest.param(HALF, {"type": "Recreate"}, True, ["old 2 -> 0", "new 0 -> 2"], "", 0, id="Recreate"),
    pytest.param(
        SPREAD_OF_REVISION,
        surge(1, 0),
        True,
        ["new 0 -> 1", "old 2 -> 1", "new 1 -> 2", "old 1 -> 0"],
        "",
        2,
        id="anti-affinity within a revision",
    ),
]


@pytest.mark.parametrize(("pod", "strategy", "finished", "steps", "message", "lowest"), STANDING)
def test_deployments(
    pod: Mapping[str, Any], strategy: Any, finished: bool, steps: list[str], message: str, lowest: int
) -> None:
    web = deployment(2, strategy, pod)
    cluster = make_cluster(nodes(2), [let_in(old) for old in pods_of(web, ON_2)], web)
    out = roll_out(Scheduler(cluster), restarted(web), admit=let_in)
    assert (out.finished, told(out), out.lowest) == (finished, steps, lowest)
    assert [message in group.message for group in out.waiting] == ([] if finished else [True])
    assert len(out.new) == (2 if finished else 1)
    assert bool(all(out.new.values())) is finished


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        # 25 % of 10: 3 pods more, 2 fewer. New ones are available before the controller looks again: 13 - 8 may go.
        (None, ["new 0 -> 3", "old 10 -> 5"]),
        (surge("25%", "25%"), ["new 0 -> 3", "old 10 -> 5"]),
        (surge("1%", "1%"), ["new 0 -> 1", "old 10 -> 9"]),
        # Both come to nothing: one may be unavailable.
        (surge(0, "1%"), ["old 10 -> 9", "new 0 -> 1"]),
        (surge("100%", 0), ["new 0 -> 10", "old 10 -> 0"]),
    ],
)
def test_the_first_steps_go_by_the_numbers_of_the_strategy(strategy: Any, expected: list[str]) -> None:
    web = deployment(10, strategy)
    out = roll(web, make_cluster(nodes(2), pods_of(web, ON_2 * 5), web))
    assert told(out)[:2] == expected
    assert out.finished
    assert out.lowest >= out.promised


def test_grace_holds_back_what_needs_the_room_of_old_pods() -> None:
    web = deployment(2, surge(0, 1), {**HALF, "terminationGracePeriodSeconds": 20})
    out = roll(web, make_cluster(nodes(2), pods_of(web, ON_2), web))
    assert out.finished
    assert 40 <= out.seconds < 60


def test_recreate_waits_until_all_old_pods_are_gone() -> None:
    web = deployment(2, {"type": "Recreate"}, {"terminationGracePeriodSeconds": 7})
    out = roll(web, make_cluster(nodes(2), pods_of(web, ON_2), web))
    old, new = out.steps
    assert (new.time - old.time).total_seconds() == pytest.approx(7, abs=0.1)


def test_minimum_of_seconds_ready_is_waited_for() -> None:
    web = deployment(2, surge(1, 0), minReadySeconds=60)
    out = roll(web, make_cluster(nodes(2), pods_of(web, ON_2), web))
    assert out.finished
    assert 120 <= out.seconds < 130


def test_volume_of_one_pod_at_a_time() -> None:
    volume = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
    claim = make_claim(modes=["ReadWriteOncePod"], bound="pv")
    objects = (claim, make_volume("pv", modes=["ReadWriteOncePod"], claim="default/data"), make_storage_class())
    answers = {}
    for strategy in ("surge", "Recreate"):
        web = deployment(1, surge(1, 0) if strategy == "surge" else {"type": strategy}, volume)
        answers[strategy] = roll(web, make_cluster(nodes(2), pods_of(web, ["n0"]), web, *objects))
    assert answers["Recreate"].finished
    assert not answers["surge"].finished
    (group,) = answers["surge"].waiting
    assert "ReadWriteOncePod" in group.message


def test_paused() -> None:
    web = deployment(2, paused=True)
    out = roll(web, make_cluster(nodes(2), pods_of(web, ON_2), web))
    assert (out.finished, out.steps, out.left) == (False, [], 2)
    assert "paused" in out.held


def test_pods_of_the_workload_are_not_made_again_besides() -> None:
    web = deployment(3)
    out = roll(web, make_cluster(nodes(2), pods_of(web, [*ON_2, "n0"]), web))
    assert out.finished
    assert len(out.new) == 3
    assert out.left == 0


def test_more_replicas_come_in_the_old_revision_first() -> None:
    web = deployment(2, surge(1, 0))
    cluster = make_cluster(nodes(2), pods_of(web, ON_2), web)
    out = roll(deployment(4, surge(1, 0)), cluster)
    assert told(out)[:2] == ["old 2 -> 4", "new 0 -> 1"]
    assert out.finished


def test_what_has_the_template_already_is_not_replaced() -> None:
    db = stateful_set(2)
    cluster = make_cluster(nodes(2), [], db)
    labels = made_by(db, cluster)[0].pod.metadata.labels
    pods = [make_pod(f"db-{i}", labels=labels, owner=STATEFUL, node=node) for i, node in enumerate(ON_2)]
    out = roll_out(Scheduler(make_cluster(nodes(2), pods, db)), db, admit=default_pod)
    assert (out.finished, out.steps, out.old, len(out.new)) == (True, [], 0, 2)


def stateful_set(replicas: int, pod: Mapping[str, Any] | None = None, **spec: Any) -> StatefulSet:
    labels = {"app": "db"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [make_container()], **(pod or {})}}
    own = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template, **spec}
    return msgspec.convert({"metadata": {"name": "db", "namespace": "default"}, "spec": own}, StatefulSet)


def members(where: list[str], **spec: Any) -> list[Pod]:
    labels = {"app": "db", "controller-revision-hash": "db-1"}
    return [
        make_pod(f"db-{i}", labels=labels, owner=STATEFUL, node=node, status={"phase": "Running"}, **spec)
        for i, node in enumerate(where)
    ]


def rolling(**fields: Any) -> dict[str, Any]:
    return {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": fields}}


STATEFUL_SETS = [
    pytest.param({}, ["db-2", "db-1", "db-0"], 2, id="one by one from the highest"),
    pytest.param(rolling(partition=2), ["db-2"], 2, id="partition"),
    pytest.param(rolling(partition=5), [], 3, id="partition beyond all"),
    pytest.param(rolling(maxUnavailable=2), ["db-2", "db-1", "db-0"], 1, id="maxUnavailable"),
    pytest.param({"podManagementPolicy": "Parallel"}, ["db-2", "db-1", "db-0"], 2, id="Parallel"),
]


@pytest.mark.parametrize(("spec", "gone", "lowest"), STATEFUL_SETS)
def test_stateful_sets(spec: dict[str, Any], gone: list[str], lowest: int) -> None:
    db = stateful_set(3, **spec)
    out = roll(db, make_cluster(nodes(2), members(["n0", "n1", "n0"]), db))
    deleted = [pod.partition("/")[2] for step in out.steps if step.after < step.before for pod in step.pods]
    made = sorted(pod.partition("/")[2] for step in out.steps if step.after > step.before for pod in step.pods)
    assert (out.finished, deleted, out.lowest) == (True, gone, lowest)
    assert made == sorted(gone)
    assert sorted(out.new) == sorted(f"default/{name}" for name in gone)


@pytest.mark.parametrize("name", ["stray", "db-x", "db-", "other-7", "../x", "db-99999999999999999999"])
def test_the_controller_ignores_pods_without_an_ordinal(name: str) -> None:
    db = stateful_set(2)
    stray = make_pod(name, labels={"app": "db"}, owner=STATEFUL, node="n0", status={"phase": "Running"})
    out = roll(db, make_cluster(nodes(2), [*members(ON_2), stray], db))
    assert out.finished
    assert sorted(out.new) == ["default/db-0", "default/db-1"]


def test_a_stateful_set_stands_still_at_the_pod_that_finds_no_node() -> None:
    db = stateful_set(3, {"containers": [make_container(requests={"cpu": "9"})]})
    out = roll(db, make_cluster(nodes(2), members(["n0", "n1", "n0"]), db))
    assert (out.finished, told(out)) == (False, ["old 3 -> 2", "new 0 -> 1"])
    (group,) = out.waiting
    assert group.new == ("default/db-2",)
    assert "Insufficient cpu" in group.message
    assert (out.left, out.lowest) == (2, 2)


def test_an_old_pod_that_waits_holds_an_ordered_stateful_set_up() -> None:
    big = {"containers": [make_container(requests={"cpu": "9"})]}
    pods = [*members(["n0"]), *members(["n0", ""], **big)[1:]]
    ordered, parallel = stateful_set(2), stateful_set(2, podManagementPolicy="Parallel")
    assert not roll(ordered, make_cluster(nodes(2), pods, ordered)).finished
    assert roll(parallel, make_cluster(nodes(2), pods, parallel)).finished


def test_on_delete_nothing_happens_by_itself() -> None:
    db = stateful_set(2, updateStrategy={"type": "OnDelete"})
    out = roll(db, make_cluster(nodes(2), members(ON_2), db))
    assert (out.finished, out.steps) == (False, [])
    assert "OnDelete" in out.held


def test_claims_are_kept_and_tie_the_new_pod_to_its_volume() -> None:
    claims = [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]
    db = stateful_set(1, volumeClaimTemplates=claims)
    objects = (
        make_claim("data-db-0", bound="pv"),
        make_volume("pv", claim="default/data-db-0", affinity={"kubernetes.io/hostname": ["n1"]}),
        make_storage_class(),
    )
    out = roll(db, make_cluster(nodes(3), members(["n1"]), db, *objects))
    assert out.new == {"default/db-0": "n1"}


@pytest.mark.parametrize(
    ("workload", "problem"),
    [
        (make_pod("p"), "the rollout of a Pod is not modelled"),
        (deployment(2, surge(0, 0)), "may not be 0"),
        (deployment(2, surge("a", 0)), '"a" is neither'),
        (deployment(2, surge(-1, 0)), '"-1" is neither'),
        (deployment(2, {"type": "Canary"}), '"Canary" is not a strategy'),
        (stateful_set(1), "the cluster has no StatefulSet default/db"),
        (deployment(10_001), "10,001 pods would be created one by one"),
    ],
)
def test_what_is_refused(workload: ApiObject, problem: str) -> None:
    web = deployment(2)
    with pytest.raises(ManifestError, match=problem):
        roll(workload, make_cluster(nodes(2), pods_of(web, ON_2), web))


@given(
    replicas=st.integers(1, 6),
    most=st.sampled_from([0, 1, 2, "25%", "100%"]),
    unavailable=st.sampled_from([0, 1, 3, "25%", "100%"]),
    cpu=st.sampled_from(["0", "1", "3"]),
    pod=st.sampled_from([{}, APART, {"terminationGracePeriodSeconds": 0}]),
    n_nodes=st.integers(1, 6),
)
@settings(max_examples=scaled(60), deadline=None)
def test_what_the_strategy_promises_is_kept(
    replicas: int, most: Any, unavailable: Any, cpu: str, pod: dict[str, Any], n_nodes: int
) -> None:
    """Whatever fits: never fewer are available than promised, never more there, and what finishes is all new."""
    if most == 0 and unavailable == 0:
        return
    spec = {**pod, "containers": [make_container(requests={"cpu": cpu})]}
    web = deployment(replicas, surge(most, unavailable), spec)
    where = [f"n{i % n_nodes}" for i in range(replicas)]
    out = roll(web, make_cluster(nodes(n_nodes), pods_of(web, where), web))
    assert out.lowest >= out.promised
    n_old, n_new = replicas, 0
    for step in out.steps:
        assert step.before == (n_old if step.revision == "old" else n_new)
        n_old, n_new = (step.after, n_new) if step.revision == "old" else (n_old, step.after)
        # 100 % of at most 6, else 2 or a quarter.
        assert n_old + n_new <= replicas + (replicas if most == "100%" else 2)
    assert out.finished is (not n_old and n_new == replicas and not out.waiting)
    if not out.finished:
        assert out.waiting


@pytest.mark.parametrize(
    ("wanted", "n_pods", "first"),
    [
        pytest.param(6, 6, "new 0 -> 2", id="all old pods exist"),
        pytest.param(6, 4, "new 0 -> 2", id="the old ReplicaSet lacks pods: it counts with spec.replicas"),
        pytest.param(4, 4, "new 0 -> 4", id="the old ReplicaSet wants fewer pods"),
    ],
)
def test_the_new_replica_set_grows_by_what_all_replica_sets_leave(wanted: int, n_pods: int, first: str) -> None:
    web = deployment(6, surge(2, 1))
    own = make_object(
        ReplicaSet, "web-1", namespace="default", labels={"pod-template-hash": "1"}, spec={"replicas": wanted}
    )
    owner = msgspec.convert(
        {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True}, OwnerReference
    )
    own = msgspec.structs.replace(own, metadata=msgspec.structs.replace(own.metadata, owner_references=(owner,)))
    out = roll(web, make_cluster(nodes(6), pods_of(web, [f"n{i}" for i in range(n_pods)]), web, own))
    assert told(out)[0] == first
    assert (out.finished, out.lowest) == (True, min(n_pods, 5))
