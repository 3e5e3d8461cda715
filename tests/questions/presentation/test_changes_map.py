"""Maps of changed nodes, and the bars beside them."""

from __future__ import annotations

import pytest

from kschedctl.objects.releases.choice import ChosenBy
from kschedctl.questions.answers.base import RulesData, SnapshotData
from kschedctl.questions.answers.nodes import NodeEntryData, NodesOverview
from kschedctl.questions.answers.simulate import UtilisationData
from kschedctl.questions.presentation.changes_map import NodeChange, pods_map
from kschedctl.questions.presentation.charts import Bars, Kind
from kschedctl.questions.presentation.utilisation import utilisation_bars
from kschedctl.questions.presentation.zone_bars import zone_bars


def overview(*names: str) -> NodesOverview:
    """Return nodes; the zone of ``b@z`` is z."""
    nodes = (name.partition("@") for name in names)
    return NodesOverview(
        rules=RulesData("1.36", ChosenBy.DEFAULT, "", "", {}),
        snapshot=SnapshotData((), 1, 1, None),
        warnings=(),
        missing=(),
        not_modelled=(),
        summary="",
        by="zone",
        groups=(),
        nodes=tuple(NodeEntryData(n, True, False, True, "", zone, "", "", "", (), ()) for n, _, zone in nodes),
        namespaces=(),
    )


@pytest.mark.parametrize(
    ("arrive", "leave", "drained", "expected"),
    [
        pytest.param([], [], [], ["a no change", "b no change"], id="nothing changes"),
        pytest.param(
            [("a", "x"), ("a", "y"), ("", "pending")],
            [("b", "z")],
            [],
            ["a pods arrive, 2 pods arrive: x and y", "b pods leave, 1 pod leaves: z"],
            id="pods arrive and leave",
        ),
        pytest.param(
            [("a", "x")],
            [("a", "z")],
            ["b"],
            ["a pods arrive and leave, 1 pod arrives: x, 1 pod leaves: z", "b drained, in 30 s"],
            id="a node of which the state counts",
        ),
        pytest.param(
            [("new", "x")],
            [],
            [],
            ["a no change", "b no change", "new pods arrive, 1 pod arrives: x, not in the snapshot: added"],
            id="an added node",
        ),
    ],
)
def test_changes_of_nodes(
    arrive: list[tuple[str, str]], leave: list[tuple[str, str]], drained: list[str], expected: list[str]
) -> None:
    states = {name: NodeChange(Kind("drained"), ("in 30 s",)) for name in drained}
    chart = pods_map(overview("a", "b"), arrive, leave, states)
    kinds = chart.colourings[0].kinds
    assert [", ".join((f"{cell.name} {kinds[cell.kinds[0]].name}", *cell.about)) for cell in chart.cells] == expected
    assert {kinds[cell.kinds[0]] for cell in chart.cells} == set(kinds)


def rows(chart: Bars) -> list[tuple[str, ...]]:
    return [
        (*bar.cells, *(f"{chart.kinds[each.kind].name} {each.size:g}" for each in bar.segments)) for bar in chart.rows
    ]


def test_requested_shares_before_and_after() -> None:
    entries = [
        UtilisationData("", "cpu", "8", "2", "4"),
        UtilisationData("", "memory", "4Gi", "3Gi", "1Gi"),
        UtilisationData("z", "cpu", "4", "6", "6"),
    ]
    chart = utilisation_bars(entries, "")
    assert rows(chart) == [
        ("cpu, all nodes", "25.0 %", "50.0 %", "8 cpu", "requested before and after 2000", "added 2000"),
        ("cpu, z", "150.0 %", "150.0 %", "4 cpu", "requested before and after 6000"),
        (
            "memory, all nodes", "75.0 %", "25.0 %", "4Gi memory",
            f"requested before and after {2**30:g}", f"removed {2**31:g}",
        ),
    ]  # fmt: skip
    assert [bar.mark for bar in chart.rows] == [None, 4000, None]


def test_pods_by_zone() -> None:
    chart = zone_bars("", ("before", "after"), ["a", "a", "c", ""], ["b", "a", "", ""], overview("a@x", "b@y", "c"))
    assert rows(chart) == [
        ("x", "2 pods", "1 pod", "in both 1", "more before 1"),
        ("y", "0 pods", "1 pod", "more after 1"),
        ("no zone", "1 pod", "0 pods", "more before 1"),
    ]
