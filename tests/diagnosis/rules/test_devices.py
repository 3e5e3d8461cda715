"""Device plugins that do not run, misspelled resources, and devices in use."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.diagnosis.device_nodes import device_sign
from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.diagnosis.why.search import suggest
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import DaemonSet, Deployment
from tests.builders import decide, make_cluster, make_node, make_object, make_pod

GPU = "nvidia.com/gpu"
PCI = "feature.node.kubernetes.io/pci-10de.present"
AWS = "k8s.amazonaws.com/accelerator"
OTHER = "; 1 other node shows no such device"
MACHINE = "node.kubernetes.io/instance-type"
ONE = make_pod(requests={GPU: "1"})
AMD = "amd.com/gpu"


def plugin_pod(*, ready: str = "True") -> Pod:
    owner = ("apps/v1", "DaemonSet", "nvidia-device-plugin")
    status = {"conditions": [{"type": "Ready", "status": ready}]}
    return make_pod("nvidia-device-plugin-x", namespace="gpu", node="g", owner=owner, status=status)


def plugin(**spec: Any) -> DaemonSet:
    template = {"spec": {"containers": [{"name": "c", "image": "nvcr.io/nvidia/k8s-device-plugin:v0.17"}], **spec}}
    return make_object(DaemonSet, "nvidia-device-plugin", namespace="gpu", spec={"template": template})


@pytest.mark.parametrize(
    ("node", "pods", "objects", "cause", "cure"),
    [
        pytest.param(
            make_node("g", labels={MACHINE: "g5.2xlarge"}),
            [],
            [],
            f"g (instance type g5.2xlarge) offers no {GPU}: the snapshot shows no device plugin there" + OTHER,
            f"install or repair the NVIDIA device plugin so that g offers 1 {GPU}",
            id="none installed",
        ),
        pytest.param(
            make_node("g", labels={MACHINE: "g5.2xlarge"}),
            [make_pod("proxy", node="g")],
            [],
            f"g (instance type g5.2xlarge) offers no {GPU}: no device plugin runs there" + OTHER,
            f"install or repair the NVIDIA device plugin so that g offers 1 {GPU}",
            id="other pods run there",
        ),
        pytest.param(
            make_node("g", labels={"nvidia.com/gpu.present": "true"}),
            [plugin_pod(ready="False")],
            [],
            f"g (label {GPU}.present=true) offers no {GPU}: its device plugin, pod gpu/nvidia-device-plugin-x, "
            "is not ready" + OTHER,
            f"repair the NVIDIA device plugin so that g offers 1 {GPU}",
            id="not ready",
        ),
        pytest.param(
            make_node("g", offers={GPU: "0"}),
            [plugin_pod()],
            [],
            f"g (it reports 0 {GPU}) offers no {GPU}: its device plugin, pod gpu/nvidia-device-plugin-x, offers "
            "no device" + OTHER,
            f"repair the NVIDIA device plugin so that g offers 1 {GPU}",
            id="finds no device",
        ),
        pytest.param(
            make_node("g", labels={"cloud.google.com/gke-accelerator": "nvidia-l4"}),
            [],
            [plugin(nodeSelector={"pool": "gpu"})],
            f"g (label cloud.google.com/gke-accelerator=nvidia-l4) offers no {GPU}: "
            "DaemonSet gpu/nvidia-device-plugin has no pod there, as its node selector does not match the node" + OTHER,
            f"repair the NVIDIA device plugin so that g offers 1 {GPU}",
            id="the plugin's selector excludes the node",
        ),
        pytest.param(
            make_node("g", labels={"nvidia.com/gpu.present": "true"}),
            [],
            [make_object(Deployment, "gpu-operator", namespace="gpu")],
            f"g (label {GPU}.present=true) offers no {GPU}: no device plugin runs there, although gpu/gpu-operator is "
            "to install one" + OTHER,
            f"repair the NVIDIA device plugin so that g offers 1 {GPU}",
            id="an operator that does not install it",
        ),
    ],
)
def test_no_device_plugin(node: Node, pods: list[Pod], objects: list[Any], cause: str, cure: str) -> None:
    decision = decide(ONE, make_cluster([make_node("cpu"), node], pods, *objects))
    assert [one.cause for one in diagnose(decision)] == [cause]
    assert suggest(decision).ranked[0].summary == cure


@pytest.mark.parametrize(
    ("labels", "resource", "sign"),
    [
        ({MACHINE: "p4d.24xlarge"}, GPU, "instance type p4d.24xlarge"),
        ({MACHINE: "Standard_NC6s_v3"}, GPU, "instance type Standard_NC6s_v3"),
        ({MACHINE: "a2-highgpu-1g"}, GPU, "instance type a2-highgpu-1g"),
        ({MACHINE: "g4ad.xlarge"}, AMD, "instance type g4ad.xlarge"),
        ({MACHINE: "g4ad.xlarge"}, GPU, ""),
        ({MACHINE: "m6i.xlarge"}, GPU, ""),
        ({PCI: "true"}, GPU, f"label {PCI}=true"),
        ({"feature.node.kubernetes.io/pci-0302_10de.present": "true"}, AMD, ""),
        ({"nvidia.com/gpu.present": "false"}, GPU, ""),
        ({AWS: "nvidia-tesla-t4"}, GPU, f"label {AWS}=nvidia-tesla-t4"),
        ({"habana.ai/present": "true"}, "habana.ai/gaudi", "label habana.ai/present=true"),
    ],
)  # fmt: skip
def test_signs_of_devices(labels: dict[str, str], resource: str, sign: str) -> None:
    assert device_sign(make_node("n", labels=labels), resource) == sign


@pytest.mark.parametrize(
    ("asked", "cause", "cures"),
    [
        pytest.param(
            "nvidia.com/gpus",
            f"no node offers nvidia.com/gpus; 1 node offers {GPU}",
            [f"request {GPU} instead of nvidia.com/gpus"],
            id="plural",
        ),
        pytest.param(
            "nvidia/gpu",
            f"no node offers nvidia/gpu; 1 node offers {GPU}",
            [f"request {GPU} instead of nvidia/gpu"],
            id="no domain",
        ),
        pytest.param(
            AMD,
            f"no node offers {AMD}; 1 node offers {GPU}",
            [f"request {GPU} instead of {AMD}"],
            id="another vendor",
        ),
        pytest.param("example.com/fpga", "no node offers example.com/fpga", [], id="something else"),
    ],
)
def test_mistyped_resource(asked: str, cause: str, cures: list[str]) -> None:
    decision = decide(
        make_pod(requests={asked: "1"}), make_cluster([make_node("c"), make_node("g", offers={GPU: "2"})])
    )
    assert [one.cause for one in diagnose(decision)] == [cause]
    assert [each.summary for each in suggest(decision).suggestions] == cures


def test_who_holds_all_devices() -> None:
    pods = [
        make_pod(f"serve-{n}", node="g", requests={GPU: "1"}, owner=("apps/v1", "StatefulSet", "serve"))
        for n in range(2)
    ]
    nodes = [make_node("c"), make_node("g", offers={GPU: "2"})]
    (found,) = diagnose(decide(ONE, make_cluster(nodes, pods)))
    assert found.cause == f"all 2 {GPU} on g are in use, by StatefulSet default/serve 2; 1 other node offers no {GPU}"


def test_a_gpu_node_that_other_pods_fill() -> None:
    nodes = [*map(make_node, "abc"), make_node("g", offers={GPU: "2"})]
    pods = [make_pod("web", node="g", requests={"cpu": "3"}), make_pod("train", node="g", requests={GPU: "1"})]
    (found,) = diagnose(decide(make_pod(requests={"cpu": "2", GPU: "1"}), make_cluster(nodes, pods)))
    assert found.cause == f"g has 1 of 4 cpu free, the pod wants 2 cpu; 3 other nodes offer no {GPU}"
    assert found.evidence == (f"1 pod there that requests no {GPU} has 3 cpu",)


def test_a_pod_without_devices() -> None:
    (found,) = diagnose(decide(make_pod(requests={"cpu": "8"}), make_cluster([make_node("g", offers={GPU: "2"})])))
    assert "device" not in found.rule


RESERVED = f"{GPU}=present:NoSchedule"


def test_the_silent_node_is_reserved_for_its_devices() -> None:
    node = make_node("g", labels={f"{GPU}.present": "true"}, taints=[RESERVED])
    decision = decide(ONE, make_cluster([make_node("c"), node]))
    first = suggest(decision).ranked[0].summary
    assert first == f"install or repair the NVIDIA device plugin so that g offers 1 {GPU}, and tolerate {RESERVED}"


def test_free_devices_on_a_reserved_node() -> None:
    decision = decide(ONE, make_cluster([make_node("c"), make_node("g", offers={GPU: "1"}, taints=[RESERVED])]))
    (found,) = diagnose(decision)
    assert found.cause == f"g is tainted {RESERVED}; 1 other node offers no {GPU}"
    assert [each.summary for each in suggest(decision).suggestions] == [f"tolerate {RESERVED}"]


def test_another_device_of_the_vendor() -> None:
    pod = make_pod(requests={"nvidia.com/mig-1g.5gb": "1"})
    (found,) = diagnose(decide(pod, make_cluster([make_node("g", offers={GPU: "1"})])))
    assert found.cause == f"no node offers nvidia.com/mig-1g.5gb; nodes offer {GPU} of the same vendor"


def test_more_devices_than_any_node_has() -> None:
    decision = decide(make_pod(requests={GPU: "4"}), make_cluster([make_node("c"), make_node("g", offers={GPU: "2"})]))
    (found,) = diagnose(decision)
    assert found.cause == f"no node has 4 {GPU}, the largest offers 2"
    told = [each.summary for each in suggest(decision).ranked]
    assert told == [f"add a larger node than g: with 4 {GPU} free"]
