"""Objects as an API server reads them, and what it says of a value that it cannot read."""

from typing import Any

import pytest

from kschedctl.objects.kinds import KINDS
from kschedctl.objects.quantity import QUANTITY_HINT
from kschedctl.objects.schema.schema import decode_object, field_names, unknown_fields

_QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


def container(**fields: Any) -> dict[str, Any]:
    return {"spec": {"containers": [fields]}}


@pytest.mark.parametrize(
    ("obj", "tree"),
    [
        pytest.param({"spec": {"hostNetwork": None}}, {"spec": {}}, id="null is as good as absent"),
        pytest.param({"spec": {"nodeSelectors": {}}}, {"spec": {}}, id="unknown fields are left out"),
        pytest.param(container(command=["a", None]), container(command=["a", ""]), id="null in a list is none at all"),
        pytest.param({"spec": {"priority": 5.0}}, {"spec": {"priority": 5}}, id="a whole number with a point"),
        pytest.param(
            container(resources={"requests": {"cpu": 2, "memory": "1Gi"}}),
            container(resources={"requests": {"cpu": 2, "memory": "1Gi"}}),
            id="amounts stay as they are written",
        ),
    ],
)
def test_read(obj: dict[str, Any], tree: dict[str, Any]) -> None:
    assert decode_object(obj, "v1", "Pod") == (tree, None)


@pytest.mark.parametrize(
    ("obj", "field", "problem", "hint"),
    [
        pytest.param(
            {"spec": {"nodeSelector": {"gpu": True}}},
            "spec.nodeSelector.gpu",
            "json: cannot unmarshal bool into Go struct field PodSpec.spec.nodeSelector of type string",
            "quote it if it is text: in YAML, true, yes, on, y and their opposites are booleans unless quoted",
            id="a boolean where text is meant",
        ),
        pytest.param(
            container(env=[{"name": "PORT", "value": 8080}]),
            "spec.containers[0].env[0].value",
            "json: cannot unmarshal number into Go struct field EnvVar.spec.containers.env.value of type string",
            'quote it: "8080"',
            id="a number where text is meant",
        ),
        pytest.param(
            {"spec": {"priority": "5"}},
            "spec.priority",
            "json: cannot unmarshal string into Go struct field PodSpec.spec.priority of type int32",
            "leave the quotes out",
            id="text where a number is meant",
        ),
        pytest.param(
            {"spec": {"priority": 2**31}},
            "spec.priority",
            "json: cannot unmarshal number 2147483648 into Go struct field PodSpec.spec.priority of type int32",
            "an integer in the range of the type is expected",
            id="a number that is too large",
        ),
        pytest.param(
            {"spec": {"hostNetwork": "maybe"}},
            "spec.hostNetwork",
            "json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool",
            "true or false is expected",
            id="text where a boolean is meant",
        ),
        pytest.param(
            {"spec": {"tolerations": {}}},
            "spec.tolerations",
            "json: cannot unmarshal object into Go struct field PodSpec.spec.tolerations of type []v1.Toleration",
            "a list is expected",
            id="an object where a list is meant",
        ),
        pytest.param(
            container(livenessProbe={"httpGet": {"port": 1.5}}),
            "spec.containers[0].livenessProbe.httpGet.port",
            "json: cannot unmarshal number 1.5 into Go struct field "
            "HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32",
            "",
            id="half a port",
        ),
        pytest.param(
            {"spec": {"priority": "x", **container(resources={"limits": {"cpu": "two"}})["spec"]}},
            "spec.containers[0].resources.limits.cpu",
            _QUANTITY,
            QUANTITY_HINT,
            id="an amount ends the reading, whatever was wrong before",
        ),
    ],
)
def test_what_cannot_be_read(obj: dict[str, Any], field: str, problem: str, hint: str) -> None:
    _, finding = decode_object(obj, "v1", "Pod")
    assert finding is not None
    assert (finding.field, finding.problem, finding.hint) == (field, problem, hint)


def test_the_object_is_not_changed() -> None:
    obj = {"spec": {"containers": [None, {"command": [None]}], "priority": None}}
    before = repr(obj)
    decode_object(obj, "v1", "Pod")
    assert repr(obj) == before


DEPLOYMENT, POD, PDB = "apps/v1/Deployment", "spec.template.spec", "policy/v1/PodDisruptionBudget"
CONTAINER = f"{POD}.containers[0]"
TERM = f"{POD}.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]"
_LONG = "DuringExecution"
#: Kind, path, an unknown field at this path with its value, and the right name or place.
_MISPLACED = [
    (DEPLOYMENT, "spec", "replica", 2, "replicas"),
    ("v1/ConfigMap", "metadata", "names", "x", "name"),
    ("v1/Service", "spec.ports[0]", "Port", 80, "port"),
    ("autoscaling/v2/HorizontalPodAutoscaler", "spec", "mnReplicas", 1, "minReplicas"),
    (DEPLOYMENT, POD, "priorityClass", "high", "priorityClassName"),
    (DEPLOYMENT, f"{POD}.tolerations[0]", "effects", "NoSchedule", "effect"),
    (DEPLOYMENT, f"{POD}.topologySpreadConstraints[0]", "selector", {"matchLabels": {}}, "labelSelector"),
    (
        DEPLOYMENT,
        f"{POD}.affinity.nodeAffinity",
        f"requiredDuringSchedulingRequired{_LONG}",
        {},
        f"requiredDuringSchedulingIgnored{_LONG}",
    ),
    (DEPLOYMENT, TERM, "topologyKey", "zone", f"{TERM}.podAffinityTerm.topologyKey"),
    (DEPLOYMENT, CONTAINER, "resource", {}, "resources"),
    (DEPLOYMENT, CONTAINER, "requests", {"cpu": 1}, f"{CONTAINER}.resources.requests"),
    (DEPLOYMENT, CONTAINER, "tolerations", [], f"{POD}.tolerations"),
    (DEPLOYMENT, f"{CONTAINER}.ports[0]", "port", 80, "containerPort or hostPort"),
    (DEPLOYMENT, f"{CONTAINER}.env[0]", "secretKeyRef", {}, f"{CONTAINER}.env[0].valueFrom.secretKeyRef"),
    (
        *(DEPLOYMENT, f"{CONTAINER}.resources", "cpu", 1),
        f"{CONTAINER}.resources.limits.cpu or {CONTAINER}.resources.requests.cpu",
    ),
    (
        *("v1/PersistentVolumeClaim", "spec", "storage", "1Gi"),
        "spec.resources.limits.storage or spec.resources.requests.storage",
    ),
    ("autoscaling/v2/HorizontalPodAutoscaler", "spec", "minReplics", 1, "minReplicas"),
    (PDB, "spec.selector", "app", "web", "spec.selector.matchLabels.app"),
    (PDB, "spec.selector", "name", "web", "spec.selector.matchLabels.name"),
    (DEPLOYMENT, "metadata", "app", "web", "metadata.annotations.app or metadata.labels.app"),
    (DEPLOYMENT, "metadata", "nodeName", "node-1", f"{POD}.nodeName"),
]


def _at(path: str, value: Any) -> dict[str, Any]:
    """Return an object with a value at a path; ``[0]`` is a list of one item."""
    for step in reversed(path.split(".")):
        name = step.removesuffix("[0]")
        value = {name: value if name == step else [value]}
    obj: dict[str, Any] = value
    return obj


@pytest.mark.parametrize(
    ("kind", "obj", "problem", "hint"),
    [
        pytest.param("v1/Pod", {"spec": {"nodeSelectors": {}}}, "spec.nodeSelectors", "nodeSelector", id="misspelt"),
        pytest.param("v1/Pod", {"spec": {"nodeselector": {}}}, "spec.nodeselector", "nodeSelector", id="small letters"),
        pytest.param("v1/Pod", {"spec": {"nodeSelectors": None}}, "spec.nodeSelectors", "nodeSelector", id="null"),
        pytest.param(
            "v1/Pod",
            {"spec": {"containers": [{}, {"resource": {}}]}},
            "spec.containers[1].resource",
            "resources",
            id="in a list",
        ),
        pytest.param(
            "apps/v1/Deployment",
            {"spec": {"nodeSelector": {}}},
            "spec.nodeSelector",
            "spec.template.spec.nodeSelector",
            id="too far out",
        ),
        pytest.param("v1/Pod", {"tolerations": []}, "tolerations", "spec.tolerations", id="at the root"),
        pytest.param("v1/ConfigMap", {"datas": {}}, "datas", "data", id="a kind that scheduling does not read"),
        *(
            pytest.param(kind, _at(path, value), f"{path}.{name}", hint, id=f"{name} in {path}")
            for kind, path, name, written, hint in _MISPLACED
            for value in ({name: written},)
        ),
        pytest.param(
            "resource.k8s.io/v1beta1/ResourceClaim",
            {"spec": {"devices": {"requests": [{"exactly": {}}]}}},
            "spec.devices.requests[0].exactly",
            "",
            id="a field of a newer version of the group",
        ),
    ],
)
def test_an_unknown_field(kind: str, obj: dict[str, Any], problem: str, hint: str) -> None:
    api_version, _, name = kind.rpartition("/")
    [finding] = unknown_fields(obj, api_version, name)
    assert finding.problem == f'unknown field "{problem}"'
    assert finding.field == problem
    assert finding.hint == (f"did you mean {hint}?" if hint else "")


@pytest.mark.parametrize(
    ("kind", "obj"),
    [
        pytest.param("v1/Pod", {"metadata": {"labels": {"nodeSelectors": "x"}}}, id="keys of a map"),
        pytest.param(
            "v1/Pod", {"metadata": {"managedFields": [{"fieldsV1": {"f:x": {}}}]}}, id="a field without a type"
        ),
        pytest.param("v1/Pod", {"spec": {"containers": "x"}}, id="text in place of a list"),
        pytest.param("example.com/v1/Pod", {"spec": {"nodeSelectors": {}}}, id="a custom resource"),
        pytest.param(
            "v1/Pod", {"spec": {"containers": [{"volumeMounts": [{"bindMountOptions": []}]}]}}, id="a field of 1.37"
        ),
    ],
)
def test_what_is_left_alone(kind: str, obj: dict[str, Any]) -> None:
    api_version, _, name = kind.rpartition("/")
    assert list(unknown_fields(obj, api_version, name)) == []


def test_all_kinds_that_are_read_are_known() -> None:
    known = {kind.rpartition("/")[2] for kind in field_names().kinds}
    assert {kind for _, kind in KINDS} <= known
