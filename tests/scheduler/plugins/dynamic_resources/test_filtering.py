import msgspec

from kschedctl.testing.plugin_checks import check_operands
from tests.builders import GPU, decide, make_cluster, make_node, make_pod, reason
from tests.scheduler.devices.builders import claiming_pod, make_claim, make_class, make_slice

PLUGIN = "DynamicResources"
NODES = [make_node("a"), make_node("b")]


def test_a_claim_that_another_node_has() -> None:
    claim = make_claim("c", holds=["b/gpu-0"], node="b", reserved=["train"])
    found = reason(decide(claiming_pod("c"), make_cluster(NODES, [], make_class(), claim)), PLUGIN, "a")
    assert found.detail == "claim default/c holds gpu.example.com/b/gpu-0 for train, which this node cannot use"
    assert found.operands is not None
    check_operands(found.operands)


def test_a_claim_whose_device_failed() -> None:
    conditions = {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}
    status = {"driver": "gpu.example.com", "pool": "a", "device": "gpu-0"}
    status |= {"conditions": [{"type": "failed", "status": "True"}]}  # type: ignore[dict-item]
    claim = make_claim("c", holds=["a/gpu-0"], node="a", result=conditions, devices=[status])
    found = reason(decide(claiming_pod("c"), make_cluster(NODES, [], make_class(), claim)), PLUGIN, "a")
    assert found.detail == "claim default/c holds gpu.example.com/a/gpu-0, which failed to become ready"


def test_a_resource_that_comes_from_nowhere() -> None:
    cluster = make_cluster([make_node()], [], make_class(resource=GPU), make_slice())
    found = reason(decide(make_pod(requests={GPU: 1, "example.com/other": 1}), cluster), PLUGIN)
    assert found.detail == "neither the node nor a DeviceClass has example.com/other"


def test_a_claim_that_is_left_over() -> None:
    left = make_claim("left", owner="pod")
    annotations = {"resource.kubernetes.io/extended-resource-claim": "true"}
    left = msgspec.structs.replace(left, metadata=msgspec.structs.replace(left.metadata, annotations=annotations))
    cluster = make_cluster([make_node()], [], make_class(resource=GPU), make_slice(), left)
    found = reason(decide(make_pod(requests={GPU: 1}), cluster), PLUGIN)
    assert found.detail == "claim default/left is left over from an earlier attempt and is deleted first"
