from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kschedctl.objects.meta import ApiObject
from kschedctl.scheduler.framework.operands import Shortfall
from kschedctl.testing.operands import check_operands
from tests.builders import decide, make_cluster, make_node, reason
from tests.scheduler.devices.builders import (
    DRIVER,
    claiming_pod,
    either,
    make_claim,
    make_class,
    make_device,
    make_slice,
    request,
)

PLUGIN = "DynamicResources"
A100 = f"device.attributes['{DRIVER}'].model == 'a100'"
ILL = [{"key": "ill", "effect": "NoSchedule"}]
THREE = make_slice(
    "s", *(make_device(f"gpu-{i}", model=model, numa=i) for i, model in enumerate(["a100", "t4", "a100"]))
)
SHARED = make_device("gpu-0", "40Gi", allowMultipleAllocations=True)


def _reason(claims: Sequence[Any], objects: Sequence[ApiObject]) -> Any:
    cluster = make_cluster([make_node()], [], make_class(), *objects, *claims)
    found = reason(decide(claiming_pod(*(claim.name for claim in claims)), cluster), PLUGIN)
    assert found.operands is not None
    check_operands(found.operands)
    return found


@pytest.mark.parametrize(
    ("claim", "objects", "words", "lacking"),
    [
        pytest.param(
            make_claim("c", request("r", 4)),
            [THREE],
            "claim default/c, request r wants 4 gpu, 3 usable (3 here, 3 of the class, 3 match, 3 free)",
            1,
            id="too few",
        ),
        pytest.param(
            make_claim("c", request("r", 3, A100)),
            [THREE],
            "claim default/c, request r wants 3 gpu, 2 usable (3 here, 3 of the class, 2 match, 2 free)",
            1,
            id="too few match",
        ),
        pytest.param(
            make_claim("c", request("r", 3)),
            [THREE, make_claim("x", holds=["node/gpu-0", "node/gpu-1"], reserved=["train"])],
            "claim default/c, request r wants 3 gpu, 1 usable (3 here, 3 of the class, 3 match, 1 free;"
            " held: 2 by claim default/x of train)",
            2,
            id="others hold them",
        ),
        pytest.param(
            make_claim("c"),
            [make_slice("s", make_device(taints=ILL))],
            "claim default/c, request r wants 1 gpu, 0 usable (1 here, 1 of the class, 1 match, 1 free,"
            " 1 tainted with ill:NoSchedule)",
            1,
            id="tainted",
        ),
        pytest.param(
            make_claim("c", request("r", 1, capacity={"memory": "50Gi"})),
            [make_slice("s", SHARED)],
            "claim default/c, request r wants 1 gpu, 0 usable (1 here, 1 of the class, 1 match, 1 free,"
            " 1 without the capacity)",
            1,
            id="without the capacity",
        ),
        pytest.param(
            make_claim("c", request("r", 2), match=f"{DRIVER}/numa"),
            [THREE],
            f"no devices satisfy the constraint matchAttribute {DRIVER}/numa",
            0,
            id="a constraint",
        ),
        pytest.param(
            make_claim("c", request("r", 2), request("s", 2)),
            [THREE],
            "each alone, but not together: claim default/c, request r wants 2 gpu, 3 usable (3 here, 3 of the class, 3 "
            "match, 3 free); claim default/c, request s wants 2 gpu, 3 usable (3 here, 3 of the class, 3 match, "
            "3 free)",
            0,
            id="each by itself, not both",
        ),
        pytest.param(
            make_claim("c", either("r", request("many", 9), request("few", 2)), request("s", 4)),
            [THREE],
            "claim default/c, request s wants 4 gpu, 3 usable (3 here, 3 of the class, 3 match, 3 free)",
            1,
            id="another alternative would do",
        ),
        pytest.param(
            make_claim("c", request(every=True)),
            [],
            "claim default/c, request r wants all gpu, 0 usable (0 here, 0 of the class, 0 match, 0 free)",
            1,
            id="all of none",
        ),
        pytest.param(
            make_claim("c"),
            [make_slice("s", slices=2)],
            "claim default/c, request r wants 1 gpu, 0 usable (0 here, 0 of the class, 0 match, 0 free);"
            " pool gpu.example.com/node is not used: slices are missing",
            1,
            id="of a pool that is not used",
        ),
    ],
)
def test_why_nothing_is_allocated(claim: Any, objects: list[ApiObject], words: str, lacking: int) -> None:
    found = _reason([claim], objects)
    assert found.detail == words
    shortfall = found.operands.shortfall()
    assert (shortfall.lacking if shortfall is not None else 0) == lacking


def test_the_closest_node_is_found_by_what_is_lacking() -> None:
    found = _reason([make_claim("c", request("r", 4))], [THREE])
    assert found.operands.shortfall() == Shortfall("devices of class gpu", 4, 1, 3)
    assert found.data["requests"][0]["free"] == 3
