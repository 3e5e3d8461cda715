"""Objects as an API server reads them, and what it says of a value that it cannot read."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.objects.quantity import QUANTITY_HINT
from kschedctl.objects.schema.decode import decode_object

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
