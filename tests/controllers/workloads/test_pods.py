"""Pods of every kind that creates pods, and the messages about all other kinds."""

from typing import Any

import pytest
from msgspec.structs import replace

from kschedctl.common.errors import ManifestError
from kschedctl.controllers.workloads.pods import WORKLOADS, another, pods_of
from kschedctl.controllers.workloads.template import MadePod, template_hash, uid_of
from kschedctl.objects.core import Node, Service
from kschedctl.objects.kinds import KINDS
from kschedctl.objects.meta import ApiObject, OwnerReference
from kschedctl.objects.pod import Pod
from kschedctl.objects.quantity import QUANTITY_HINT
from kschedctl.objects.volume import PersistentVolumeClaim
from kschedctl.objects.workload import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    PodTemplate,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from tests.builders import make_claim, make_cluster, make_container, make_node, make_object, make_pod, mount

APP = {"app": "web"}
SPEC = {"containers": [make_container()]}
TEMPLATE = {"metadata": {"labels": APP, "annotations": {"note": "n"}, "name": "ignored"}, "spec": SPEC}
EPHEMERAL = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}}
SELECTED = {"selector": {"matchLabels": APP}, "template": TEMPLATE}


def test_a_pod_is_taken_as_it_is() -> None:
    pod = make_object(Pod, "pod", namespace="shop", spec=SPEC)
    (made,) = pods_of(pod, make_cluster())
    assert made.pod is pod
    assert (made.replicas, made.objects) == (1, ())


def test_a_pod_template_makes_a_pod_that_nobody_owns() -> None:
    (made,) = pods_of(make_object(PodTemplate, "web", template=TEMPLATE), make_cluster())
    metadata = made.pod.metadata
    assert (metadata.name, metadata.namespace, metadata.owner_references) == ("web-xxxxx", "default", ())
    assert (metadata.labels, metadata.annotations) == (APP, {"note": "n"})


@pytest.mark.parametrize(
    "obj",
    [
        make_object(Deployment, "web", spec=SELECTED),
        make_object(StatefulSet, "web", spec=SELECTED),
        make_object(DaemonSet, "web", spec=SELECTED),
        make_object(ReplicaSet, "web", spec=SELECTED),
        make_object(Job, "web", spec={"template": TEMPLATE}),
        make_object(CronJob, "web", spec={"jobTemplate": {"spec": {"template": TEMPLATE}}}),
    ],
    ids=lambda obj: type(obj).__name__,
)
def test_what_every_controller_does(obj: ApiObject) -> None:
    cluster = make_cluster([make_node()])
    (made,) = pods_of(obj, cluster)
    metadata = made.pod.metadata
    assert metadata.namespace == "default"
    assert metadata.labels.items() >= APP.items()
    assert metadata.annotations.items() >= {"note": "n"}.items()
    assert [owner.controller for owner in metadata.owner_references] == [True]
    assert pods_of(obj, cluster) == (made,)


def test_claims_of_ephemeral_volumes_are_made() -> None:
    pod = make_object(Pod, "pod", namespace="shop", spec={**SPEC, "volumes": [EPHEMERAL]})
    (made,) = pods_of(pod, make_cluster())
    (claim,) = made.claims
    (owner,) = claim.metadata.owner_references
    assert (claim.name, claim.namespace, claim.spec.storage_class_name) == ("pod-scratch", "shop", "fast")
    assert (owner.kind, owner.name, owner.uid, owner.controller) == ("Pod", "pod", pod.metadata.uid, True)
    (again,) = pods_of(pod, make_cluster([], [], claim))
    assert again.claims == ()


def test_all_workloads_can_be_read() -> None:
    assert set(WORKLOADS) <= set(KINDS.values())


def without(key: str, **fields: Any) -> dict[str, Any]:
    return {name: value for name, value in {**SELECTED, **fields}.items() if name != key}


@pytest.mark.parametrize(
    ("obj", "text"),
    [
        pytest.param(
            make_object(Service, "web"),
            "f.yaml: a Service creates no pods\n  kinds that create pods: Pod, Deployment, StatefulSet, DaemonSet, "
            "ReplicaSet, Job, CronJob, ReplicationController, PodTemplate",
            id="a kind that makes no pods",
        ),
        pytest.param(
            make_object(Deployment, "web", spec=without("template")),
            "f.yaml: spec.template: is missing\n  add the pod template",
            id="no template",
        ),
        pytest.param(
            make_object(CronJob, "web"),
            "f.yaml: spec.jobTemplate.spec.template: is missing\n  add the pod template",
            id="no template of a Job",
        ),
        pytest.param(
            make_object(PodTemplate, "web"),
            "f.yaml: template: is missing\n  add the pod template",
            id="an empty PodTemplate",
        ),
        pytest.param(
            make_object(DaemonSet, "web", spec=without("selector")),
            "f.yaml: spec.selector: is missing or empty\n  set matchLabels to labels of the template",
            id="no selector",
        ),
        pytest.param(
            make_object(StatefulSet, "web", spec=without("", selector={"matchLabels": {"app": "db"}})),
            "f.yaml: spec.template.metadata.labels: `selector` does not match template `labels`\n"
            "  spec.selector requires app=db",
            id="a selector that selects other pods",
        ),
        pytest.param(
            make_object(
                ReplicaSet, "web", spec=without("", selector={"matchExpressions": [{"key": "app", "operator": "Is"}]})
            ),
            'f.yaml: spec.selector.matchExpressions[0].operator: "Is" is not a selector operator; '
            "operators: In, NotIn, Exists, DoesNotExist",
            id="a selector that is none",
        ),
        pytest.param(
            make_object(
                Deployment,
                "web",
                spec=without(
                    "", template={**TEMPLATE, "spec": {"containers": [make_container(requests={"cpu": "lots"})]}}
                ),
            ),
            'f.yaml: spec.template.spec.containers[0].resources.requests.cpu: "lots" is not a quantity\n  '
            + QUANTITY_HINT,
            id="a quantity that is none",
        ),
    ],
)
def test_refused(obj: ApiObject, text: str) -> None:
    with pytest.raises(ManifestError) as refused:
        pods_of(obj, make_cluster(), where="f.yaml")
    assert str(refused.value) == text


JOB_TEMPLATE = {"metadata": {"labels": {"app": "report"}}, "spec": {"containers": [make_container()]}}


def job(*, succeeded: int = 0, **spec: Any) -> Job:
    return make_object(
        Job, "report", namespace="shop", spec={"template": JOB_TEMPLATE, **spec}, status={"succeeded": succeeded}
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(job(), 1, id="one by default"),
        pytest.param(job(succeeded=1), 0, id="done"),
        pytest.param(job(parallelism=3), 3, id="a work queue"),
        pytest.param(job(parallelism=3, succeeded=1), 0, id="a work queue that is empty"),
        pytest.param(job(completions=5), 1, id="one after the other"),
        pytest.param(job(completions=5, parallelism=3), 3, id="three at once"),
        pytest.param(job(completions=5, parallelism=3, succeeded=4), 1, id="the last one"),
        pytest.param(job(parallelism=0), 0, id="paused"),
        pytest.param(job(suspend=True), 0, id="suspended"),
    ],
)
def test_replicas(given: Job, expected: int) -> None:
    (made,) = pods_of(given, make_cluster())
    assert made.replicas == expected


def test_labels_and_owner() -> None:
    given = job()
    (made,) = pods_of(given, make_cluster())
    uid = uid_of(given)
    assert made.pod.metadata.name == "report-xxxxx"
    assert made.pod.metadata.labels == {
        "app": "report",
        "job-name": "report",
        "batch.kubernetes.io/job-name": "report",
        "controller-uid": uid,
        "batch.kubernetes.io/controller-uid": uid,
    }
    (reference,) = made.pod.metadata.owner_references
    assert (reference.api_version, reference.kind, reference.name, reference.uid) == ("batch/v1", "Job", "report", uid)


def test_labels_that_a_stored_job_has_stay() -> None:
    labels = {"job-name": "report", "controller-uid": "7"}
    template = {**JOB_TEMPLATE, "metadata": {"labels": labels}}
    (made,) = pods_of(job(template=template), make_cluster())
    assert made.pod.metadata.labels["controller-uid"] == "7"


def test_a_manual_selector_adds_no_labels() -> None:
    (made,) = pods_of(job(manualSelector=True), make_cluster())
    assert made.pod.metadata.labels == {"app": "report"}


def test_an_indexed_job_is_told_by_its_first_index() -> None:
    (made,) = pods_of(job(completionMode="Indexed", completions=4, parallelism=2), make_cluster())
    index = {"batch.kubernetes.io/job-completion-index": "0"}
    assert made.replicas == 2
    assert made.pod.metadata.name == "report-0-xxxxx"
    assert made.pod.metadata.labels.items() >= index.items()
    assert made.pod.metadata.annotations == index


@pytest.mark.parametrize(
    ("spec", "replicas"), [pytest.param({}, 1, id="runs"), pytest.param({"suspend": True}, 0, id="suspended")]
)
def test_a_cron_job_runs_its_pods_through_a_job(spec: dict[str, Any], replicas: int) -> None:
    job_template = {"metadata": {"labels": {"team": "a"}}, "spec": {"template": JOB_TEMPLATE}}
    given = make_object(CronJob, "nightly", namespace="shop", spec={"jobTemplate": job_template, **spec})
    (made,) = pods_of(given, make_cluster())
    assert made.replicas == replicas
    assert made.pod.metadata.name == "nightly-xxxxxxxx-xxxxx"
    assert made.pod.metadata.labels["job-name"] == "nightly-xxxxxxxx"
    (reference,) = made.pod.metadata.owner_references
    assert (reference.api_version, reference.kind, reference.name) == ("batch/v1", "Job", "nightly-xxxxxxxx")


DAEMON_SET_APP = {"app": "agent"}
NODES = [
    make_node("plain", zone="a"),
    make_node("gpu", zone="b", taints=["gpu=yes:NoSchedule"]),
    make_node("soft", zone="a", taints=["busy:PreferNoSchedule"]),
    make_node("away", zone="b", taints=["away:NoExecute"]),
    make_node("cordoned", zone="b", unschedulable=True, taints=["node.kubernetes.io/unschedulable:NoSchedule"]),
    make_node("starting", zone="a", taints=["node.kubernetes.io/network-unavailable:NoSchedule"]),
]


def daemon_set(**spec: Any) -> DaemonSet:
    template = {"metadata": {"labels": DAEMON_SET_APP}, "spec": {"containers": [make_container()], **spec}}
    fields = {"selector": {"matchLabels": DAEMON_SET_APP}, "template": template}
    return make_object(DaemonSet, "agent", namespace="kube-system", spec=fields)


def in_zone(zone: str) -> dict[str, Any]:
    expression = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


@pytest.mark.parametrize(
    ("spec", "nodes"),
    [
        pytest.param({}, "plain soft cordoned", id="taints of its own make are tolerated"),
        pytest.param({"hostNetwork": True}, "plain soft cordoned starting", id="a node without network"),
        pytest.param(
            {"tolerations": [{"operator": "Exists"}]},
            "plain gpu soft away cordoned starting",
            id="tolerates everything",
        ),
        pytest.param(
            {"tolerations": [{"key": "gpu", "value": "yes"}]}, "plain gpu soft cordoned", id="tolerates one more taint"
        ),
        pytest.param({"nodeSelector": {"topology.kubernetes.io/zone": "a"}}, "plain soft", id="node selector"),
        pytest.param({"affinity": in_zone("b")}, "cordoned", id="node affinity"),
        pytest.param({"nodeName": "soft"}, "soft", id="a node's name"),
        pytest.param({"nodeSelector": {"disk": "ssd"}}, "", id="no node at all"),
    ],
)
def test_nodes(spec: dict[str, Any], nodes: str) -> None:
    made = pods_of(daemon_set(**spec), make_cluster(NODES))
    assert " ".join(one.node for one in made) == nodes
    assert all(one.replicas == 1 for one in made)
    assert len({one.pod.name for one in made}) == len(made)


def test_the_pod_is_for_its_node_alone() -> None:
    preferred = [{"weight": 1, "preference": {"matchFields": []}}]
    affinity = in_zone("a")
    affinity["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
    affinity["podAntiAffinity"] = {}
    given = daemon_set(affinity=affinity)
    first, _ = pods_of(given, make_cluster(NODES))
    assert given.spec.template is not None
    assert given.spec.template.spec.affinity is not None
    own = first.pod.spec.affinity
    assert own is not None
    assert own.node_affinity is not None
    required = own.node_affinity.required_during_scheduling_ignored_during_execution
    assert required is not None
    (term,) = required.node_selector_terms
    (field,) = term.match_fields
    assert (term.match_expressions, field.key, field.operator, field.values) == ((), "metadata.name", "In", ("plain",))
    # Nothing else of the affinity is touched.
    before = given.spec.template.spec.affinity
    assert before.node_affinity is not None
    node_affinity = replace(before.node_affinity, required_during_scheduling_ignored_during_execution=required)
    assert own == replace(before, node_affinity=node_affinity)


DAEMON = [
    "not-ready:NoExecute",
    "unreachable:NoExecute",
    "disk-pressure:NoSchedule",
    "memory-pressure:NoSchedule",
    "pid-pressure:NoSchedule",
    "unschedulable:NoSchedule",
]


def own_toleration(seconds: int | None) -> dict[str, Any]:
    own = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
    return own if seconds is None else {**own, "tolerationSeconds": seconds}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, DAEMON, id="in the controller's order"),
        pytest.param({"hostNetwork": True}, [*DAEMON, "network-unavailable:NoSchedule"], id="on the host's network"),
        pytest.param(
            {"tolerations": [own_toleration(30)]},
            ["unreachable:NoExecute", "not-ready:NoExecute", *DAEMON[2:]],
            id="one that has an end is for ever, in its place",
        ),
        pytest.param(
            {"tolerations": [own_toleration(None)]},
            ["unreachable:NoExecute", "not-ready:NoExecute", *DAEMON[2:]],
            id="one that it has already",
        ),
    ],
)
def test_tolerations(spec: dict[str, Any], expected: list[str]) -> None:
    node: Node = make_node()
    (made,) = pods_of(daemon_set(**spec), make_cluster([node]))
    tolerations = made.pod.spec.tolerations
    assert [f"{t.key.removeprefix('node.kubernetes.io/')}:{t.effect}" for t in tolerations] == expected
    assert all(t.operator == "Exists" and t.toleration_seconds is None for t in tolerations)


def with_generation(given: DaemonSet, generation: str) -> DaemonSet:
    annotations = {"deprecated.daemonset.template.generation": generation}
    return replace(given, metadata=replace(given.metadata, annotations=annotations))


@pytest.mark.parametrize(
    ("given", "stored", "generation"),
    [
        pytest.param(daemon_set(), [], "1", id="a new one"),
        pytest.param(daemon_set(), [with_generation(daemon_set(), "4")], "4", id="one that the cluster has"),
        pytest.param(with_generation(daemon_set(), "5"), [], "5", id="one that is from a cluster"),
    ],
)
def test_daemon_set_labels_and_owner(given: DaemonSet, stored: list[DaemonSet], generation: str) -> None:
    (made,) = pods_of(given, make_cluster([make_node()], [], *stored))
    labels = dict(made.pod.metadata.labels)
    assert labels.pop("controller-revision-hash")
    assert labels == {**DAEMON_SET_APP, "pod-template-generation": generation}
    (reference,) = made.pod.metadata.owner_references
    assert (reference.api_version, reference.kind, reference.name) == ("apps/v1", "DaemonSet", "agent")


STATEFUL_SET_APP = {"app": "db"}
POD_INDEX = "apps.kubernetes.io/pod-index"
CLAIM = {
    "metadata": {"name": "data", "labels": {"kind": "disk"}},
    "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}},
}


def stateful_set(
    *, status: dict[str, Any] | None = None, pod: dict[str, Any] | None = None, **spec: Any
) -> StatefulSet:
    template = {"metadata": {"labels": STATEFUL_SET_APP}, "spec": {"containers": [make_container()], **(pod or {})}}
    fields = {"selector": {"matchLabels": STATEFUL_SET_APP}, "template": template, **spec}
    return make_object(StatefulSet, "db", namespace="shop", spec=fields, status=status or {})


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, [("db-0", 1)], id="one by default"),
        pytest.param({"replicas": 3}, [("db-0", 1), ("db-1", 1), ("db-2", 1)], id="an ordinal each"),
        pytest.param({"replicas": 2, "ordinals": {"start": 5}}, [("db-5", 1), ("db-6", 1)], id="from another start"),
        pytest.param({"replicas": 0}, [("db-0", 0)], id="scaled down"),
    ],
)
def test_ordinals(spec: dict[str, Any], expected: list[tuple[str, int]]) -> None:
    made = pods_of(stateful_set(**spec), make_cluster())
    assert [(one.pod.name, one.replicas) for one in made] == expected


def test_identity() -> None:
    given = stateful_set(replicas=2)
    _, made = pods_of(given, make_cluster())
    metadata = made.pod.metadata
    revision = metadata.labels["controller-revision-hash"]
    assert metadata.labels == {
        **STATEFUL_SET_APP,
        "statefulset.kubernetes.io/pod-name": "db-1",
        "apps.kubernetes.io/pod-index": "1",
        "controller-revision-hash": revision,
    }
    assert revision.startswith("db-")
    assert metadata.generate_name == "db-"
    (reference,) = metadata.owner_references
    assert (reference.api_version, reference.kind, reference.name) == ("apps/v1", "StatefulSet", "db")
    assert made.objects == (given,)


@pytest.mark.parametrize(
    ("stored", "is_known"),
    [
        pytest.param(stateful_set(status={"updateRevision": "db-7"}), True, id="the same template"),
        pytest.param(stateful_set(status={"updateRevision": "db-7"}, pod={"hostNetwork": True}), False, id="another"),
        pytest.param(stateful_set(), False, id="no status yet"),
    ],
)
def test_revision(stored: StatefulSet, is_known: bool) -> None:
    (made,) = pods_of(stateful_set(), make_cluster([], [], stored))
    assert (made.pod.metadata.labels["controller-revision-hash"] == "db-7") == is_known
    assert made.objects == ()


def test_claims() -> None:
    volumes = [
        {"name": "data", "csi": {"driver": "csi.example.com"}},
        {"name": "shared", "persistentVolumeClaim": {"claimName": "all"}},
    ]
    given = stateful_set(replicas=2, volumeClaimTemplates=[CLAIM], pod={"volumes": volumes})
    stored = make_object(PersistentVolumeClaim, "data-db-0", namespace="shop", spec={"volumeName": "disk-1"})
    first, second = pods_of(given, make_cluster([], [], given, stored))
    assert first.claims == ()
    (claim,) = second.claims
    assert (claim.name, claim.namespace, claim.metadata.labels) == (
        "data-db-1",
        "shop",
        {"kind": "disk", **STATEFUL_SET_APP},
    )
    assert (claim.spec.storage_class_name, claim.spec.resources.requests) == ("fast", {"storage": "1Gi"})
    assert (claim.spec.volume_mode, claim.status.phase) == ("Filesystem", "Pending")
    # The claim takes the place of the template's volume of the same name.
    for ordinal, made in enumerate((first, second)):
        used = [
            (v.name, v.persistent_volume_claim.claim_name) for v in made.pod.spec.volumes if v.persistent_volume_claim
        ]
        assert used == [("data", f"data-db-{ordinal}"), ("shared", "all")]
        assert len(made.pod.spec.volumes) == 2


@pytest.mark.parametrize(
    ("kind", "claims", "created"),
    [
        pytest.param("StatefulSet", ["data-db-1", "all"], ["data-db-1"], id="each pod of a StatefulSet has its own"),
        pytest.param("ReplicaSet", ["data-db-0", "all"], [], id="other pods share them"),
    ],
)
def test_the_claims_of_a_copy(kind: str, claims: list[str], created: list[str]) -> None:
    volumes = [{**mount("data-db-0")[0], "name": "data"}, *mount("all")]
    pod = make_pod("db-0", node="a", owner=("apps/v1", kind, "db"), labels={POD_INDEX: "0"}, volumes=volumes)
    cluster = make_cluster((), [pod], make_claim("data-db-0", bound="pv"), make_claim("all", bound="pv-all"))
    made = another(cluster.pods.pod(0), "db-1", cluster)
    sources = [volume.persistent_volume_claim for volume in made.pod.spec.volumes]
    assert [source.claim_name for source in sources if source is not None] == claims
    assert [(claim.name, claim.spec.volume_name) for claim in made.claims] == [(name, "") for name in created]
    assert (made.pod.name, made.pod.metadata.labels[POD_INDEX]) == ("db-1", "1" if created else "0")


SELECTOR = {"matchLabels": APP}


def template(cpu: str = "500m", **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"labels": APP, **metadata}, "spec": {"containers": [make_container(requests={"cpu": cpu})]}}


def deployment(cpu: str = "500m", **spec: Any) -> Deployment:
    fields = {"selector": SELECTOR, "template": template(cpu), **spec}
    return make_object(Deployment, "web", namespace="shop", spec=fields)


def replica_set(name: str, cpu: str = "500m", *, revision: int = 1, owner: str = "web") -> ReplicaSet:
    """A ReplicaSet of a Deployment, whose name ends with its hash, as an API server stores it."""
    own_hash = name.rpartition("-")[2]
    labels = {**APP, "pod-template-hash": own_hash}
    stored = template(cpu)
    stored["metadata"]["labels"] = labels
    stored["spec"] |= {"schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30}
    made = make_object(
        ReplicaSet,
        name,
        namespace="shop",
        labels=labels,
        spec={"selector": {"matchLabels": labels}, "replicas": 3, "template": stored},
    )
    reference = OwnerReference(kind="Deployment", name=owner, api_version="apps/v1", controller=True)
    annotations = {"deployment.kubernetes.io/revision": str(revision)}
    metadata = replace(made.metadata, annotations=annotations, owner_references=(reference,), uid=f"uid-{name}")
    return replace(made, metadata=metadata)


def only(made: tuple[MadePod, ...]) -> MadePod:
    (one,) = made
    return one


@pytest.mark.parametrize(
    ("kind", "api_version", "selector"),
    [
        pytest.param(ReplicaSet, "apps/v1", SELECTOR, id="ReplicaSet"),
        pytest.param(ReplicationController, "v1", APP, id="ReplicationController"),
    ],
)
@pytest.mark.parametrize(
    ("replicas", "expected"),
    [
        pytest.param({}, 1, id="one by default"),
        pytest.param({"replicas": 3}, 3, id="three"),
        pytest.param({"replicas": 0}, 0, id="scaled down"),
    ],
)
def test_replica_set_replicas(
    kind: Any, api_version: str, selector: Any, replicas: dict[str, int], expected: int
) -> None:
    owner = make_object(kind, "web", namespace="shop", spec={"selector": selector, "template": template(), **replicas})
    made = only(pods_of(owner, make_cluster()))
    metadata = made.pod.metadata
    assert (metadata.name, metadata.generate_name, metadata.namespace) == ("web-xxxxx", "web-", "shop")
    assert metadata.labels == APP
    (reference,) = metadata.owner_references
    assert (reference.api_version, reference.kind, reference.name, reference.controller) == (
        api_version,
        kind.__name__,
        "web",
        True,
    )
    assert made.pod.spec == owner.spec.template.spec
    assert made.replicas == expected
    # Default spreading goes by the controller's selector, so it has to be there.
    assert made.objects == (owner,)
    assert only(pods_of(owner, make_cluster([], [], owner))).objects == ()


def test_a_new_deployment_has_a_new_replica_set() -> None:
    given = deployment(replicas=4)
    made = only(pods_of(given, make_cluster()))
    (new,) = made.objects
    assert isinstance(new, ReplicaSet)
    assert given.spec.template is not None
    own_hash = template_hash(given.spec.template)
    assert new.name == f"web-{own_hash}"
    assert new.spec.selector is not None
    assert new.spec.selector.match_labels == {**APP, "pod-template-hash": own_hash}
    assert made.replicas == 4
    metadata = made.pod.metadata
    assert metadata.name == f"web-{own_hash}-xxxxx"
    assert metadata.labels == {**APP, "pod-template-hash": own_hash}
    (reference,) = metadata.owner_references
    assert (reference.api_version, reference.kind, reference.name) == ("apps/v1", "ReplicaSet", new.name)


@pytest.mark.parametrize(
    ("stored", "cpu", "expected"),
    [
        pytest.param([replica_set("web-abc")], "500m", "web-abc", id="the same template"),
        pytest.param([replica_set("web-abc")], "0.5", "web-abc", id="the same template in other words"),
        pytest.param([replica_set("web-abc")], "1", None, id="another template"),
        pytest.param([replica_set("other-abc", owner="other")], "500m", None, id="another Deployment's"),
        pytest.param(
            [
                replica_set("web-abc", revision=2),
                replica_set("web-def", revision=10),
                replica_set("web-ghi", revision=9),
            ],
            "500m",
            "web-def",
            id="the newest revision of several",
        ),
    ],
)
def test_the_replica_set_of_the_cluster(stored: list[ReplicaSet], cpu: str, expected: str | None) -> None:
    made = only(pods_of(deployment(cpu), make_cluster([], [], *stored)))
    (reference,) = made.pod.metadata.owner_references
    if expected is None:
        assert len(made.objects) == 1
        assert reference.name == made.objects[0].name
        return
    assert made.objects == ()
    assert (reference.name, reference.uid) == (expected, f"uid-{expected}")
    assert made.pod.metadata.name == f"{expected}-xxxxx"
    assert made.pod.metadata.labels["pod-template-hash"] == expected.removeprefix("web-")
