"""Device plugins that do not run, misspelled resources, and devices in use."""

from typing import Any

import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.diagnosis.rules.devices import device_sign
from kschedctl.diagnosis.why.search import suggest
from kschedctl.objects.core import Node
from kschedctl.objects.device import ResourceClaim
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import RELEASES
from kschedctl.objects.workload import DaemonSet, Deployment
from tests.builders import decide, make_cluster, make_node, make_object, make_pod
from tests.scheduler.devices.builders import claiming_pod, make_claim, make_class, make_device, make_slice, request

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


WAITS = {"name": "driver", "restartCount": 6, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
CRASHED = {"phase": "Pending", "initContainerStatuses": [WAITS]}


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
            make_node("g", labels={"nvidia.com/gpu.present": "true"}),
            [make_pod("nvidia-device-plugin-x", namespace="gpu", node="g", status=CRASHED)],
            [],
            f"g (label {GPU}.present=true) offers no {GPU}: its device plugin, pod gpu/nvidia-device-plugin-x, "
            "is not ready (CrashLoopBackOff, 6 restarts)" + OTHER,
            f"repair the NVIDIA device plugin so that g offers 1 {GPU}",
            id="an init container crashes",
        ),
        pytest.param(
            make_node("g", offers={GPU: "0"}, labels={"nvidia.com/mig.config.state": "failed"}),
            [plugin_pod()],
            [],
            f"g (it reports 0 {GPU}) offers no {GPU}: its device plugin, pod gpu/nvidia-device-plugin-x, offers "
            "no device; its GPUs are not divided as nvidia.com/mig.config= (nvidia.com/mig.config.state=failed)"
            + OTHER,
            "look at the log of the MIG manager (nvidia-mig-manager) on g, and correct nvidia.com/mig.config if its "
            "GPUs have no such profile or are in use",
            id="the GPUs are not divided",
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
            AMD, f"no node offers {AMD}; 1 node offers {GPU}", [f"request {GPU} instead of {AMD}"], id="another vendor"
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


def test_devices_that_the_plugin_reports_as_unhealthy() -> None:
    node = make_node("g", offers={GPU: 1}, capacity={GPU: "2"})
    decision = decide(ONE, make_cluster([node], [make_pod("x", node="g", requests={GPU: "1"})]))
    assert diagnose(decision)[0].cause == (
        f"all 1 {GPU} on g are in use, by Pod default/x 1; 1 of g is unhealthy (more in its capacity than "
        "in allocatable)"
    )
    assert suggest(decision).ranked[0].summary.startswith("repair the 1 unhealthy device of g")


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
    assert found.cause == f"no node offers nvidia.com/mig-1g.5gb; g offers {GPU} instead (1 of 1 free)"


def test_more_devices_than_any_node_has() -> None:
    decision = decide(make_pod(requests={GPU: "4"}), make_cluster([make_node("c"), make_node("g", offers={GPU: "2"})]))
    (found,) = diagnose(decision)
    assert found.cause == f"no node has 4 {GPU}, the largest offers 2"
    told = [each.summary for each in suggest(decision).ranked]
    assert told == [f"add a larger node than g: with 4 {GPU} free"]


CLASS = "gpu.nvidia.com"
CLAIMS: list[dict[str, Any]] = [{"name": "gpu", "resourceClaimName": "claim"}]
OF_DRIVER = make_class(CLASS, f'device.driver == "{CLASS}"')


@pytest.mark.parametrize(
    ("objects", "cause", "cure"),
    [
        pytest.param(
            [OF_DRIVER, make_slice("s", node="a", driver="compute-domain.nvidia.com")],
            f"no ResourceSlice is of the driver {CLASS}, which DeviceClass {CLASS} selects; those of "
            "compute-domain.nvidia.com (1 node) exist",
            f"switch on the part of the driver that publishes devices of {CLASS}",
            id="another part of the driver runs",
        ),
        pytest.param(
            [OF_DRIVER],
            f"no ResourceSlice is of the driver {CLASS}, which DeviceClass {CLASS} selects, "
            "and no other driver publishes "
            "any",
            f"install the driver that publishes devices of {CLASS}",
            id="no driver runs",
        ),
        pytest.param(
            [make_class("gpu.nvidia.org")],
            f"claim default/claim requests DeviceClass {CLASS}, which does not exist; there is gpu.nvidia.org",
            f"install the driver that DeviceClass {CLASS} belongs to; its chart creates the class",
            id="no such class",
        ),
    ],
)  # fmt: skip
def test_nobody_publishes(objects: list[ApiObject], cause: str, cure: str) -> None:
    claim = make_claim("claim", request("r", of=CLASS))
    decision = decide(make_pod(resourceClaims=CLAIMS), make_cluster([make_node("a")], [], claim, *objects))
    assert [one.cause for one in diagnose(decision)] == [cause]
    assert suggest(decision).ranked[0].summary == cure


def test_the_right_name_of_the_class() -> None:
    claim = make_claim("claim", request("r", of="gpu.nvidai.com"))
    objects = (claim, OF_DRIVER, make_slice("s", node="a", driver=CLASS))
    decision = decide(make_pod(resourceClaims=CLAIMS), make_cluster([make_node("a")], [], *objects))
    assert (
        suggest(decision).ranked[0].summary == f"DeviceClass {CLASS} instead of gpu.nvidai.com in claim default/claim"
    )


def test_the_node_with_devices_is_full() -> None:
    nodes = [make_node("a"), make_node("b"), make_node("c")]
    objects = (make_claim("claim", request("r", of=CLASS)), OF_DRIVER, make_slice("s", node="a", driver=CLASS))
    cluster = make_cluster(nodes, [make_pod("web", node="a", requests={"cpu": "4"})], *objects)
    (found,) = diagnose(decide(make_pod(requests={"cpu": "1"}, resourceClaims=CLAIMS), cluster))
    assert found.cause == (
        "a has 0 of 4 cpu free, the pod wants 1 cpu; 2 other nodes have no usable devices for the claims"
    )


def test_all_devices_are_in_use() -> None:
    holding: dict[str, Any] = {"holds": ["a/gpu-0"], "node": "a", "reserved": ["train"], "result": {"driver": CLASS}}
    held = make_claim("other", request("r", of=CLASS), **holding)
    objects = (make_claim("claim", request("r", of=CLASS)), held, OF_DRIVER, make_slice("s", node="a", driver=CLASS))
    cluster = make_cluster([make_node("a"), make_node("b")], [make_pod("train", node="a")], *objects)
    (found,) = diagnose(decide(make_pod(resourceClaims=CLAIMS), cluster))
    assert found.cause == (
        f"all matching devices of DeviceClass {CLASS} on 1 node are in use, held by 1 by claim default/other of train; "
        "1 other node has none"
    )


@pytest.mark.parametrize(
    ("devices", "cause"),
    [
        pytest.param(
            {"a": 1, "b": 3},
            "all 3 nodes have too few usable gpu devices: claim default/claim wants 4, b comes closest with 3"
            " (3 there)",
            id="the closest node is named",
        ),
        pytest.param({"b": 3}, "b has 3 usable gpu devices (3 there), claim default/claim wants 4", id="one node"),
    ],
)
def test_too_few_devices(devices: dict[str, int], cause: str) -> None:
    names = "abc" if len(devices) > 1 else "b"
    slices = [make_slice(name, *(make_device(f"gpu-{i}") for i in range(n)), node=name) for name, n in devices.items()]
    objects = (make_claim("claim", request("r", 4)), make_class(), *slices)
    decision = decide(make_pod(resourceClaims=CLAIMS), make_cluster([make_node(name) for name in names], [], *objects))
    assert [one.cause for one in diagnose(decision)] == [cause]


OLD, NEW = make_claim("old", holds=["x/y"]), make_claim("new")
START = "kube-scheduler 1.35 cannot score nodes for a pod with both allocated and new ResourceClaims: "


@pytest.mark.parametrize(
    ("release", "nodes", "claims", "cause"),
    [
        pytest.param("1.35", "ab", [OLD, NEW], f"{START}allocated old, new new", id="the allocated claim first"),
        pytest.param("1.35", "ab", [NEW, OLD], f"{START}allocated old, new new", id="the new claim first"),
        pytest.param("1.35", "ab", [NEW], "", id="a new claim"),
        pytest.param("1.35", "ab", [OLD], "", id="an allocated claim"),
        pytest.param("1.35", "a", [OLD, NEW], "", id="one node, which is not scored"),
        pytest.param("1.34", "ab", [OLD, NEW], "", id="the release before, which does not score devices"),
        pytest.param("1.36", "ab", [OLD, NEW], "", id="the release after"),
    ],
)
def test_scoring_fails(release: str, nodes: str, claims: list[ResourceClaim], cause: str) -> None:
    slices = [make_slice(name, make_device("gpu-0"), node=name) for name in nodes]
    cluster = make_cluster([make_node(name) for name in nodes], [], make_class(), *slices, *claims)
    pod = claiming_pod(*(claim.name for claim in claims))
    decision = decide(pod, cluster, release=RELEASES[release])
    assert bool(decision.error) == bool(cause)
    assert [found.cause for found in diagnose(decision)] == ([cause] if cause else [])


@pytest.mark.parametrize(
    ("resource", "use", "setting"),
    [
        pytest.param(
            "vpc.amazonaws.com/PrivateIPv4Address",
            "addresses for pods on Windows",
            "set enable-windows-ipam: 'true' in ConfigMap kube-system/amazon-vpc-cni",
            id="Windows",
        ),
        pytest.param(
            "vpc.amazonaws.com/pod-eni",
            "network interfaces for pods with security groups of their own",
            "set ENABLE_POD_ENI=true in DaemonSet kube-system/aws-node",
            id="security groups of pods",
        ),
    ],
)
def test_addresses_that_a_controller_gives(resource: str, use: str, setting: str) -> None:
    system = {"kubernetes.io/os": "windows"}
    node = make_node("w", labels=system, offers={resource: "0"}, capacity={resource: "0"})
    decision = decide(make_pod(requests={resource: "1"}, nodeSelector=system), make_cluster([node]))
    (found,) = diagnose(decision)
    assert found.cause == f"w offers no {resource}: the VPC resource controller has given no {use}"
    assert [one.summary for one in suggest(decision).ranked] == [
        f"{setting}, so that the VPC resource controller gives nodes {use}"
    ]
