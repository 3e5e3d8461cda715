from typing import Any

import pytest

from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.plugins.volume_zone import OtherZone
from tests.builders import (
    ZONE,
    decide,
    fitting,
    make_claim,
    make_cluster,
    make_node,
    make_pod,
    make_profile,
    make_storage_class,
    make_volume,
    mount,
    reason,
    said,
    told,
)

PLUGIN = "VolumeZone"
CONFLICT = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) had no available volume zone",))
REGION = "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
ONLY = make_profile(plugins={"multiPoint": {"disabled": [{"name": "VolumeBinding"}, {"name": "VolumeRestrictions"}]}})


@pytest.mark.parametrize(
    ("volume", "node", "expected"),
    [
        pytest.param({ZONE: "a"}, {ZONE: "a"}, Status(), id="same zone"),
        pytest.param({ZONE: "a"}, {ZONE: "b"}, CONFLICT, id="other zone"),
        pytest.param({ZONE: "a__b"}, {ZONE: "b"}, Status(), id="one of the volume's zones"),
        pytest.param({ZONE: "a__b"}, {ZONE: "a__b"}, CONFLICT, id="a node is in one zone only"),
        pytest.param({ZONE: "a__"}, {ZONE: "b"}, Status(), id="a list with an empty zone is ignored"),
        pytest.param({ZONE: "a"}, {}, Status(), id="a node without any zone or region takes everything"),
        pytest.param({ZONE: "a"}, {REGION: "r"}, CONFLICT, id="a node with a region must have the zone as well"),
        pytest.param({REGION: "r"}, {REGION: "s", ZONE: "a"}, CONFLICT, id="other region"),
        pytest.param({BETA_ZONE: "a"}, {ZONE: "a"}, Status(), id="a beta label is sought in its successor"),
        pytest.param({BETA_ZONE: "a"}, {ZONE: "b"}, CONFLICT, id="a beta label against its successor"),
        pytest.param({BETA_ZONE: "a"}, {BETA_ZONE: "b", ZONE: "a"}, CONFLICT, id="the beta label goes first"),
        pytest.param({ZONE: "a"}, {BETA_ZONE: "a"}, CONFLICT, id="a label is not sought in its predecessor"),
        pytest.param({BETA_REGION: "r"}, {REGION: "r"}, Status(), id="the same with regions"),
    ],
)
def test_labels(volume: dict[str, str], node: dict[str, str], expected: Status) -> None:
    cluster = make_cluster(
        [make_node(labels=node)],
        (),
        make_claim(bound="pv"),
        make_volume(claim="default/data", labels=volume),
        make_storage_class(),
    )
    assert said(decide(make_pod(volumes=mount("data")), cluster), PLUGIN) == expected


def test_every_volume_counts() -> None:
    cluster = make_cluster(
        [make_node(zone, zone=zone) for zone in "abc"],
        (),
        make_claim("one", bound="pv-1"),
        make_volume("pv-1", claim="default/one", labels={ZONE: "a__b"}),
        make_claim("two", bound="pv-2"),
        make_volume("pv-2", claim="default/two", labels={ZONE: "b__c"}),
    )
    decision = decide(make_pod(volumes=mount("one", "two")), cluster)
    assert fitting(decision, PLUGIN) == "b"
    found = reason(decision, PLUGIN, "a")
    assert found.detail == "claim two is on volume pv-2 in zone b or c, the node is in zone a"
    assert found.data == {"claim": "two", "volume": "pv-2", "label": ZONE, "volumeValues": ("b", "c"), "nodeValue": "a"}


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        pytest.param([], 'persistentvolumeclaim "data" not found', id="no claim"),
        pytest.param([make_claim(bound="pv")], 'persistentvolume "pv" not found', id="no volume"),
        pytest.param(
            [make_claim(storage_class="")],
            "PersistentVolumeClaim had no pv name and storageClass name",
            id="neither volume nor class",
        ),
        pytest.param([make_claim()], 'storageclass.storage.k8s.io "late" not found', id="no class of that name"),
        pytest.param(
            [make_claim(), make_storage_class(waits=False)],
            "PersistentVolume had no name",
            id="not bound although it should",
        ),
    ],
)
def test_claims_that_end_the_matter(objects: list[Any], text: str) -> None:
    decision = decide(make_pod(volumes=mount("data")), make_cluster([make_node()], (), *objects), config=ONLY)
    assert decision.pre_filter is not None
    assert decision.pre_filter.status == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,), PLUGIN)


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([make_claim(), make_storage_class()], id="a claim that waits for its first pod"),
        pytest.param([make_claim(bound="pv"), make_volume(labels={"zone": "a"})], id="a volume without such labels"),
    ],
)
def test_skipped(objects: list[Any]) -> None:
    decision = decide(make_pod(volumes=mount("data")), make_cluster([make_node()], (), *objects))
    assert PLUGIN in decision.state.skip_filter_plugins


@pytest.mark.parametrize(
    ("operands", "words", "data"),
    [
        pytest.param(
            OtherZone("data", "pv", ZONE, ("b", "c"), "a"),
            "claim data is on volume pv in zone b or c, the node is in zone a",
            {"claim": "data", "volume": "pv", "label": ZONE, "volumeValues": ("b", "c"), "nodeValue": "a"},
            id="another zone",
        ),
        pytest.param(
            OtherZone("data", "pv", REGION, ("eu",), None),
            "claim data is on volume pv in region eu, the node is in no region",
            {"claim": "data", "volume": "pv", "label": REGION, "volumeValues": ("eu",), "nodeValue": None},
            id="no region",
        ),
    ],
)
def test_operands(operands: Operands, words: str, data: dict[str, Any]) -> None:
    assert told(operands) == (words, data)
