"""The devices of a pod's claims, as data and as text."""

from __future__ import annotations

import json

import pytest

from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.output.json import as_json
from kschedctl.questions.answers.explain import Explanation
from kschedctl.questions.presentation.explain.claims import claims_section
from tests.answer_schema import validate
from tests.builders import GPU, make_cluster, make_container, make_node, make_pod
from tests.questions.analyses.explain.test_answer import explain
from tests.questions.presentation.printing import lines
from tests.scheduler.devices.builders import claiming_pod, make_claim, make_class, make_device, make_slice, request

SHARED = make_device("x", "8Gi", allowMultipleAllocations=True, bindingConditions=["attached"])

NONE = "request r wants 1 gpu, 0 usable (0 here, 0 of the class, 0 match, 0 free)"
ONE = "request r wants 1 gpu, 1 usable (1 here, 1 of the class, 1 match, 1 free)"


def answer(pod: Pod, *objects: ApiObject) -> Explanation:
    return explain(make_cluster([make_node(name) for name in "abc"], [], make_class(), *objects), pod)


@pytest.mark.parametrize(
    ("pod", "objects", "expected"),
    [
        pytest.param(make_pod(), [], [], id="a pod without claims"),
        pytest.param(
            claiming_pod("held", "new"),
            [
                make_slice("s", make_device("x"), make_device("y"), node="b"),
                make_claim("held", holds=["b/x"], node="b"),
                make_claim("new"),
            ],
            [
                "    1  b      claim default/held, allocated for node b:",
                "                r: gpu.example.com/b/x",
                "              claim default/new for node b:",
                "                r: gpu.example.com/b/y",
                f"    2  a and c  claim default/new, {NONE}",
            ],
            id="one that has its devices, and one that gets some",
        ),
        pytest.param(
            claiming_pod("c"),
            [
                make_slice("s", SHARED, allNodes=True, pool="p"),
                make_claim("c", request("r", 1, capacity={"memory": "1Gi"})),
            ],
            [
                "    3  a, b and c  claim default/c for all nodes:",
                "                     r: gpu.example.com/p/x, a share of memory 1Gi, binding waits for attached",
            ],
            id="a share, once it is attached",
        ),
        pytest.param(
            claiming_pod("c", "d"),
            [make_slice("s", node="b"), make_claim("c"), make_claim("d")],
            [
                f"    2  a and c  claim default/c, {NONE}",
                f"                claim default/d, {NONE}",
                f"    1  b        each alone, but not together: claim default/c, {ONE}; claim default/d, {ONE}",
            ],
            id="not both",
        ),
        pytest.param(
            make_pod(containers=[make_container(resources={"requests": {GPU: "1"}, "limits": {GPU: "1"}})]),
            [make_slice("s", node="b"), make_class("nvidia", "device.driver != ''", resource=GPU)],
            [
                "    1  b      claim default/<extended-resources> for node b:",
                "                container-0-request-0: gpu.example.com/b/gpu-0",
                "    2  a and c  claim default/<extended-resources>, request container-0-request-0 wants 1 nvidia,"
                " 0 usable (0 here, 0 of the class, 0 match, 0 free)",
            ],
            id="an extended resource that a class stands for",
        ),
    ],
)
def test_claims(pod: Pod, objects: list[ApiObject], expected: list[str]) -> None:
    found = answer(pod, *objects)
    text = lines(claims_section(found.claims, every_node=False), 300)
    rows = [line.removeprefix("  ") for line in text if line and line != "ResourceClaims"]
    assert [row for row in rows if not row.startswith("nodes")] == expected
    validate(json.loads(as_json(found)))


def test_allocations_are_told_by_node() -> None:
    slices = [make_slice("s", node="b"), make_slice("t", node="c")]
    found = answer(claiming_pod("c"), *slices, make_claim("c"))
    assert {node: own[0].devices[0].name for node, own in found.claims.allocations.items()} == {
        "b": "gpu.example.com/b/gpu-0",
        "c": "gpu.example.com/c/gpu-0",
    }
    assert [place.nodes for place in found.claims.places] == [("b", "c"), ("a",)]


def test_what_pods_do_not_request_is_used_by_nobody() -> None:
    """Scarce devices are not a pod resource: the answer names no pod that requests most of them."""
    held = make_claim("held", holds=["a/gpu-0"], node="a")
    found = answer(claiming_pod("c"), make_slice("s", node="a"), held, make_claim("c"))
    assert (found.schedulable, found.usage) == (False, None)
