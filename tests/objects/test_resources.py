from typing import Any

import pytest
from hypothesis import given

from kschedctl.objects.pod import Pod
from kschedctl.objects.quantity import QuantityError, milli_value, parse_quantity, value
from kschedctl.objects.releases.release import RELEASES
from kschedctl.objects.resources import (
    RequestRules,
    format_amount,
    format_nanos,
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


@pytest.mark.parametrize(("version", "saturates"), [("1.37", False), ("1.38", True)])
def test_which_releases_saturate_sums(version: str, saturates: bool) -> None:
    assert RequestRules.of(RELEASES[version]).saturate is saturates


@given(pods("requests"))
def test_equals_the_slow_reference(pod: Pod) -> None:
    expected = reference.requests(pod)
    found = pod_requests(pod, ALL)
    assert {name: reference.units(name, amount) for name, amount in expected.items()} == {
        name: milli_value(nanos) if name == "cpu" else value(nanos) for name, nanos in found.items()
    }


TOTALS = RequestRules(totals=True)
INFEASIBLE = {"conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]}


def status(name: str, allocated: str = "", actuated: str = "") -> dict[str, Any]:
    """Return a container's CPU status as the kubelet reports it."""
    out: dict[str, Any] = {"name": name}
    if allocated:
        out["allocatedResources"] = {"cpu": allocated}
    if actuated:
        out["resources"] = {"requests": {"cpu": actuated}}
    return out


def two(first: str, second: str) -> dict[str, Any]:
    """Return containers a and b with their CPU requests."""
    return {"containers": [make_container(n, requests={"cpu": c}) for n, c in (("a", first), ("b", second))]}


@pytest.mark.parametrize(
    ("spec", "reported", "per_container", "totals"),
    [
        pytest.param(two("1", "4"), {}, 5000, 5000, id="nothing reported: the spec"),
        pytest.param(
            two("1", "4"),
            {"containerStatuses": [status("a", "3", "3"), status("b", "2", "2")]},
            3000 + 4000,
            5000,
            id="wanted 1 + 4, allocated and actuated 3 + 2",
        ),
        pytest.param(
            two("1", "4"),
            {"containerStatuses": [status("a", "3", "5"), status("b", "2", "1")]},
            5000 + 4000,
            6000,
            id="wanted 1 + 4, allocated 3 + 2, actuated 5 + 1",
        ),
        pytest.param(
            two("1", "4"),
            {"containerStatuses": [status("a", "3")]},
            5000,
            7000,
            id="allocated 3 + the spec's 4, where nothing is actuated",
        ),
        pytest.param(
            two("1", "4"),
            {"containerStatuses": [status("a", "3", "2")], **INFEASIBLE},
            3000 + 4000,
            3000,
            id="infeasible: the spec of neither counts, b has no status",
        ),
        pytest.param(two("1", "4"), INFEASIBLE, 5000, 0, id="infeasible and nothing reported"),
        pytest.param(
            {**two("1", "1"), "initContainers": [make_container("i", requests={"cpu": "3"})]},
            {"initContainerStatuses": [status("i", "5", "4")]},
            3000,
            5000,
            id="the peak of an ordinary init container: wanted 3, allocated 5, actuated 4",
        ),
        pytest.param(
            {**two("1", "1"), "initContainers": [make_container("i", requests={"cpu": "1"}, restartPolicy="Always")]},
            {"initContainerStatuses": [status("i", "2", "3")]},
            5000,
            5000,
            id="a sidecar runs along: 1 + 1 + 3",
        ),
        pytest.param(
            two("1", "4"),
            {
                "containerStatuses": [status("a", "9", "9")],
                "resources": {"requests": {"cpu": "6"}},
                "allocatedResources": {"cpu": "7"},
            },
            9000 + 4000,
            7000,
            id="the pod's own report stands for those of its containers",
        ),
        pytest.param(
            {**two("1", "1"), "overhead": {"cpu": "1"}},
            {"containerStatuses": [status("a", "2", "2")]},
            4000,
            4000,
            id="overhead comes on top",
        ),
    ],
)
def test_a_resize_of_containers(
    spec: dict[str, Any], reported: dict[str, Any], per_container: int, totals: int
) -> None:
    pod = make_pod(**spec, status=reported)
    assert milli_value(pod_requests(pod, ALL).get("cpu", 0)) == per_container
    assert milli_value(pod_requests(pod, TOTALS).get("cpu", 0)) == totals


@pytest.mark.parametrize(
    ("reported", "older", "totals"),
    [
        pytest.param(
            {"resources": {"requests": {"memory": "3Mi"}}, "allocatedResources": {"memory": "2Mi"}},
            (1000, MIB),
            (1000, 3 * MIB),
            id="memory, which the spec does not ask for as a whole, counts as reported",
        ),
        pytest.param(
            {"containerStatuses": [status("a", "2", "2")], "resources": {}, **INFEASIBLE},
            (0, 0),
            (2000, 0),
            id="nothing is reported as a whole, and the spec is infeasible: what the container reports stays",
        ),
    ],
)
def test_resources_of_the_pod_as_a_whole(
    reported: dict[str, Any], older: tuple[int, int], totals: tuple[int, int]
) -> None:
    container = make_container("a", requests={"cpu": "500m", "memory": "1Mi"})
    pod = make_pod(containers=[container], resources={"requests": {"cpu": "1"}}, status=reported)
    for rules, expected in ((ALL, older), (TOTALS, totals)):
        found = pod_requests(pod, rules)
        assert (milli_value(found.get("cpu", 0)), value(found.get("memory", 0))) == expected


@pytest.mark.parametrize(
    ("reported", "cpu"),
    [
        pytest.param({}, 1100, id="the defaults fill in what the spec leaves out: 1 + 0.1"),
        pytest.param({"containerStatuses": [status("a", "2", "2")]}, 2100, id="in each total: allocated 2 + 0.1"),
        pytest.param(
            {"containerStatuses": [status("a", "2", "2")], **INFEASIBLE}, 2100, id="also without a status: 2 + 0.1"
        ),
    ],
)
def test_defaults_for_scoring_of_a_pod_that_is_resized(reported: dict[str, Any], cpu: int) -> None:
    containers = [make_container("a", requests={"cpu": "1"}), make_container("b")]
    pod = make_pod(containers=containers, status=reported)
    assert non_zero_requests(pod, TOTALS, pod_requests(pod, TOTALS)) == (cpu, 2 * 200 * MIB)


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 4000, "4"),
        ("cpu", 250, "0.25"),
        ("cpu", 1, "0.001"),
        ("cpu", 0, "0"),
        ("cpu", -1500, "-1.5"),
        ("memory", 1023, "1023"),
        ("memory", 1024, "1Ki"),
        ("memory", 5 << 29, "2.5Gi"),
        ("memory", -(1 << 30), "-1Gi"),
        ("ephemeral-storage", 10**9, "953.67Mi"),
        ("hugepages-2Mi", 4 << 20, "4Mi"),
        ("example.com/gpu", 2048, "2048"),
        ("pods", 110, "110"),
    ],
)
def test_amounts(resource: str, amount: int, text: str) -> None:
    assert format_amount(resource, amount) == text


@pytest.mark.parametrize(
    ("name", "quantity", "text"),
    [
        ("cpu", "47810m", "47.81"),
        ("requests.cpu", "47.81", "47.81"),
        ("limits.memory", "1536Mi", "1.5Gi"),
        ("requests.storage", "10Gi", "10Gi"),
        ("requests.nvidia.com/gpu", "4", "4"),
        ("count/deployments.apps", "12", "12"),
        ("requests.cpu", "1n", "0.001"),
    ],
)
def test_quantities_of_quotas_have_the_same_notation(name: str, quantity: str, text: str) -> None:
    assert format_nanos(name, parse_quantity(quantity)) == text
