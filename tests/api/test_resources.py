from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from kschedctl.api.pod import Pod
from kschedctl.api.quantity import QuantityError, milli_value, value
from kschedctl.api.resources import (
    RequestRules,
    is_extended_resource,
    is_scalar_resource,
    non_zero_requests,
    parse_resources,
    pod_requests,
    scheduler_units,
)
from tests.builders import make_container, make_pod
from tests.reference import node_resources_fit as reference
from tests.strategies import pods

ALL = RequestRules()
MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("name", "extended", "scalar"),
    [
        ("cpu", False, False),
        ("memory", False, False),
        ("example.com/gpu", True, True),
        ("gpu", False, False),
        ("kubernetes.io/batch-cpu", False, True),
        ("sub.kubernetes.io/x", False, True),
        ("requests.example.com/gpu", False, False),
        ("Example.com/gpu", False, False),
        ("hugepages-2Mi", False, True),
        ("attachable-volumes-aws-ebs", False, True),
    ],
)
def test_which_resources_are_counted(name: str, extended: bool, scalar: bool) -> None:
    assert is_extended_resource(name) is extended
    assert is_scalar_resource(name) is scalar


def test_units_are_milli_cpu_bytes_and_counts_and_unknown_resources_are_left_out() -> None:
    nanos = parse_resources({"cpu": "1.5", "memory": "1Ki", "pods": 10, "example.com/gpu": 2, "widgets": 3})
    assert scheduler_units(nanos) == {"cpu": 1500, "memory": 1024, "pods": 10, "example.com/gpu": 2}


def test_a_wrong_quantity_names_its_resource() -> None:
    with pytest.raises(QuantityError) as caught:
        parse_resources({"cpu": "1", "memory": "lots"}, "status.allocatable")
    assert (str(caught.value), caught.value.path) == ('"lots" is not a quantity', "status.allocatable.memory")


@pytest.mark.parametrize(
    ("pod", "path"),
    [
        (make_pod(containers=[make_container(), make_container(requests={"cpu": "x"})]), "spec.containers[1]"),
        (make_pod(initContainers=[make_container(requests={"cpu": "x"})]), "spec.initContainers[0]"),
    ],
)
def test_a_wrong_request_names_its_container(pod: Pod, path: str) -> None:
    with pytest.raises(QuantityError) as caught:
        pod_requests(pod, ALL)
    assert caught.value.path == f"{path}.resources.requests.cpu"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, (100, 200 * MIB), id="a container without requests"),
        pytest.param(
            {"containers": [make_container("a"), make_container("b", requests={"cpu": "1"})]},
            (1100, 400 * MIB),
            id="each container on its own",
        ),
        pytest.param({"containers": [make_container(requests={"cpu": "0"})]}, (0, 200 * MIB), id="zero is a request"),
        pytest.param({"initContainers": [make_container()]}, (100, 200 * MIB), id="init containers run before"),
        pytest.param({"overhead": {"cpu": "1"}}, (1100, 200 * MIB), id="overhead comes on top"),
        pytest.param(
            {"resources": {"requests": {"cpu": "2"}}},
            (2000, 200 * MIB),
            id="pod-level requests replace, and memory has its default",
        ),
        pytest.param(
            {"resources": {"requests": {"cpu": "2", "memory": "1Mi"}}}, (2000, MIB), id="pod-level requests for both"
        ),
    ],
)
def test_defaults_for_scoring(spec: dict[str, Any], expected: tuple[int, int]) -> None:
    pod = make_pod(**spec)
    assert non_zero_requests(pod, ALL, pod_requests(pod, ALL)) == expected


RESIZED = make_pod(
    resources={"requests": {"cpu": "1"}},
    status={"resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "2"}},
)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        pytest.param(ALL, 3000, id="what runs counts where it is more"),
        pytest.param(RequestRules(pod_level_status=False), 1000, id="not where the gate is off"),
        pytest.param(RequestRules(status=False), 1000, id="nor where nothing of the status counts"),
        pytest.param(RequestRules(pod_level=False), 0, id="nor where nothing of the pod's level counts"),
    ],
)
def test_a_resize_of_the_pod_as_a_whole(rules: RequestRules, expected: int) -> None:
    assert milli_value(pod_requests(RESIZED, rules).get("cpu", 0)) == expected


@given(pods("requests"))
def test_equals_the_slow_reference(pod: Pod) -> None:
    expected = reference.requests(pod)
    found = pod_requests(pod, ALL)
    assert {name: reference.units(name, amount) for name, amount in expected.items()} == {
        name: milli_value(nanos) if name == "cpu" else value(nanos) for name, nanos in found.items()
    }
