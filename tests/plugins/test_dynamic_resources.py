from __future__ import annotations

import pytest

from kschedctl.api.device import DeviceClass
from kschedctl.framework.status import Code, Status
from kschedctl.releases.release import RELEASES
from tests.builders import GPU, decide, make_cluster, make_node, make_object, make_pod, make_profile, raw_scores

PLUGIN = "DynamicResources"
CLAIMING = make_pod(resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu-1"}, {"name": "nic"}])


def test_a_pod_without_claims_is_left_alone() -> None:
    decision = decide(make_pod(), make_cluster([make_node()]))
    assert PLUGIN in decision.state.skip_filter_plugins
    assert decision.not_modelled == ()


@pytest.mark.parametrize(("version", "scored"), [("1.34", None), ("1.35", {"node": 0}), ("1.36", {"node": 0})])
def test_scoring_came_with_1_35(version: str, scored: dict[str, int] | None) -> None:
    decision = decide(make_pod(), make_cluster([make_node()]), release=RELEASES[version])
    assert raw_scores(decision, PLUGIN) == scored


def test_claims_are_said_not_to_be_modelled() -> None:
    (note,) = decide(CLAIMING, make_cluster([make_node()])).not_modelled
    assert str(note) == (
        "not modelled yet: the pod's claims for devices: gpu, nic (the answer is as if the pod had none)"
    )


@pytest.mark.parametrize(
    ("version", "resource", "noted"),
    [
        pytest.param("1.36", GPU, True, id="a class can stand for an extended resource"),
        pytest.param("1.36", "deviceclass.resource.kubernetes.io/gpus", True, id="also by its implicit name"),
        pytest.param("1.36", "example.com/other", False, id="not for another"),
        pytest.param("1.35", GPU, False, id="and not before 1.36"),
    ],
)
def test_resources_backed_by_a_device_class(version: str, resource: str, noted: bool) -> None:
    device_class = make_object(DeviceClass, "gpus", spec={"extendedResourceName": GPU})
    cluster = make_cluster([make_node(offers={resource: 1})], [], device_class)
    decision = decide(make_pod(requests={resource: 1}), cluster, release=RELEASES[version])
    features = [note.feature for note in decision.not_modelled]
    assert features == ([f"extended resources backed by a DeviceClass: {resource}"] if noted else [])


@pytest.mark.parametrize(("version", "reasons"), [("1.36", ("no new claims to deallocate",)), ("1.37", ())])
def test_post_filter_has_nothing_to_deallocate(version: str, reasons: tuple[str, ...]) -> None:
    config = make_profile(plugins={"postFilter": {"disabled": [{"name": "DefaultPreemption"}]}})
    decision = decide(
        make_pod(requests={"cpu": "9"}), make_cluster([make_node()]), config=config, release=RELEASES[version]
    )
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
