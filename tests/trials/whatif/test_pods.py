"""ResourceClaims when pods are removed and added."""

from typing import Any

import pytest

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import ManifestError, SnapshotError
from kschedctl.controllers.workloads.template import fresh_pod
from kschedctl.objects.device import ResourceClaim, ResourceClaimTemplate
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import LATEST
from kschedctl.objects.volume import PersistentVolumeClaim
from kschedctl.objects.workload import CronJob, DaemonSet, Deployment, Job, ReplicaSet, StatefulSet
from kschedctl.trials.whatif.pods import move_pods, successor, with_pods_of, workload_pods
from tests.builders import (
    HOSTNAME,
    decide,
    make_cluster,
    make_container,
    make_node,
    make_object,
    make_pod,
    make_storage_class,
    mount,
)
from tests.builders import make_claim as workload_pods_make_claim
from tests.scheduler.devices.builders import claiming_pod, make_claim, make_class, make_slice, request

TEMPLATE = make_object(
    ResourceClaimTemplate, "gpus", namespace="default", spec={"spec": {"devices": {"requests": [request()]}}}
)


def templated(name: str, claim: str, **fields: Any) -> Pod:
    """Return a pod whose claim is created from a template."""
    entry = {"name": "gpu", "resourceClaimTemplateName": "gpus"}
    status = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": claim}]}
    return make_pod(name, resourceClaims=[entry], status=status if claim else {}, **fields)


def held(name: str, *pods: str, **fields: Any) -> ResourceClaim:
    return make_claim(name, holds=[f"a/{name}"], node="a", reserved=pods, **fields)


def shown(claims: Any) -> dict[str, str]:
    """Return per claim the pods for which it is reserved, or that it has no devices."""
    return {
        claim.name: " ".join(user.name for user in claim.status.reserved_for) or "nobody"
        if claim.status.allocation is not None
        else "no devices"
        for claim in claims
    }


@pytest.mark.parametrize(
    ("claims", "left", "freed"),
    [
        pytest.param([held("c", "x")], {"c": "no devices"}, ("default/c",), id="its last pod goes"),
        pytest.param([held("c", "x", "y")], {"c": "y"}, (), id="another pod stays"),
        pytest.param([held("c", "y")], {"c": "y"}, (), id="a pod that is not meant"),
        pytest.param([held("c")], {"c": "nobody"}, (), id="one that was reserved for nobody keeps them"),
        pytest.param([held("c", "x", owner="x")], {}, ("default/c",), id="one that was made for the pod goes with it"),
        pytest.param([make_claim("c", owner="x")], {}, (), id="also without devices"),
        pytest.param(
            [held("c", "x"), held("d", "x", "y"), held("e", "x")],
            {"c": "no devices", "d": "y", "e": "no devices"},
            ("default/c", "default/e"),
            id="several",
        ),
    ],
)
def test_a_pod_goes(claims: list[ResourceClaim], left: dict[str, str], freed: tuple[str, ...]) -> None:
    pods = [make_pod("x", node="a"), make_pod("y", node="a"), make_pod("x", namespace="other", node="a")]
    cluster = make_cluster([make_node("a")], pods, *claims)
    moved = move_pods(cluster, removed=[0])
    assert shown(moved.cluster.list(ResourceClaim)) == left
    assert moved.freed == freed
    assert shown(cluster.list(ResourceClaim)) == shown(claims)


def test_what_is_told() -> None:
    claims = [held("c", "x"), held("d", "x")]
    cluster = make_cluster([make_node("a")], [make_pod("x", node="a"), make_pod("y", node="a")], *claims)
    assert move_pods(cluster, removed=[0]).told == ("2 ResourceClaims (default/c and default/d) release their devices",)
    assert move_pods(cluster, removed=[1]).told == ()


def test_a_pod_in_the_place_of_another_gets_a_claim_of_its_own() -> None:
    """The new pod has its own claim, and finds the device that the old pod had."""
    old = templated("x", "x-gpu-f7k2p", node="a")
    cluster = make_cluster(
        [make_node("a")],
        [old],
        TEMPLATE,
        make_class(),
        make_slice("s", node="a"),
        make_claim("x-gpu-f7k2p", holds=["a/gpu-0"], node="a", reserved=["x"], owner="x"),
    )
    moved = move_pods(cluster, removed=[0], added=[fresh_pod(old)])
    assert [claim.name for claim in moved.cluster.list(ResourceClaim)] == ["x-gpu"]
    new = moved.cluster.pods.pod(moved.cluster.pods.index["default", "x"])
    assert decide(new, moved.cluster).best == ("a",)
    assert decide(claiming_pod("x-gpu-f7k2p"), moved.cluster).best == ()


def test_a_pod_whose_template_is_not_there_waits_for_its_claim() -> None:
    cluster = make_cluster([make_node("a")], [])
    moved = move_pods(cluster, added=[templated("x", "")])
    decision = decide(moved.cluster.pods.pod(0), moved.cluster)
    assert decision.pre_enqueue.message == 'pod "default/x": ResourceClaim not created yet'


APP = {"app": "web"}
SELECTOR = {"matchLabels": APP}
SCRATCH = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}}
HASHED = {**APP, "pod-template-hash": "1"}
OF_SET = ("apps/v1", "ReplicaSet", "web-1")
OF_JOB = ("batch/v1", "Job", "web")
OF_DB = ("apps/v1", "StatefulSet", "db")
OF_DAEMON = ("apps/v1", "DaemonSet", "web")
DISK = {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}


def template(labels: dict[str, str] = APP, cpu: str = "1", **pod: Any) -> dict[str, Any]:
    return {"metadata": {"labels": labels}, "spec": {"containers": [make_container(requests={"cpu": cpu})], **pod}}


def deployment(replicas: int, **pod: Any) -> list[ApiObject]:
    """A Deployment with the ReplicaSet that it has created."""
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True}
    metadata = {"name": "web-1", "namespace": "default", "labels": HASHED, "ownerReferences": [owner]}
    spec = {"selector": {"matchLabels": HASHED}, "replicas": replicas, "template": template(HASHED, **pod)}
    own = {"selector": SELECTOR, "replicas": replicas, "template": template(**pod)}
    return [
        make_object(Deployment, "web", namespace="default", spec=own),
        make_object(ReplicaSet, "web-1", metadata=metadata, spec=spec),
    ]


def stateful_set(replicas: int, *, status: dict[str, Any] | None = None, **spec: Any) -> StatefulSet:
    fields = {"selector": SELECTOR, "replicas": replicas, "template": template(), **spec}
    return make_object(StatefulSet, "db", namespace="default", spec=fields, status=status or {})


def job(**spec: Any) -> Job:
    return make_object(Job, "web", namespace="default", spec={"template": template(), **spec})


def web(*nodes: str, owner: tuple[str, str, str] = OF_SET, **fields: Any) -> list[Pod]:
    """Pods of a workload, one per node; those on the node "" are pending."""
    names = [f"web-1-{i}" if owner is OF_SET else f"{owner[2]}-{i}" for i in range(len(nodes))]
    fields = {"requests": {"cpu": "1"}, "labels": HASHED if owner is OF_SET else APP, **fields}
    return [make_pod(name, node=node, owner=owner, **fields) for name, node in zip(names, nodes, strict=True)]


LEAVING = web("", "", "a", terminating=True)[2:]


@pytest.mark.parametrize(
    ("objects", "pods", "more", "expected"),
    [
        pytest.param(deployment(3), [], 0, ([], [], ["web-1-xxxxx x3"]), id="nothing exists yet"),
        pytest.param(
            deployment(3), web("a", ""), 0, (["web-1-0"], ["web-1-1"], ["web-1-xxxxx x1"]), id="pending pods exist"
        ),
        pytest.param(deployment(1), web("a", ""), 0, (["web-1-0"], ["web-1-1"], []), id="a surplus pod exists too"),
        pytest.param(deployment(2), web("a", "b"), 1, (["web-1-0", "web-1-1"], [], ["web-1-xxxxx x1"]), id="one more"),
        pytest.param(
            deployment(3), [*web("a", "b"), *LEAVING], 0, (["web-1-0", "web-1-1"], [], ["web-1-xxxxx x1"]), id="leaving"
        ),
        pytest.param(deployment(0), [], 1, ([], [], ["web-1-xxxxx x1"]), id="scaled to zero, one more"),
        pytest.param(
            [job(parallelism=3, completions=3)],
            web("a", "", owner=OF_JOB),
            0,
            (["web-0"], ["web-1"], ["web-xxxxx x1"]),
            id="a Job counts its pods",
        ),
        pytest.param(
            [
                make_object(
                    CronJob, "web", namespace="default", spec={"jobTemplate": {"spec": {"template": template()}}}
                )
            ],
            [],
            0,
            ([], [], ["web-xxxxxxxx-xxxxx x1"]),
            id="the next Job of a CronJob",
        ),
        pytest.param(
            [stateful_set(4)],
            [make_pod(f"db-{i}", node=node, owner=OF_DB) for i, node in ((0, "a"), (2, ""))],
            0,
            (["db-0"], ["db-2"], ["db-1 x1", "db-3 x1"]),
            id="ordinals that lack",
        ),
        pytest.param(
            [stateful_set(1)],
            [make_pod("db-0", node="a", owner=OF_DB), make_pod("db-7", node="a", owner=OF_DB, terminating=True)],
            1,
            (["db-0"], [], ["db-1 x1"]),
            id="the next ordinal",
        ),
        pytest.param(
            [stateful_set(2)],
            [make_pod("db-0", node="a", owner=OF_DB, terminating=True)],
            0,
            ([], [], ["db-1 x1"]),
            id="a terminating pod keeps its ordinal",
        ),
        pytest.param(
            [make_object(DaemonSet, "web", namespace="default", spec={"selector": SELECTOR, "template": template()})],
            [
                make_pod("web-0", node="a", owner=OF_DAEMON),
                make_pod(
                    "web-1",
                    owner=OF_DAEMON,
                    affinity={
                        "nodeAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": {
                                "nodeSelectorTerms": [
                                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}
                                ]
                            }
                        }
                    },
                ),
            ],
            0,
            (["web-0"], ["web-1"], ["web-xxxxb x1"]),
            id="the nodes that lack the pod of a DaemonSet",
        ),
    ],
)
def test_existing_and_missing_pods(
    objects: list[ApiObject], pods: list[Pod], more: int, expected: tuple[list[str], list[str], list[str]]
) -> None:
    cluster = make_cluster([make_node(name) for name in "abc"], pods, *objects)
    found = workload_pods(cluster, objects[0], more=more)
    records = cluster.pods.records
    existing = [[records[i].metadata.name for i in of] for of in (found.running, found.pending)]
    assert (*existing, [f"{one.pod.name} x{one.replicas}" for one in found.missing]) == expected
    assert found.wanted == len(found.running) + len(found.pending) + sum(o.replicas for o in found.missing) - more


SIDECAR = make_container("proxy", requests={"cpu": "100m"})
LARGE = make_container(requests={"cpu": "3"})


def missing_pod(cluster: Cluster, workload: ApiObject) -> Pod:
    (made,) = workload_pods(cluster, workload, more=1).missing
    return made.pod


def amounts(pod: Pod) -> dict[str, object]:
    return {container.name: container.resources.requests.get("cpu") for container in pod.spec.containers}


def test_a_missing_pod_has_the_amounts_of_the_template_and_the_containers_of_webhooks() -> None:
    (pod,) = web("a", requests=None, containers=[LARGE, SIDECAR], nodeSelector={"pool": "web"})
    objects = deployment(1)
    made = missing_pod(make_cluster([make_node("a")], [pod], *objects), objects[0])
    assert (amounts(made), made.spec.node_selector) == ({"c": "1", "proxy": "100m"}, {"pool": "web"})
    # A pod of another revision shows nothing about the pods of the new one.
    changed = deployment(1, nodeSelector={"pool": "other"})[0]
    made = missing_pod(make_cluster([make_node("a")], [pod], *objects), changed)
    assert (amounts(made), made.spec.node_selector) == ({"c": "1"}, {"pool": "other"})


def test_without_a_template_the_newest_pod_is_copied() -> None:
    (pod,) = web("a", requests=None, containers=[LARGE], owner=("apps/v1", "ReplicaSet", "web"))
    bare = make_object(ReplicaSet, "web", namespace="default", spec={"replicas": 2})
    (made,) = workload_pods(make_cluster([make_node("a")], [pod], bare), bare).missing
    assert (made.pod.name, amounts(made.pod), made.replicas) == ("web-xxxxx", {"c": "3"}, 1)
    # The same where the snapshot lacks the ReplicaSets of a Deployment; then its template has the amounts.
    (pod,) = web("a", requests=None, containers=[LARGE, SIDECAR])
    own = deployment(2)[0]
    (made,) = workload_pods(make_cluster([make_node("a")], [pod], own), own).missing
    assert (made.pod.metadata.labels, amounts(made.pod)) == (HASHED, {"c": "1", "proxy": "100m"})


def test_a_missing_ordinal_has_claims_of_its_own_with_the_default_class() -> None:
    own = stateful_set(2, volumeClaimTemplates=[DISK])
    first = make_pod(
        "db-0",
        node="a",
        owner=OF_DB,
        volumes=[{**mount("data-db-0")[0], "name": "data"}, {**mount("shared")[0], "name": "shared"}],
    )
    bound = workload_pods_make_claim("data-db-0", bound="pv", storage_class="old")
    default = make_storage_class("standard", default=True)
    cluster = make_cluster([make_node("a")], [first], own, bound, default)
    (made,) = workload_pods(cluster, own).missing
    claims = {
        volume.name: volume.persistent_volume_claim.claim_name
        for volume in made.pod.spec.volumes
        if volume.persistent_volume_claim is not None
    }
    assert claims == {"data": "data-db-1", "shared": "shared"}
    assert [(claim.name, claim.spec.storage_class_name) for claim in made.claims] == [("data-db-1", "standard")]


def test_every_replica_has_claims_of_its_own_and_they_share_their_controller() -> None:
    spec = {"selector": SELECTOR, "replicas": 2, "template": template(volumes=[SCRATCH])}
    owner = make_object(ReplicaSet, "web", namespace="shop", spec=spec)
    cluster, n_added = with_pods_of(make_cluster(nodes=[make_node()]), owner, release=LATEST)
    assert n_added == 2
    names = [name for _, name in cluster.pods.index]
    assert [claim.name for claim in cluster.list(PersistentVolumeClaim)] == [f"{name}-scratch" for name in names]
    assert list(cluster.list(ReplicaSet)) == [owner]


@pytest.mark.parametrize("kind", [ReplicaSet, StatefulSet])
@pytest.mark.parametrize(
    ("replicas", "n_before", "number"), [(10_001, 0, "10,001"), (10_000, 1, "10,001"), (2**31 - 1, 0, "2,147,483,647")]
)
def test_the_number_of_pods_is_checked_before_any_is_created(
    kind: type[ApiObject], replicas: int, n_before: int, number: str
) -> None:
    spec = {"selector": SELECTOR, "template": template(), "replicas": replicas}
    owner = make_object(kind, "web", namespace="shop", spec=spec)
    with pytest.raises(ManifestError, match=f"{number} pods would be created one by one, and at most 10,000 can be"):
        with_pods_of(make_cluster(nodes=[make_node()]), owner, release=LATEST, n_before=n_before)


def test_pods_that_exist_do_not_count() -> None:
    objects = deployment(3)
    cluster = make_cluster([make_node("a")], web("a", "a"), *objects)
    _, n_added = with_pods_of(cluster, objects[0], release=LATEST, n_before=9_999)
    assert n_added == 1


def test_the_missing_ordinals_of_a_stateful_set_are_added_by_their_names() -> None:
    own = stateful_set(3)
    pods = [make_pod("db-1", node="a", owner=OF_DB)]
    cluster, n_added = with_pods_of(make_cluster([make_node("a")], pods, own), own, release=LATEST)
    assert n_added == 2
    assert sorted(name for _, name in cluster.pods.index) == ["db-0", "db-1", "db-2"]


REVISIONS = {"updateRevision": "db-2"}
OLD, NEW = ({**APP, "controller-revision-hash": f"db-{n}"} for n in (1, 2))
PARTITION = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}}


def old_db(name: str = "db-0") -> Pod:
    return make_pod(name, node="a", owner=OF_DB, labels=OLD, containers=[LARGE], nodeSelector={HOSTNAME: "a"})


@pytest.mark.parametrize(
    ("pod", "objects", "cpu", "selected"),
    [
        pytest.param(web("a", requests={"cpu": "3"})[0], deployment(1), "1", "", id="resized"),
        pytest.param(
            web("a", requests={"cpu": "1000m"})[0], deployment(1), "1000m", "", id="equal amounts keep their spelling"
        ),
        pytest.param(web("a", requests={"cpu": "3"})[0], [], "3", "", id="the snapshot has no owner"),
        pytest.param(make_pod(requests={"cpu": "3"}), deployment(1), "3", "", id="no owner"),
        pytest.param(old_db(), [stateful_set(1, status={})], "1", "a", id="of an unknown revision"),
        pytest.param(old_db(), [stateful_set(1, status=REVISIONS)], "1", "", id="of the newer template"),
        pytest.param(
            old_db(),
            [stateful_set(2, status=REVISIONS, **PARTITION)],
            "1",
            "a",
            id="of the old one below the partition",
        ),
        pytest.param(
            old_db("db-1"), [stateful_set(2, status=REVISIONS, **PARTITION)], "1", "", id="of the newer one above it"
        ),
    ],
)
def test_the_pod_in_place_of_another(pod: Pod, objects: list[ApiObject], cpu: str, selected: str) -> None:
    new = successor(pod, make_cluster([make_node("a")], [pod], *objects), release=LATEST)
    assert new.name == pod.name
    assert (new.spec.node_name, new.status.phase) == ("", "Pending")
    assert amounts(new) == {"c": cpu}
    assert new.spec.node_selector.get(HOSTNAME, "") == selected


@pytest.mark.parametrize("annotation", ["vpaUpdates", "vpaInPlaceUpdated"])
def test_an_autoscaler_gives_the_next_pod_its_amounts_as_well(annotation: str) -> None:
    (pod,) = web("a", requests={"cpu": "3"})
    pod.metadata.annotations[annotation] = "true"
    new = successor(pod, make_cluster([make_node("a")], [pod], *deployment(1)), release=LATEST)
    assert amounts(new) == {"c": "3"}


def test_image_and_gates_are_those_of_the_template() -> None:
    objects = deployment(1, schedulingGates=[{"name": "wait"}])
    (pod,) = web("a", requests=None, containers=[{**make_container(requests={"cpu": "1"}), "image": "other:2"}])
    new = successor(pod, make_cluster([make_node("a")], [pod], *objects), release=LATEST)
    assert [container.image for container in new.spec.containers] == ["registry.example/app:1"]
    assert [gate.name for gate in new.spec.scheduling_gates] == ["wait"]


def test_a_template_with_a_wrong_amount_is_an_error_with_its_place() -> None:
    (pod,) = web("a")
    objects = deployment(1, containers=[make_container(requests={"cpu": "much"})])
    with pytest.raises(SnapshotError) as caught:
        successor(pod, make_cluster([make_node("a")], [pod], *objects), release=LATEST)
    assert "spec.template.spec.containers[0].resources.requests.cpu" in str(caught.value)
