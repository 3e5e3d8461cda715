from typing import Any

import msgspec
import pytest

from kschedctl.objects.core import Namespace, Service
from kschedctl.objects.defaults import default_object, default_pod
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.quantity import QuantityError
from kschedctl.objects.volume import PersistentVolume, PersistentVolumeClaim, StorageClass
from tests.builders import make_object


def defaulted(**spec: Any) -> Any:
    """The defaulted spec, as in a manifest."""
    return msgspec.to_builtins(default_pod(msgspec.convert({"spec": spec}, Pod)).spec)


def test_a_bare_pod() -> None:
    pod = default_pod(Pod())
    assert pod.namespace == "default"
    assert pod.spec.scheduler_name == "default-scheduler"
    assert pod.spec.termination_grace_period_seconds == 30


def test_what_is_given_is_kept() -> None:
    written = {"metadata": {"namespace": "a"}, "spec": {"schedulerName": "b", "terminationGracePeriodSeconds": 0}}
    pod = default_pod(msgspec.convert(written, Pod))
    assert (pod.namespace, pod.spec.scheduler_name) == ("a", "b")
    assert pod.spec.termination_grace_period_seconds == 0


def test_limits_are_requests_where_none_are_given() -> None:
    resources = {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}
    for field in ("containers", "initContainers"):
        (container,) = defaulted(**{field: [{"name": "c", "resources": resources}]})[field]
        assert container["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("host_network", "port", "expected"),
    [
        pytest.param(False, {"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}, id="TCP"),
        pytest.param(
            True,
            {"containerPort": 80},
            {"containerPort": 80, "hostPort": 80, "protocol": "TCP"},
            id="on the host network the host's port is the container's",
        ),
        pytest.param(
            True,
            {"containerPort": 80, "hostPort": 81, "protocol": "UDP"},
            {"containerPort": 80, "hostPort": 81, "protocol": "UDP"},
            id="unless it is given",
        ),
    ],
)
def test_ports(host_network: bool, port: dict[str, Any], expected: dict[str, Any]) -> None:
    spec = defaulted(hostNetwork=host_network, containers=[{"name": "c", "ports": [port]}])
    assert list(spec["containers"][0]["ports"]) == [expected]


def cpu(request: str, **limits: str) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": {"cpu": request}, "limits": limits}}


@pytest.mark.parametrize(
    ("spec", "requests"),
    [
        pytest.param({"resources": {"requests": {"cpu": "3"}}}, {"cpu": "3"}, id="as given"),
        pytest.param({"resources": {"limits": {"cpu": "3"}}}, {"cpu": "3"}, id="from the pod's limits"),
        pytest.param(
            {"resources": {"limits": {"cpu": "3"}}, "containers": [cpu("1"), cpu("500m")]},
            {"cpu": "1500m"},
            id="before that from what the containers request together",
        ),
        pytest.param(
            {"resources": {"requests": {"cpu": "3"}}, "containers": [cpu("1", **{"hugepages-2Mi": "4Mi"})]},
            {"cpu": "3", "hugepages-2Mi": "4Mi"},
            id="huge pages from the containers' limits",
        ),
    ],
)
def test_pod_level_requests(spec: dict[str, Any], requests: dict[str, str]) -> None:
    assert defaulted(**spec)["resources"]["requests"] == requests


def test_a_wrong_quantity_names_its_field() -> None:
    with pytest.raises(QuantityError) as caught:
        defaulted(resources={"limits": {"cpu": "1"}}, containers=[cpu("1"), cpu("much")])
    assert caught.value.path == "spec.containers[1].resources.requests.cpu"


def test_a_namespace_has_its_name_as_label() -> None:
    assert default_object(make_object(Namespace, "a")).metadata.labels == {"kubernetes.io/metadata.name": "a"}


@pytest.mark.parametrize(
    ("obj", "field", "expected"),
    [
        (make_object(Service, "a"), "metadata.namespace", "default"),
        (make_object(Service, "a", namespace="b"), "metadata.namespace", "b"),
        (make_object(StorageClass, "a"), "volume_binding_mode", "Immediate"),
        (make_object(StorageClass, "a"), "metadata.namespace", ""),
        (make_object(PersistentVolume, "a"), "spec.volume_mode", "Filesystem"),
        (make_object(PersistentVolume, "a"), "status.phase", "Pending"),
        (make_object(PersistentVolumeClaim, "a"), "metadata.namespace", "default"),
        (make_object(PersistentVolumeClaim, "a"), "spec.volume_mode", "Filesystem"),
        (make_object(PersistentVolumeClaim, "a"), "status.phase", "Pending"),
    ],
)
def test_other_kinds(obj: ApiObject, field: str, expected: str) -> None:
    found: Any = default_object(obj)
    for part in field.split("."):
        found = getattr(found, part)
    assert found == expected


def test_claims_of_ephemeral_volumes_are_file_systems() -> None:
    template = {"spec": {"storageClassName": "fast"}}
    (volume,) = defaulted(volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": template}}])["volumes"]
    assert volume["ephemeral"]["volumeClaimTemplate"]["spec"]["volumeMode"] == "Filesystem"


def test_rbd_volumes_are_in_the_pool_rbd() -> None:
    (volume,) = defaulted(volumes=[{"name": "v", "rbd": {"image": "i"}}])["volumes"]
    assert volume["rbd"]["pool"] == "rbd"
