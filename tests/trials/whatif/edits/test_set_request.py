"""``--set-request``: as it is written, and what it makes of a pod."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.common.errors import InputError
from kschedctl.objects.quantity import NANO
from kschedctl.objects.resources import RequestRules, pod_requests
from kschedctl.trials.whatif.edits import SetRequest
from tests.builders import make_cluster, make_node, make_pod
from tests.trials.whatif.pods import edited_spec, loaded

GPU = "nvidia.com/gpu"
READ = {
    "cpu=500m": SetRequest("cpu", "500m"),
    "app:memory=2Gi": SetRequest("memory", "2Gi", "app"),
    "nvidia.com/gpu=1": SetRequest(GPU, "1"),
    "app:hugepages-2Mi=4Mi": SetRequest("hugepages-2Mi", "4Mi", "app"),
}
WRONG = {
    "cpu": "RESOURCE=QUANTITY or CONTAINER:RESOURCE=QUANTITY",
    "=1": "lacks a resource or a quantity",
    ":cpu=1": "lacks a resource or a quantity",
    "cpu=": '"" is not a quantity',
    "cpu=many": "a number with an optional suffix is expected",
    "cpus=1": '"cpus" is not a resource',
    "cpu=-1": "a negative amount cannot be requested",
    "nvidia.com/gpu=500m": "a fraction cannot be requested",
}


def container(name: str = "app", requests: Any = None, limits: Any = None) -> dict[str, Any]:
    resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value}
    return {"name": name, **({"resources": resources} if resources else {})}


def containers(*every: dict[str, Any]) -> dict[str, Any]:
    return {"containers": list(every)}


TWO = containers(container("app"), container("proxy", {"cpu": "1"}))
MADE: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "the only container": (
        "cpu=2",
        containers(container(requests={"cpu": "1", "memory": "1Gi"})),
        containers(container(requests={"cpu": "2", "memory": "1Gi"})),
    ),
    "a limit below is raised": (
        "cpu=2",
        containers(container(requests={"cpu": "1"}, limits={"cpu": "1500m", "memory": "1Gi"})),
        containers(container(requests={"cpu": "2"}, limits={"cpu": "2", "memory": "1Gi"})),
    ),
    "a limit above stays": (
        "cpu=2",
        containers(container(limits={"cpu": "2500m"})),
        containers(container(requests={"cpu": "2"}, limits={"cpu": "2500m"})),
    ),
    "an extended resource has its limit": (
        "nvidia.com/gpu=1",
        containers(container(requests={GPU: "2"}, limits={GPU: "2"})),
        containers(container(requests={GPU: "1"}, limits={GPU: "1"})),
    ),
    "one of several": (
        "proxy:cpu=2",
        TWO,
        containers(container("app"), container("proxy", {"cpu": "2"})),
    ),
    "init containers only where they are named": (
        "cpu=2",
        {"initContainers": [container("init", {"cpu": "4"})]},
        {"initContainers": [container("init", {"cpu": "4"})]},
    ),
    "an init container": (
        "init:cpu=2",
        {"initContainers": [container("init", {"cpu": "4"})]},
        {"initContainers": [container("init", {"cpu": "2"})], **containers(container(requests={"cpu": "1"}))},
    ),
    "the pod as a whole": (
        "cpu=2",
        {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}, **TWO},
        {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}, **TWO},
    ),
    "what the pod as a whole does not request": (
        "memory=2Gi",
        {"resources": {"requests": {"cpu": "1"}}, **containers(container())},
        {"resources": {"requests": {"cpu": "1"}}, **containers(container(requests={"memory": "2Gi"}))},
    ),
}
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "several containers": ("cpu=2", TWO, "the pod has 2 containers\n  name one with CONTAINER:cpu=2: app, proxy"),
    "no such container": ("apps:cpu=2", TWO, "the pod has no container apps\n  its containers are app, proxy"),
    "a container where the pod as a whole counts": (
        "app:cpu=2",
        {"resources": {"requests": {"cpu": "1"}}},
        "the pod requests cpu at pod level, not per container\n  leave out app:",
    ),
}


@pytest.mark.parametrize("text", READ)
def test_what_is_read(text: str) -> None:
    assert SetRequest.parse(text) == READ[text]
    assert str(SetRequest.parse(text)) == f"set request {text}"


@pytest.mark.parametrize("text", WRONG)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        SetRequest.parse(text)
    assert str(caught.value).startswith("--set-request: ")
    assert WRONG[text] in str(caught.value)


@pytest.mark.parametrize("case", MADE)
def test_what_a_pod_is_afterwards(case: str) -> None:
    text, before, after = MADE[case]
    found = edited_spec(before, SetRequest.parse(text))
    assert {key: found.get(key) for key in after} == after


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_pod_does_not_have_is_refused(case: str) -> None:
    text, spec, message = REFUSED[case]
    with pytest.raises(InputError) as caught:
        edited_spec(spec, SetRequest.parse(text))
    assert str(caught.value) == f"set request {text}: {message}"


def test_what_the_kubelet_reports_of_a_resize_has_followed() -> None:
    old = {"cpu": "3"}
    reported = [{"name": "c", "resources": {"requests": old}, "allocatedResources": old}]
    pod = make_pod(requests=old, status={"containerStatuses": reported})
    changed = SetRequest("cpu", "1").apply_to_pod(pod, make_cluster([], []))
    assert pod_requests(changed, RequestRules())["cpu"] == NANO
    whole = {"resources": {"requests": old}, "allocatedResources": old}
    pod = make_pod(requests={"cpu": "1"}, resources={"requests": old}, status=whole)
    changed = SetRequest("cpu", "1").apply_to_pod(pod, make_cluster([], []))
    assert pod_requests(changed, RequestRules())["cpu"] == NANO


def test_a_request_beyond_what_the_namespace_allows_is_refused_as_that_of_a_manifest_is() -> None:
    pod = {"metadata": {"name": "new"}, "spec": {**containers(container()), "resources": {"limits": {"cpu": "1"}}}}
    with pytest.raises(InputError, match="must be less than or equal to cpu limit of 1"):
        loaded([make_node()], SetRequest("cpu", "2")).decide(pod)
