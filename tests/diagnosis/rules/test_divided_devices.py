"""Devices that nodes offer under another name, or that the pod's selector excludes."""

from typing import Any

import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.core import Node
from tests.builders import decide, make_cluster, make_node, make_pod
from tests.diagnosis.rules.cures import cures

GPU, SHARED = "nvidia.com/gpu", "nvidia.com/gpu.shared"
SMALL, LARGE = "nvidia.com/mig-1g.5gb", "nvidia.com/mig-3g.20gb"
PRODUCT = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB", "nvidia.com/mig.strategy": "mixed"}
SINGLE = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "nvidia.com/mig.strategy": "single"}
SLICED = {"nvidia.com/gpu.product": "NVIDIA-A10G-SHARED", "nvidia.com/gpu.replicas": "4"}


def gpu_node(resource: str, amount: int, labels: dict[str, str], name: str = "g", **fields: Any) -> Node:
    return make_node(name, offers={resource: str(amount)}, labels=labels, **fields)


@pytest.mark.parametrize(
    ("resource", "node", "cause", "evidence", "first"),
    [
        pytest.param(
            GPU,
            gpu_node(SHARED, 4, SLICED),
            f"no node offers {GPU}; g offers {SHARED} instead (4 of 4 free)",
            "labels of g: nvidia.com/gpu.product=NVIDIA-A10G-SHARED and nvidia.com/gpu.replicas=4",
            [
                "set renameByDefault: false in the configuration of the device plugin: shared devices are "
                f"{GPU} then (untried)",
                f"request {SHARED} instead of {GPU}",
            ],
            id="shared devices have another name",
        ),
        pytest.param(
            SHARED,
            gpu_node(GPU, 4, SLICED),
            f"no node offers {SHARED}; g offers {GPU} instead (4 of 4 free)",
            "labels of g: nvidia.com/gpu.product=NVIDIA-A10G-SHARED and nvidia.com/gpu.replicas=4",
            [f"request {GPU} instead of {SHARED}"],
            id="shared devices have the common name",
        ),
        pytest.param(
            GPU,
            gpu_node(SMALL, 7, PRODUCT),
            f"no node offers {GPU}; g offers {SMALL} instead (7 of 7 free)",
            "labels of g: nvidia.com/gpu.product=NVIDIA-A100-SXM4-40GB and nvidia.com/mig.strategy=mixed",
            [
                f"no longer divide the GPUs of g, so that it offers {GPU}: label nvidia.com/mig.config=all-disabled, "
                "once no pod uses them (untried)",
                f"request {SMALL} instead of {GPU}",
            ],
            id="the devices are divided",
        ),
        pytest.param(
            LARGE,
            gpu_node(SMALL, 7, PRODUCT),
            f"no node offers {LARGE}; g offers {SMALL} instead (7 of 7 free)",
            "labels of g: nvidia.com/gpu.product=NVIDIA-A100-SXM4-40GB and nvidia.com/mig.strategy=mixed",
            [
                f"divide the GPUs of g, so that it offers {LARGE}: label nvidia.com/mig.config=all-3g.20gb, once no "
                "pod uses them (untried)",
                f"request {SMALL} instead of {LARGE}",
            ],
            id="the devices are divided in another way",
        ),
        pytest.param(
            SMALL,
            gpu_node(GPU, 7, SINGLE),
            f"no node offers {SMALL}; g offers {GPU} instead (7 of 7 free)",
            "labels of g: nvidia.com/gpu.product=NVIDIA-A100-SXM4-40GB-MIG-1g.5gb and nvidia.com/mig.strategy=single",
            [f"request {GPU} instead of {SMALL}"],
            id="each device is such a part",
        ),
    ],
)
def test_another_part_of_the_device(resource: str, node: Node, cause: str, evidence: str, first: list[str]) -> None:
    decision = decide(make_pod(requests={resource: "1"}), make_cluster([make_node("c"), node]))
    (found,) = diagnose(decision)
    assert found.cause == cause
    assert found.evidence == (evidence,)
    assert cures(decision)[: len(first)] == first
    assert not any("no " + resource in cure for cure in cures(decision))


def test_the_selector_excludes_the_nodes_with_devices() -> None:
    nodes = [make_node("c", labels={"pool": "web"}), gpu_node(GPU, 4, {"pool": "gpu"})]
    decision = decide(make_pod(requests={GPU: "1"}, nodeSelector={"pool": "web"}), make_cluster(nodes))
    (found,) = diagnose(decision)
    assert found.cause == f"c offers no {GPU}; g, which nodeSelector pool=web excludes, offers it (label pool=gpu)"
    assert cures(decision)[0] == f"pool=gpu instead of web in nodeSelector: nodes with {GPU} have it"


def test_another_device_of_the_vendor_is_not_requested() -> None:
    node = gpu_node("example.com/gpu", 4, {})
    decision = decide(make_pod(requests={"example.com/fpga": "1"}), make_cluster([make_node("c"), node]))
    (found,) = diagnose(decision)
    assert found.cause == "no node offers example.com/fpga; g offers example.com/gpu instead (4 of 4 free)"
    assert not any("example.com/gpu" in one for one in cures(decision))
