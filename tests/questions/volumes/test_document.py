"""The charts of volumes: the nodes on which claims can be used, and claims by storage class."""

from collections.abc import Iterable

import pytest

from kschedctl.questions.charts import Bars, NodeMap
from kschedctl.questions.document import Block, Table
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from kschedctl.questions.volumes.answer import ClaimVolumes, PodVolumes, VolumesList
from kschedctl.questions.volumes.document import document, list_document
from tests.builders import (
    ZONE,
    make_claim,
    make_cluster,
    make_loaded,
    make_node,
    make_pod,
    make_storage_class,
    make_volume,
    mount,
)
from tests.questions.drawn import about, cells, coloured, parts, view_of

CLUSTER = make_loaded(
    make_cluster(
        [make_node("a1", zone="a"), make_node("a2", zone="a"), make_node("b1", zone="b")],
        [make_pod("web", volumes=mount("data", "new"))],
        make_claim("data", bound="pv"),
        make_claim("new"),
        make_claim("lost", storage_class="none"),
        make_volume("pv", claim="default/data", affinity={ZONE: ["a"]}),
        make_storage_class("late"),
    )
)


def charts(blocks: Iterable[Block]) -> tuple[list[NodeMap], list[Bars], list[Table]]:
    found = list(blocks)
    return (
        [each for each in found if isinstance(each, NodeMap)],
        [each for each in found if isinstance(each, Bars)],
        [each for each in found if isinstance(each, Table)],
    )


@pytest.mark.parametrize(
    ("answer", "b1", "lines"),
    [
        (SchedulingCluster(CLUSTER).volumes(claim="default/data"), "volume cannot be reached", 1),
        (SchedulingCluster(CLUSTER).volumes(claim="default/new"), "usable", 1),
        (SchedulingCluster(CLUSTER).volumes("default/web"), "volume cannot be reached", 2),
    ],
)
def test_nodes_are_coloured_by_use(answer: ClaimVolumes | PodVolumes, b1: str, lines: int) -> None:
    (chart,), _, tables = charts(document(answer, view_of(CLUSTER)))
    assert coloured(chart) == {"a1": "usable", "a2": "usable", "b1": b1}
    own = [line for line in about(chart)["b1"] if " free" not in line]
    assert len(own) == lines
    assert ("nodes", "zones", "usable", "outcome for a pod") in [each.headings for each in tables]


def test_claims_by_storage_class() -> None:
    answers = tuple(SchedulingCluster(CLUSTER).volumes(claim=f"default/{name}") for name in ("data", "new", "lost"))
    _, (chart,), _ = charts(list_document(VolumesList(items=answers), view_of(CLUSTER)))
    assert cells(chart) == [("late", "2 claims"), ("none", "1 claim")]
    assert parts(chart) == {
        "late": ["bound: 1 claim", "to be bound: 1 claim"],
        "none": ["without a usable volume: 1 claim"],
    }
