"""Against a real API server and its controllers: what they make of pods and workloads is what we make of them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import ManifestError
from kschedctl.controllers.admission.chain import admit
from kschedctl.controllers.workloads.pods import pods_of
from kschedctl.objects.kinds import kind_type
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.quantity import Amount
from kschedctl.objects.releases.release import LATEST
from kschedctl.objects.schema.schema import field_names
from kschedctl.objects.volume import PersistentVolumeClaim
from kschedctl.sources.snapshot.load import read_manifest
from tests.live.conftest import node, wait_for
from tests.live.control_plane import ControlPlane, missing_assets

pytestmark = pytest.mark.live

FREE, LIMITED, WORK = "free", "limited", "work"
TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
NODES = [node("n1", zone="a", cpu="4"), node("n2", zone="b", cpu="4", taints=[TAINT]), node("n3", zone="a", cpu="4")]
KINDS = "nodes,pods,namespaces,priorityclasses,runtimeclasses,limitranges,resourcequotas,replicasets,statefulsets"
LABELS = {"app": "web", "pod-template-hash": "77", "tenant": "t"}
HASHED = ("pod-template-hash", "controller-revision-hash", "controller-uid", "batch.kubernetes.io/controller-uid")


def made(kind: str, name: str, api_version: str = "v1", *, namespace: str = "", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


CLASSES = "scheduling.k8s.io/v1"
SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def with_port(**port: Any) -> dict[str, Any]:
    return container() | {"ports": [{"containerPort": 80, **port}]}


def node_affinity(operator: str) -> dict[str, Any]:
    requirement = {"key": "a", "operator": operator, "values": ["b"]}
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}}}


SETUP = [
    *(made("Namespace", name) for name in (FREE, LIMITED, WORK)),
    made("PriorityClass", "high", CLASSES, value=1000),
    made("PriorityClass", "base", CLASSES, value=7, globalDefault=True, preemptionPolicy="Never"),
    made(
        "RuntimeClass",
        "kata",
        "node.k8s.io/v1",
        handler="kata",
        overhead={"podFixed": {"cpu": "250m"}},
        scheduling={
            "nodeSelector": {"runtime": "kata"},
            "tolerations": [
                {"key": "runtime", "operator": "Exists"},
                {"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"},
            ],
        },
    ),
    made(
        "LimitRange",
        "limits",
        namespace=LIMITED,
        spec={
            "limits": [
                {
                    "type": "Container",
                    "default": {"cpu": "900m"},
                    "max": {"memory": "2Gi", "cpu": "3"},
                    "min": {"cpu": "10m"},
                    "maxLimitRequestRatio": {"cpu": "10"},
                },
                {"type": "Pod", "max": {"cpu": "5"}},
            ]
        },
    ),
    made(
        "ResourceQuota",
        "quota",
        namespace=LIMITED,
        spec={"hard": {"requests.cpu": "4", "limits.memory": "40Gi", "pods": "40", "requests.example.com/gpu": "2"}},
    ),
    made(
        "ResourceQuota",
        "none-high",
        namespace=LIMITED,
        spec={
            "hard": {"pods": "0"},
            "scopeSelector": {
                "matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]
            },
        },
    ),
]


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane of its own: its classes and quotas would change what other tests see."""
    missing = missing_assets()
    if missing:
        pytest.skip(f"no control plane to test against: {missing}")
    plane = ControlPlane(tmp_path_factory.mktemp("admission"))
    try:
        plane.start()
        plane.start_controllers()
        plane.create_nodes(NODES)
        plane.create(SETUP)
        wait_for(lambda: all(quota.get("status") for quota in plane.get("resourcequotas")), "the quotas to be counted")
        yield plane
    finally:
        plane.stop()


def cluster_of(plane: ControlPlane) -> Cluster:
    builder = ClusterBuilder()
    for obj in plane.get(KINDS):
        kind = kind_type(obj["apiVersion"], obj["kind"])
        assert kind is not None
        builder.add(msgspec.convert(obj, kind))
    return builder.build()


def read_by_scheduling(pod: Pod) -> dict[str, Any]:
    """All that scheduling reads of a new pod, its quantities in one form."""
    data = json.loads(msgspec.json.encode(pod))
    spec = _canonical(data["spec"])
    for container in (*spec["containers"], *spec.get("initContainers", ())):
        container.setdefault("resources", {})
    # The API server adds an empty one.
    spec.setdefault("securityContext", {})
    return {"metadata": {key: data["metadata"].get(key) for key in ("name", "namespace", "labels")}, "spec": spec}


def _canonical(value: Any) -> Any:
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: {name: str(Amount.parse(text)) for name, text in item.items()}
        if key in ("requests", "limits", "overhead")
        else _canonical(item)
        for key, item in value.items()
    }


def container(name: str = "c", requests: Any = None, limits: Any = None, **fields: Any) -> dict[str, Any]:
    return {"name": name, "image": "i:1", "resources": {"requests": requests or {}, "limits": limits or {}}, **fields}


def pod(namespace: str = FREE, *containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    metadata = {"name": "web", "namespace": namespace, "labels": LABELS}
    return made("Pod", "web", spec={"containers": list(containers) or [container()], **spec}) | {"metadata": metadata}


def term(**fields: Any) -> dict[str, Any]:
    return {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}, **fields}


AFFINITY = {
    "podAntiAffinity": {
        REQUIRED: [term(matchLabelKeys=["pod-template-hash"], mismatchLabelKeys=["tenant"])],
        PREFERRED: [{"weight": 3, "podAffinityTerm": term(matchLabelKeys=["pod-template-hash", "gone"])}],
    },
    "podAffinity": {REQUIRED: [term(labelSelector={}, matchLabelKeys=["tenant"])]},
}
CONSTRAINT = term(maxSkew=1, whenUnsatisfiable="DoNotSchedule", matchLabelKeys=["pod-template-hash", "tenant"])
TOLERATIONS = [
    {"key": "a", "operator": "Equal", "value": "b"},
    {"key": "x", "operator": "Exists"},
    {"key": "x", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 4},
]
SHORT = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(pod(), id="a plain pod"),
        pytest.param(pod(LIMITED), id="limits of the namespace"),
        pytest.param(
            pod(
                LIMITED,
                container(),
                initContainers=[container("i", limits={"cpu": "2"}), container("s", restartPolicy="Always")],
            ),
            id="limits of init containers",
        ),
        pytest.param(pod(affinity=AFFINITY, topologySpreadConstraints=[CONSTRAINT]), id="label keys"),
        pytest.param(
            pod(
                FREE,
                container(ports=[{"containerPort": 80}, {"containerPort": 81, "protocol": "UDP"}]),
                hostNetwork=True,
            ),
            id="ports on the host's network",
        ),
        pytest.param(pod(priorityClassName="high"), id="a priority class"),
        pytest.param(pod(priorityClassName="system-node-critical"), id="a priority class of the system"),
        pytest.param(pod(runtimeClassName="kata", nodeSelector={"disk": "ssd"}, tolerations=TOLERATIONS), id="runtime"),
        pytest.param(pod(runtimeClassName="kata", tolerations=[{"operator": "Exists"}]), id="tolerates everything"),
        pytest.param(pod(runtimeClassName="kata", overhead={"cpu": "0.25"}), id="the overhead of its class"),
        pytest.param(pod(tolerations=[SHORT]), id="a toleration of its own"),
        pytest.param(
            pod(
                FREE,
                container(requests={"cpu": "300m"}),
                container("d", limits={"memory": "100Mi"}),
                resources={"limits": {"cpu": "2", "memory": "1Gi"}},
            ),
            id="resources of the pod as a whole",
        ),
    ],
)
def test_an_admitted_pod(plane: ControlPlane, given: dict[str, Any]) -> None:
    stored = plane.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", given=given)
    admitted = admit(msgspec.convert(given, Pod), cluster_of(plane), release=LATEST)
    assert not admitted.quota_refusals
    assert read_by_scheduling(admitted.pod) == read_by_scheduling(msgspec.json.decode(stored, type=Pod))


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(pod(priorityClassName="gone"), id="unknown priority class"),
        pytest.param(pod(runtimeClassName="gone"), id="unknown runtime class"),
        pytest.param(pod(runtimeClassName="kata", nodeSelector={"runtime": "x"}), id="node selectors contradict"),
        pytest.param(pod(runtimeClassName="kata", overhead={"cpu": "1"}), id="overheads contradict"),
        pytest.param(pod(overhead={"cpu": "1"}), id="an overhead without a class"),
        pytest.param(pod(LIMITED, container(requests={"cpu": "5m"})), id="below the minimum"),
        pytest.param(
            pod(LIMITED, container(requests={"cpu": "1"}, limits={"cpu": "4", "memory": "3Gi"})), id="above the maximum"
        ),
        pytest.param(
            pod(LIMITED, container(requests={"cpu": "100m"}, limits={"cpu": "2500m"})), id="too far from its limit"
        ),
        pytest.param(
            pod(LIMITED, container("a", limits={"cpu": "3"}), container("b", limits={"cpu": "2100m"})),
            id="the pod is above the maximum",
        ),
        pytest.param(pod(LIMITED, container(requests={"cpu": "1"})), id="a request above the default limit"),
        pytest.param(
            pod(LIMITED, resources={"limits": {"cpu": "4", "memory": "1Gi"}}), id="default limits above the pod's"
        ),
        pytest.param(
            pod(LIMITED, container("a", limits={"cpu": "2500m"}), container("b", limits={"cpu": "2.1"})),
            id="more cpu than the quota has",
        ),
        pytest.param(pod(LIMITED, container(limits={"example.com/gpu": "3"})), id="more devices than the quota has"),
        pytest.param(pod(LIMITED, priorityClassName="high"), id="a quota of a priority class"),
        pytest.param(pod(containers=[]), id="no containers"),
        pytest.param(pod(containers=[container(), container()]), id="two containers of one name"),
        pytest.param(pod(containers=[with_port(hostPort=70000)]), id="a host port out of range"),
        pytest.param(pod(containers=[with_port(protocol="HTTP")]), id="an unknown protocol"),
        pytest.param(pod(containers=[container(restartPolicy="Sometimes")]), id="an unknown restart policy"),
        pytest.param(pod(preemptionPolicy="Sometimes"), id="an unknown preemption policy"),
        pytest.param(pod(nodeSelector={"a b": "c"}), id="a node selector with a key that is no label"),
        pytest.param(pod(nodeSelector={"a": "c d"}), id="a node selector with a value that is no label"),
        pytest.param(pod(tolerations=[{"operator": "Equal"}]), id="a toleration without a key"),
        pytest.param(pod(tolerations=[{"key": "a", "operator": "Exists", "value": "b"}]), id="Exists with a value"),
        pytest.param(pod(tolerations=[{"key": "a", "effect": "NoRun"}]), id="an unknown effect"),
        pytest.param(pod(tolerations=[{"key": "a", "tolerationSeconds": 5}]), id="seconds without NoExecute"),
        pytest.param(pod(topologySpreadConstraints=[SPREAD | {"maxSkew": 0}]), id="a skew of zero"),
        pytest.param(pod(topologySpreadConstraints=[SPREAD | {"minDomains": 0}]), id="zero domains"),
        pytest.param(pod(topologySpreadConstraints=[SPREAD | {"topologyKey": ""}]), id="spread over nothing"),
        pytest.param(pod(topologySpreadConstraints=[SPREAD | {"whenUnsatisfiable": "No"}]), id="an unknown action"),
        pytest.param(pod(topologySpreadConstraints=[SPREAD, SPREAD]), id="one constraint twice"),
        pytest.param(
            pod(topologySpreadConstraints=[SPREAD | {"nodeTaintsPolicy": "Perhaps"}]), id="an unknown taints policy"
        ),
        pytest.param(pod(affinity=node_affinity("Contains")), id="an unknown node operator"),
        pytest.param(
            pod(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}), id="no node selector terms"
        ),
        pytest.param(pod(affinity={"podAffinity": {REQUIRED: [{"labelSelector": {}}]}}), id="no topology key"),
        pytest.param(
            pod(affinity={"podAntiAffinity": {PREFERRED: [{"weight": 0, "podAffinityTerm": {"topologyKey": "a"}}]}}),
            id="a weight of zero",
        ),
    ],
)
def test_a_refused_pod(plane: ControlPlane, given: dict[str, Any]) -> None:
    with pytest.raises(AssertionError) as refused:
        plane.kubectl("create", "--dry-run=server", "-f", "-", given=given)
    theirs = str(refused.value)
    ours: list[str] = []
    try:
        admitted = admit(msgspec.convert(given, Pod), cluster_of(plane), release=LATEST)
        ours = [refusal.message for refusal in admitted.quota_refusals]
    except ManifestError as error:
        ours = [finding.problem for finding in error.findings]
    assert ours
    assert all(problem in theirs for problem in ours), theirs


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(pod(nodeSelectors={"a": "b"}), id="a misspelt field"),
        pytest.param(pod(FREE, container(resource={}), {**container("d"), "port": 1}), id="fields of containers"),
        pytest.param(pod(affinity={"nodeAffinity": {REQUIRED: {"terms": []}}}), id="a field far inside"),
        pytest.param(made("Deployment", "a", "apps/v1", spec={"replica": 2, "nodeSelector": {}}), id="a workload"),
        pytest.param(made("ConfigMap", "a", datas={}), id="a kind that scheduling does not read"),
    ],
)
def test_unknown_fields(plane: ControlPlane, given: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "manifest.json"
    file.write_text(json.dumps(given))
    with pytest.raises(AssertionError) as refused:
        plane.kubectl("create", "--dry-run=server", "-f", str(file))
    with pytest.raises(ManifestError) as ours:
        read_manifest(file, allow_others=True)
    start = "strict decoding error: "
    assert start in str(refused.value)
    problems = [finding.problem.removeprefix(start) for finding in ours.value.findings]
    assert sorted(problems) == sorted(re.findall(r'unknown field "[^"]*"', str(refused.value)))


def test_every_field_that_is_known_is_one_of_the_server(plane: ControlPlane) -> None:
    names = field_names()
    version = json.loads(plane.kubectl("get", "--raw", "/version"))["gitVersion"].removeprefix("v")
    newer = names.releases[names.releases.index(version) + 1 :]
    added = {name for release in newer for name in names.added[release]}
    schemas = json.loads(plane.kubectl("get", "--raw", "/openapi/v3/api/v1"))["components"]["schemas"]
    for kind in ("Pod", "Node", "PersistentVolumeClaim", "Service"):
        assert names.kinds[f"v1/{kind}"] == f"core.v1.{kind}"
    for type_ in ("Pod", "PodSpec", "Node", "PersistentVolumeClaim", "Service"):
        fields = {name for name in names.types[f"core.v1.{type_}"] if f"core.v1.{type_}.{name}" not in added}
        assert fields == schemas[f"io.k8s.api.core.v1.{type_}"]["properties"].keys()


APP = {"metadata": {"labels": {"app": "web"}, "annotations": {"note": "abc"}}}
SELECTOR = {"matchLabels": {"app": "web"}}
BATCH = {**APP, "spec": {"restartPolicy": "Never", "containers": [container()]}}
CLAIM = {
    "metadata": {"name": "data", "labels": {"k": "v"}},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
SCRATCH = {"metadata": {"labels": {"k": "v"}}, "spec": CLAIM["spec"]}
EPHEMERAL = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": SCRATCH}}
FOR_A_WHILE = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
IN_ZONE_A = {
    "nodeAffinity": {
        REQUIRED: {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}]}
            ]
        }
    }
}


def template(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {**APP, "spec": {"containers": list(containers) or [container()], **spec}}


def workload(kind: str, name: str, api_version: str, **spec: Any) -> dict[str, Any]:
    return made(kind, name, api_version, namespace=WORK, spec=spec)


APPS = "apps/v1"
WORKLOADS = [
    workload(
        "Deployment",
        "deployment",
        APPS,
        replicas=2,
        selector=SELECTOR,
        template=template(
            container(requests={"cpu": 0.5}, limits={"memory": "1000Mi"}),
            volumes=[EPHEMERAL],
            topologySpreadConstraints=[term(maxSkew=1, whenUnsatisfiable="DoNotSchedule", matchLabelKeys=[HASHED[0]])],
        ),
    ),
    workload("ReplicaSet", "replica-set", APPS, replicas=3, selector=SELECTOR, template=template()),
    workload("ReplicationController", "controller", "v1", selector={"app": "web"}, template=template()),
    workload(
        "StatefulSet",
        "stateful-set",
        APPS,
        replicas=2,
        podManagementPolicy="Parallel",
        serviceName="s",
        ordinals={"start": 3},
        selector=SELECTOR,
        template=template(volumes=[{"name": "data", "emptyDir": {}}]),
        volumeClaimTemplates=[CLAIM],
    ),
    workload("DaemonSet", "daemon-set", APPS, selector=SELECTOR, template=template()),
    workload(
        "DaemonSet",
        "host-set",
        APPS,
        selector=SELECTOR,
        template=template(
            hostNetwork=True,
            tolerations=[{**FOR_A_WHILE, "tolerationSeconds": 9}, {"key": "gpu", "operator": "Exists"}],
            affinity=IN_ZONE_A,
        ),
    ),
    workload("Job", "job", "batch/v1", parallelism=2, completions=3, template=BATCH),
    workload("Job", "indexed", "batch/v1", completions=3, completionMode="Indexed", template=BATCH),
]


def comparable(pod: Pod) -> dict[str, Any]:
    """The pod without what cannot be known before it is there: random suffixes, hashes and uids."""
    data = read_by_scheduling(pod)
    data["annotations"] = dict(pod.metadata.annotations)
    data["owner"] = [(owner.api_version, owner.kind, owner.controller) for owner in pod.metadata.owner_references]
    labels = data["metadata"]["labels"]
    data["metadata"]["labels"] = {key: "?" if key in HASHED else value for key, value in labels.items()}
    own_hash = labels.get("pod-template-hash")
    # A generated name ends with five letters; those of a StatefulSet are not generated.
    text = re.sub(r"-[a-z0-9]{5}$", "-?", data["metadata"]["name"])
    data["metadata"]["name"] = text.replace(own_hash, "?") if own_hash else text
    spread = data["spec"].get("topologySpreadConstraints", ())
    for requirement in (r for c in spread for r in c["labelSelector"]["matchExpressions"]):
        requirement["values"] = ["?"]
    return data


@pytest.fixture(scope="module")
def before(plane: ControlPlane) -> Cluster:
    """The cluster as it was before the workloads were made."""
    cluster = cluster_of(plane)
    plane.create(WORKLOADS)
    return cluster


def pods_named_after(plane: ControlPlane, name: str) -> list[Pod]:
    every = [msgspec.convert(found, Pod) for found in plane.get("pods") if found["metadata"]["namespace"] == WORK]
    return [found for found in every if found.name.startswith(f"{name}-")]


def typed(given: dict[str, Any]) -> ApiObject:
    kind = kind_type(given["apiVersion"], given["kind"])
    assert kind is not None
    return msgspec.convert(given, kind)


@pytest.mark.parametrize("given", WORKLOADS, ids=lambda given: given["metadata"]["name"])
def test_the_pods_of_a_workload(plane: ControlPlane, before: Cluster, given: dict[str, Any]) -> None:
    obj = typed(given)
    ours = [one for one in pods_of(obj, before) for _ in range(one.replicas)]
    wait_for(lambda: len(pods_named_after(plane, obj.name)) == len(ours), f"the pods of {obj.name}")
    theirs = [comparable(found) for found in pods_named_after(plane, obj.name)]
    admitted = [comparable(admit(one.pod, before, release=LATEST).pod) for one in ours]
    assert len(admitted) == len(theirs)
    assert [one for one in admitted if one not in theirs] == []
    assert [one for one in theirs if one not in admitted] == []
    for claim in (claim for one in ours for claim in one.claims if not claim.metadata.owner_references):
        stored = plane.kubectl("get", "pvc", "-n", WORK, claim.name, "-o", "json")
        assert msgspec.json.decode(stored, type=PersistentVolumeClaim).spec == claim.spec


def test_the_hash_of_the_replica_set_that_the_cluster_has(plane: ControlPlane, before: Cluster) -> None:
    obj = typed(WORKLOADS[0])
    wait_for(lambda: bool(pods_named_after(plane, obj.name)), f"the pods of {obj.name}")
    key = "pod-template-hash"
    theirs = {found.metadata.labels[key] for found in pods_named_after(plane, obj.name)}
    assert {one.pod.metadata.labels[key] for one in pods_of(obj, before)} != theirs
    assert {one.pod.metadata.labels[key] for one in pods_of(obj, cluster_of(plane))} == theirs
