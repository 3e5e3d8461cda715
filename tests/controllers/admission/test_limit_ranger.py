"""The LimitRanger admission plugin by table."""

from typing import Any

import pytest

from kschedctl.common.errors import SnapshotError
from kschedctl.controllers.admission.limit_ranger import default_limits, limit_findings
from kschedctl.objects.defaults import default_pod
from kschedctl.objects.pod import Pod
from kschedctl.objects.policies import LimitRange
from kschedctl.objects.quantity import QUANTITY_HINT
from tests.builders import make_cluster, make_object


def limit_range(*limits: dict[str, Any], name: str = "limits", namespace: str = "shop") -> LimitRange:
    return make_object(LimitRange, name, namespace=namespace, spec={"limits": limits})


def container_limits(**fields: Any) -> LimitRange:
    return limit_range({"type": "Container", **fields})


def pod_limits(**fields: Any) -> LimitRange:
    return limit_range({"type": "Pod", **fields})


def pod(
    requests: dict[str, Any] | None = None,
    limits: dict[str, Any] | None = None,
    *,
    init: dict[str, Any] | None = None,
    **spec: Any,
) -> Pod:
    """A defaulted pod of one container, and an init container where its requests are given."""
    containers = [{"name": "c", "resources": {"requests": requests or {}, "limits": limits or {}}}]
    inits = [] if init is None else [{"name": "i", "resources": {"requests": init}}]
    fields = {"containers": containers, "initContainers": inits, **spec}
    return default_pod(make_object(Pod, "pod", namespace="shop", spec=fields))


@pytest.mark.parametrize(
    ("limit_ranges", "requests", "limits", "expected"),
    [
        pytest.param([], {}, {}, ({}, {}), id="no LimitRange"),
        pytest.param(
            [container_limits(default={"cpu": "1"}, defaultRequest={"cpu": "100m"})],
            {},
            {},
            ({"cpu": "100m"}, {"cpu": "1"}),
            id="default and default request",
        ),
        pytest.param(
            [container_limits(default={"cpu": "1"})],
            {},
            {},
            ({"cpu": "1"}, {"cpu": "1"}),
            id="without a default request, the default limit is requested",
        ),
        pytest.param(
            [container_limits(max={"cpu": "2"})],
            {},
            {},
            ({"cpu": "2"}, {"cpu": "2"}),
            id="without a default, the maximum is the limit",
        ),
        pytest.param(
            [container_limits(min={"cpu": "10m"})],
            {},
            {},
            ({"cpu": "10m"}, {}),
            id="without any default, the minimum is requested",
        ),
        pytest.param(
            [container_limits(default={"cpu": "1"}, defaultRequest={"cpu": "100m", "memory": "1Gi"})],
            {"cpu": "250m"},
            {},
            ({"cpu": "250m", "memory": "1Gi"}, {"cpu": "1"}),
            id="what a container says stays",
        ),
        pytest.param(
            [container_limits(default={"cpu": "2"}, defaultRequest={"cpu": "100m"})],
            {},
            {"cpu": "500m"},
            ({"cpu": "500m"}, {"cpu": "500m"}),
            id="a container's own limit is its request before LimitRanger looks",
        ),
        pytest.param(
            [limit_range({"type": "Container", "default": {"cpu": "1"}}, {"type": "Container", "default": {"cpu": 2}})],
            {},
            {},
            ({"cpu": 2}, {"cpu": 2}),
            id="of two items in a LimitRange the later one counts",
        ),
        pytest.param(
            [
                container_limits(default={"cpu": "1"}),
                limit_range({"type": "Container", "default": {"cpu": 2}}, name="b"),
            ],
            {},
            {},
            ({"cpu": "1"}, {"cpu": "1"}),
            id="of two LimitRanges the first one counts",
        ),
        pytest.param(
            [limit_range({"type": "Container", "default": {"cpu": "1"}}, namespace="bank")],
            {},
            {},
            ({}, {}),
            id="a LimitRange of another namespace",
        ),
        pytest.param([pod_limits(default={"cpu": "1"})], {}, {}, ({}, {}), id="only containers have defaults"),
    ],
)
def test_defaults(
    limit_ranges: list[LimitRange],
    requests: dict[str, Any],
    limits: dict[str, Any],
    expected: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    admitted = default_limits(pod(requests, limits, init={}), make_cluster([], [], *limit_ranges))
    resources = admitted.spec.containers[0].resources
    assert (resources.requests, resources.limits) == expected


def test_init_containers_have_defaults_too() -> None:
    cluster = make_cluster([], [], container_limits(default={"cpu": "1"}))
    admitted = default_limits(pod(init={}), cluster)
    assert admitted.spec.init_containers[0].resources.limits == {"cpu": "1"}


SAYS_SO = "\n  LimitRange limits of shop sets this constraint"
CONTAINER = "pod.yaml: spec.containers[0].resources: "


@pytest.mark.parametrize(
    ("bounds", "given", "text"),
    [
        pytest.param(
            container_limits(min={"cpu": "0.25"}),
            pod({"cpu": "100m"}),
            f"{CONTAINER}minimum cpu usage per Container is 250m, but request is 100m{SAYS_SO}",
            id="container requests less than the minimum",
        ),
        pytest.param(
            container_limits(max={"memory": "1Gi"}),
            pod({"memory": "512Mi"}, {"memory": "2048Mi"}),
            f"{CONTAINER}maximum memory usage per Container is 1Gi, but limit is 2Gi{SAYS_SO}",
            id="container limit above the maximum",
        ),
        pytest.param(
            container_limits(maxLimitRequestRatio={"cpu": "4"}),
            pod({"cpu": "100m"}, {"cpu": "500m"}),
            f"{CONTAINER}cpu max limit to request ratio per Container is 4, but provided ratio is 5.000000{SAYS_SO}",
            id="container limit is too far from its request",
        ),
        pytest.param(
            container_limits(maxLimitRequestRatio={"cpu": "4"}),
            pod(),
            f"{CONTAINER}cpu max limit to request ratio per Container is 4, but no request is specified or request is 0"
            f"{SAYS_SO}",
            id="ratio without a request",
        ),
        pytest.param(
            container_limits(maxLimitRequestRatio={"cpu": "4"}),
            pod({"cpu": "1"}),
            f"{CONTAINER}cpu max limit to request ratio per Container is 4, but no limit is specified or limit is 0"
            f"{SAYS_SO}",
            id="ratio without a limit",
        ),
        pytest.param(
            pod_limits(min={"cpu": "1"}),
            pod(),
            f"pod.yaml: spec: minimum cpu usage per Pod is 1.  No request is specified{SAYS_SO}",
            id="pod requests nothing where there is a minimum",
        ),
        pytest.param(
            pod_limits(max={"cpu": "1"}),
            pod({"cpu": "100m"}),
            f"pod.yaml: spec: maximum cpu usage per Pod is 1.  No limit is specified{SAYS_SO}",
            id="pod has no limit where there is a maximum",
        ),
        pytest.param(
            pod_limits(max={"cpu": "1500m"}),
            pod({"cpu": "1"}, {"cpu": "1"}, resources={"limits": {"cpu": "2"}}),
            f"pod.yaml: spec: maximum cpu usage per Pod is 1500m, but limit is 2{SAYS_SO}",
            id="limit of the pod as a whole is above the maximum",
        ),
        pytest.param(
            pod_limits(min={"memory": "1Gi"}),
            pod({"memory": "100Mi"}, init={"memory": "200Mi"}),
            f"pod.yaml: spec: minimum memory usage per Pod is 1Gi, but request is 200Mi{SAYS_SO}",
            id="init containers count where they need more",
        ),
        pytest.param(
            limit_range(
                {"type": "Container", "min": {"cpu": "1"}, "max": {"memory": "1Gi"}},
                {"type": "Pod", "min": {"memory": "2Gi"}},
            ),
            pod({"cpu": "100m", "memory": "1Gi"}, {"memory": "1Gi"}),
            f"{CONTAINER}minimum cpu usage per Container is 1, but request is 100m{SAYS_SO}\n"
            f"pod.yaml: spec: minimum memory usage per Pod is 2Gi, but request is 1Gi{SAYS_SO}",
            id="all that is wrong is told at once",
        ),
    ],
)
def test_refused(bounds: LimitRange, given: Pod, text: str) -> None:
    found = limit_findings(given, make_cluster([], [], bounds))
    assert "\n".join(str(finding.at("pod.yaml")) for finding in found) == text


def test_resources_of_the_pod_as_a_whole_do_not_count_where_the_gate_is_off() -> None:
    given = pod({"cpu": "1"}, {"cpu": "1"}, resources={"limits": {"cpu": "2"}})
    cluster = make_cluster([], [], pod_limits(max={"cpu": "1500m"}))
    assert not list(limit_findings(given, cluster, pod_level=False))
    assert list(limit_findings(given, cluster))


def test_a_bound_that_is_no_quantity_is_an_error_of_the_snapshot() -> None:
    with pytest.raises(SnapshotError) as error:
        list(limit_findings(pod(), make_cluster([], [], pod_limits(min={"cpu": "lots"}))))
    assert (
        str(error.value)
        == 'LimitRange shop/limits: spec.limits[0].min.cpu: "lots" is not a quantity\n  ' + QUANTITY_HINT
    )
