"""The checks of requests and limits by table."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.admission.resource_validation import resource_findings
from kschedctl.api.pod import Pod
from tests.builders import GPU, make_object

HINT = "\n  where a container gives no request or limit, defaults and LimitRanges may set one"
CPU_1 = {"cpu": "1"}
CPU_2 = {"cpu": "2000m"}
PAGES = "hugepages-2Mi"


def pod(*containers: tuple[dict[str, Any], dict[str, Any]], whole: Any = None, init: Any = None) -> Pod:
    """A pod of containers with these requests and limits."""
    given = [
        {"name": str(i), "resources": {"requests": requests, "limits": limits}}
        for i, (requests, limits) in enumerate(containers)
    ]
    return make_object(Pod, "pod", spec={"containers": given, "initContainers": init or [], "resources": whole or {}})


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(pod(({}, {})), id="nothing given"),
        pytest.param(pod((CPU_1, {})), id="no limit"),
        pytest.param(pod((CPU_1, CPU_2)), id="less than the limit"),
        pytest.param(pod((CPU_2, {"cpu": 2})), id="as much as the limit, in other words"),
        pytest.param(
            pod((CPU_1, CPU_2), (CPU_1, CPU_2), whole={"requests": CPU_2, "limits": CPU_2}),
            id="limits of containers may together be above that of the pod",
        ),
    ],
)
def test_valid(given: Pod) -> None:
    assert not list(resource_findings(given))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        pytest.param(
            pod((CPU_2, CPU_1)),
            'pod.yaml: spec.containers[0].resources.requests: Invalid value: "2": '
            f"must be less than or equal to cpu limit of 1{HINT}",
            id="a request above its limit",
        ),
        pytest.param(
            pod(({GPU: 1}, {GPU: 2})),
            'pod.yaml: spec.containers[0].resources.requests: Invalid value: "1": '
            f"must be equal to {GPU} limit of 2{HINT}",
            id="an extended resource that its limit does not equal",
        ),
        pytest.param(
            pod(({}, {}), init=[{"name": "i", "resources": {"requests": CPU_2, "limits": CPU_1}}]),
            'pod.yaml: spec.initContainers[0].resources.requests: Invalid value: "2": '
            f"must be less than or equal to cpu limit of 1{HINT}",
            id="an init container's",
        ),
        pytest.param(
            pod(({}, {}), whole={"requests": CPU_2, "limits": CPU_1}),
            'pod.yaml: spec.resources.requests: Invalid value: "2": '
            f"must be less than or equal to cpu limit of 1{HINT}",
            id="the request of the pod as a whole above its limit",
        ),
        pytest.param(
            pod((CPU_1, {}), (CPU_2, {}), whole={"requests": CPU_2}),
            'pod.yaml: spec.resources.requests[cpu]: Invalid value: "2": '
            f"must be greater than or equal to aggregate container requests of 3{HINT}",
            id="containers ask for more than the pod",
        ),
        pytest.param(
            pod(({}, CPU_2), whole={"limits": CPU_1}),
            'pod.yaml: spec.containers[0].resources.limits[cpu]: Invalid value: "2": '
            f"must be less than or equal to pod limits of 1{HINT}",
            id="a container's limit above that of the pod",
        ),
        pytest.param(
            pod(({}, {PAGES: "4Mi"}), ({}, {PAGES: "4Mi"}), whole={"limits": {PAGES: "6Mi"}}),
            f'pod.yaml: spec.resources.limits[{PAGES}]: Invalid value: "6Mi": '
            f"must be greater than or equal to aggregate container limits of 8Mi{HINT}",
            id="containers have more huge pages than the pod",
        ),
    ],
)
def test_refused(given: Pod, text: str) -> None:
    assert "\n".join(str(finding.at("pod.yaml")) for finding in resource_findings(given)) == text


def test_the_pod_as_a_whole_does_not_count_where_the_gate_is_off() -> None:
    assert not list(resource_findings(pod((CPU_2, {}), whole={"requests": CPU_1}), pod_level=False))
