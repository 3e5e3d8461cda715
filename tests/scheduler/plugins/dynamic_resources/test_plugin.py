from dataclasses import replace
from typing import Any

import msgspec
import pytest
from msgspec import structs

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.releases.release import LATEST, RELEASES
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.testing.plugin_checks import check_operands
from tests.builders import (
    GPU,
    decide,
    fitting,
    make_args,
    make_cluster,
    make_node,
    make_pod,
    make_profile,
    raw_scores,
    reason,
    said,
    scores,
)
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
NODES = [make_node("a"), make_node("b")]
SLICES = [make_slice("a", node="a"), make_slice("b", make_device("gpu-0"), make_device("gpu-1"), node="b")]
WITHOUT_PREEMPTION = make_profile(plugins={"postFilter": {"disabled": [{"name": "DefaultPreemption"}]}})


def test_a_pod_without_claims_is_left_alone() -> None:
    decision = decide(make_pod(), make_cluster([make_node()]))
    assert PLUGIN in decision.state.skip_filter_plugins
    assert decision.not_modelled == ()


def test_where_devices_are_not_allocated_the_plugin_does_nothing_and_says_so_in_the_end() -> None:
    release = replace(
        LATEST, devices=structs.replace(LATEST.devices, allocates=False), plugins_without_args=frozenset({PLUGIN})
    )
    config = make_args(DynamicResources={"what": "ever"})
    decision = decide(claiming_pod("missing"), make_cluster([make_node()]), release=release, config=config)
    assert decision.best == ("node",)
    assert PLUGIN in decision.state.skip_filter_plugins
    (limit,) = decision.not_modelled
    assert limit.feature.startswith("the feature gate DynamicResourceAllocation, which is off by default in ")
    full = decide(make_pod(requests={"cpu": "9"}), make_cluster([make_node()]), release=release, config=config)
    assert full.message.startswith("0/1 nodes are available: 1 Insufficient cpu. plugin disabled, preemption: 0/1 ")
    assert full.not_modelled == ()


@pytest.mark.parametrize(("version", "scored"), [("1.34", None), ("1.35", {"node": 0}), ("1.36", {"node": 0})])
def test_scoring_came_with_1_35(version: str, scored: dict[str, int] | None) -> None:
    decision = decide(make_pod(), make_cluster([make_node()]), release=RELEASES[version])
    assert raw_scores(decision, PLUGIN) == scored


@pytest.mark.parametrize(
    ("claims", "nodes"),
    [
        pytest.param([make_claim()], "a b", id="a device on each"),
        pytest.param([make_claim("claim", request("r", 2))], "b", id="two on one"),
        pytest.param([make_claim("claim", request("r", 3))], "", id="three nowhere"),
        pytest.param([make_claim(), make_claim("other")], "b", id="two claims of one each"),
        pytest.param([make_claim(holds=["a/gpu-0"], node="a")], "a", id="allocated on a node"),
        pytest.param([make_claim(holds=["a/gpu-0"], node="a"), make_claim("other")], "", id="and another not yet"),
    ],
)
def test_where_a_pod_fits(claims: list[Any], nodes: str) -> None:
    cluster = make_cluster(NODES, [], make_class(), *SLICES, *claims)
    assert fitting(decide(claiming_pod(*(claim.name for claim in claims)), cluster), PLUGIN) == nodes


def test_a_claim_that_is_not_there_holds_the_pod_at_the_gate() -> None:
    decision = decide(claiming_pod("claim"), make_cluster(NODES))
    missing = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ('could not find ResourceClaim "default/claim"',), PLUGIN)
    assert decision.pre_enqueue == missing
    assert decision.pre_filter is not None
    assert decision.pre_filter.status == missing


def test_what_a_node_is_told() -> None:
    cluster = make_cluster(NODES, [], make_class(), *SLICES, make_claim("claim", request("r", 2)))
    status = said(decide(claiming_pod("claim"), cluster), PLUGIN, "a")
    assert status == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("cannot allocate all claims",))


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("1.36", "selector #0: CEL runtime error: no such key: x"),
        (
            "1.37",
            "selector #0 on device gpu.example.com/a/gpu-0: CEL runtime error: no such key: x. consider using CEL"
            " optional chaining (.? followed by orValue()) or guarding the check with has() for optional fields",
        ),
    ],
)
def test_an_error_of_a_selector_ends_the_cycle(version: str, said: str) -> None:
    claim = make_claim("claim", request("r", 1, f"device.attributes['{DRIVER}'].x"))
    cluster = make_cluster(NODES, [], make_class(), *SLICES, claim)
    decision = decide(claiming_pod("claim"), cluster, release=RELEASES[version])
    assert decision.error == f'running "DynamicResources" filter plugin: claim default/claim: {said}'


def test_negative_consumed_capacity_is_an_error_since_1_38() -> None:
    used = make_claim("used", holds=["a/gpu-0"], result={"shareID": "1", "consumedCapacity": {"memory": "-1"}})
    cluster = make_cluster(NODES, [], make_class(), *SLICES, make_claim(), used)
    assert decide(claiming_pod("claim"), cluster, release=RELEASES["1.37"]).error == ""
    found = f'claim default/used, device {DRIVER}/a/gpu-0: consumed capacity "memory" must not be negative, got -1'
    error = decide(claiming_pod("claim"), cluster, release=RELEASES["1.38"]).error
    assert error == f'running PreFilter plugin "DynamicResources": gather allocation state: {found}'
    assert decide(claiming_pod("used"), cluster, release=RELEASES["1.38"]).error == ""


@pytest.mark.parametrize(
    ("plugin", "args"),
    [
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "LeastAllocated", "resources": [{"name": "cpu"}, {"name": GPU}]}},
        ),
        ("NodeResourcesBalancedAllocation", {"resources": [{"name": "cpu"}, {"name": GPU}]}),
    ],
)
def test_negative_consumed_capacity_is_an_error_where_devices_are_scored(plugin: str, args: dict[str, Any]) -> None:
    used = make_claim("used", holds=["a/gpu-0"], result={"shareID": "1", "consumedCapacity": {"memory": "-1"}})
    cluster = make_cluster(NODES, [], make_class(resource=GPU), *SLICES, used)
    config = make_args(**{plugin: args})
    error = decide(make_pod(requests={"cpu": "1"}), cluster, release=RELEASES["1.38"], config=config).error
    assert error.startswith(f'running PreScore plugin "{plugin}": claim default/used, device ')
    assert decide(make_pod(requests={"cpu": "1"}), cluster, release=RELEASES["1.38"]).error == ""


def test_a_pool_that_cannot_be_used_rejects_its_node_for_all_devices() -> None:
    slices = [make_slice("a", node="a", slices=2), make_slice("b", node="b")]
    cluster = make_cluster(NODES, [], make_class(), *slices, make_claim("claim", request(every=True)))
    decision = decide(claiming_pod("claim"), cluster, release=RELEASES["1.38"])
    assert fitting(decision, PLUGIN) == "b"
    text = (
        "claim default/claim, request r: asks for all devices, but resource pool gpu.example.com/a is currently being"
    )
    assert said(decision, PLUGIN, "a") == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (f"{text} updated",))
    assert reason(decision, PLUGIN, "a").operands is not None


def test_a_selector_that_is_not_modelled_is_said() -> None:
    claim = make_claim("claim", request("r", 1, "[1].distinct() == [1]"))
    decision = decide(claiming_pod("claim"), make_cluster(NODES, [], make_class(), *SLICES, claim))
    (note,) = decision.not_modelled
    assert str(note) == (
        "not modelled: distinct() in the selector [1].distinct() == [1]; the answer assumes that no device matches it"
    )


BIG_OR_SMALL = either("r", request("big", 2), request("small", 1))


@pytest.mark.parametrize(
    ("claims", "raw", "normalized"),
    [
        pytest.param([make_claim("c", BIG_OR_SMALL)], {"a": 7, "b": 8}, {"a": 87, "b": 100}, id="7 * 100 / 8"),
        pytest.param([make_claim("c")], {"a": 0, "b": 0}, {"a": 0, "b": 0}, id="no alternatives"),
        pytest.param(
            [make_claim("c", BIG_OR_SMALL, holds=["b/gpu-0"], result={"request": "r/small"})],
            {"a": 0, "b": 0},
            {"a": 0, "b": 0},
            id="nothing to allocate",
        ),
        pytest.param(
            [make_claim("c", BIG_OR_SMALL, holds=["x/y"], result={"request": "r/small"}), make_claim("d")],
            {"a": 7, "b": 7},
            {"a": 100, "b": 100},
            id="an earlier allocation counts beside a new one",
        ),
    ],
)
def test_score(claims: list[Any], raw: dict[str, int], normalized: dict[str, int]) -> None:
    cluster = make_cluster(NODES, [], make_class(), *SLICES, *claims)
    decision = decide(claiming_pod(*(claim.name for claim in claims)), cluster)
    assert raw_scores(decision, PLUGIN) == raw
    assert scores(decision, PLUGIN) == normalized


def test_1_35_cannot_score_earlier_allocations() -> None:
    claims = [make_claim("c", BIG_OR_SMALL, holds=["x/y"]), make_claim("d")]
    cluster = make_cluster(NODES, [], make_class(), *SLICES, *claims)
    decision = decide(claiming_pod("c", "d"), cluster, release=RELEASES["1.35"])
    assert decision.error.endswith("number of allocations 1 is smaller than number of claims")


@pytest.mark.parametrize(
    ("claims", "says"),
    [
        pytest.param([make_claim("c", request("r", 9))], "still not schedulable", id="there is nothing to free"),
        pytest.param(
            [make_claim("c", holds=["x/y"], node="gone")],
            "deallocation of ResourceClaim completed",
            id="a claim elsewhere",
        ),
        pytest.param(
            [make_claim("c", holds=["x/y"], node="gone", reserved=["pod"])],
            "deallocation of ResourceClaim completed",
            id="that the pod itself has reserved",
        ),
        pytest.param(
            [make_claim("c", holds=["x/y"], node="gone", reserved=["other"])], "still not schedulable", id="or another"
        ),
        pytest.param(
            [make_claim("c", holds=["x/y"], node="gone"), make_claim("d", request("r", 9))],
            "still not schedulable",
            id="the scheduler does not come to it where another cannot be allocated",
        ),
    ],
)
def test_post_filter(claims: list[Any], says: str) -> None:
    cluster = make_cluster(NODES, [], make_class(), *SLICES, *claims)
    pod = claiming_pod(*(claim.name for claim in claims))
    decision = decide(pod, cluster, config=WITHOUT_PREEMPTION, release=RELEASES["1.36"])
    assert decision.post_filter is not None
    assert decision.post_filter.status == Status(Code.UNSCHEDULABLE, (says,), PLUGIN)


def test_since_1_37_post_filter_says_nothing_where_nothing_is_freed() -> None:
    cluster = make_cluster(NODES, [], make_class(), *SLICES, make_claim("c", request("r", 9)))
    decision = decide(claiming_pod("c"), cluster, config=WITHOUT_PREEMPTION, release=RELEASES["1.37"])
    assert decision.post_filter is not None
    assert decision.post_filter.status == Status(Code.UNSCHEDULABLE, (), PLUGIN)


@pytest.mark.parametrize(("version", "reasons"), [("1.36", ("no new claims to deallocate",)), ("1.37", ())])
def test_post_filter_has_nothing_to_deallocate(version: str, reasons: tuple[str, ...]) -> None:
    pod, cluster = make_pod(requests={"cpu": "9"}), make_cluster([make_node()])
    decision = decide(pod, cluster, config=WITHOUT_PREEMPTION, release=RELEASES[version])
    assert decision.post_filter is not None
    assert decision.post_filter.status == Status(Code.UNSCHEDULABLE, reasons, PLUGIN)


def test_post_filter_misses_its_state_where_pre_filter_did_not_come_that_far() -> None:
    conflict = [
        {"key": "metadata.name", "operator": "In", "values": ["a"]},
        {"key": "metadata.name", "operator": "In", "values": ["b"]},
    ]
    terms = {"nodeSelectorTerms": [{"matchFields": conflict}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    decision = decide(make_pod(affinity=affinity), make_cluster([make_node()]))
    assert decision.message == "0/1 nodes are available: pod affinity terms conflict. not found"


IMPLICIT = "deviceclass.resource.kubernetes.io/gpu"


@pytest.mark.parametrize(
    ("version", "resource", "offers", "says"),
    [
        pytest.param("1.36", GPU, {}, "", id="devices stand for it"),
        pytest.param("1.36", IMPLICIT, {}, "", id="also by its implicit name"),
        pytest.param("1.36", GPU, {GPU: 1}, "", id="a node that offers it is judged as ever"),
        pytest.param("1.35", GPU, {}, f"Insufficient {GPU}", id="not before 1.36"),
    ],
)
def test_extended_resources(version: str, resource: str, offers: dict[str, int], says: str) -> None:
    cluster = make_cluster([make_node(offers=offers)], [], make_class(resource=GPU), make_slice())
    decision = decide(make_pod(requests={resource: 1}), cluster, release=RELEASES[version])
    assert decision.message.partition(": ")[2].partition(". ")[0] == (f"1 {says}" if says else "")


def test_an_extended_resource_that_comes_from_nowhere() -> None:
    cluster = make_cluster([make_node()], [], make_class(resource=GPU), make_slice())
    decision = decide(make_pod(requests={GPU: 1, "example.com/other": 1}), cluster)
    assert said(decision, PLUGIN) == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("cannot fit resource",))


def left_over_cluster() -> Cluster:
    left = make_claim("left", owner="pod")
    annotations = {"resource.kubernetes.io/extended-resource-claim": "true"}
    left = msgspec.structs.replace(left, metadata=msgspec.structs.replace(left.metadata, annotations=annotations))
    return make_cluster([make_node()], [], make_class(resource=GPU), make_slice(), left)


def test_a_claim_left_over_from_an_earlier_attempt_is_deleted() -> None:
    decision = decide(make_pod(requests={GPU: 1}), left_over_cluster(), config=WITHOUT_PREEMPTION)
    assert decision.message == (
        "0/1 nodes are available: 1 cannot schedule extended resource claim. deletion of ResourceClaim completed"
    )


@pytest.mark.parametrize(("timeout", "nodes"), [("20m", "a"), ("5m", "")])
def test_for_how_long_a_device_may_take_to_become_ready_is_configured(timeout: str, nodes: str) -> None:
    waiting = {"bindingConditions": ["ready"]}
    since = {"allocationTimestamp": "2026-01-01T00:00:00Z"}
    late = make_claim("late", holds=["x/y"], allocation={"allocationTimestamp": "2026-01-01T00:10:00Z"})
    claim = make_claim("claim", holds=["a/gpu-0"], node="a", result=waiting, allocation=since)
    config = make_args(DynamicResources={"bindingTimeout": timeout})
    decision = decide(claiming_pod("claim"), make_cluster(NODES, [], make_class(), claim, late), config=config)
    assert fitting(decision, PLUGIN) == nodes


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
    found = reason(decide(make_pod(requests={GPU: 1}), left_over_cluster()), PLUGIN)
    assert found.detail == "claim default/left is left over from an earlier attempt and is deleted first"
