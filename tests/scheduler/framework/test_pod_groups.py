"""The extension points of pod groups, with plugins of others at each."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Int64Array
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.interface import (
    PermitPlugin,
    PlacementFeasiblePlugin,
    PlacementGeneratePlugin,
    PlacementScorePlugin,
    Plugin,
    PluginError,
    PodGroupPostFilterPlugin,
    PodGroupPostFilterResult,
)
from kschedctl.scheduler.framework.pod_groups import (
    CondemnedVictims,
    Placement,
    PlacementProgress,
    PodGroupAssignments,
    PodGroupInfo,
    PodGroupTrial,
)
from kschedctl.scheduler.framework.runtime import Framework
from kschedctl.scheduler.framework.status import SUCCESS, Code, Status
from tests.builders import make_cluster, make_members, make_node, make_pod_group
from tests.scheduler.framework.plugins import make_framework, make_plugin

CLUSTER = make_cluster([make_node("a"), make_node("b"), make_node("c")])
MEMBERS = tuple(make_members("m n"))
GROUP = PodGroupInfo("default", "gang", make_pod_group(min_count=2), MEMBERS)
HALFWAY = PlacementProgress(1, 0, 1)
EVERYWHERE = Placement("", CLUSTER.nodes.rows)


class NoTrial(PodGroupTrial):
    """A trial that no plugin of these tests uses."""

    @property
    def states(self) -> Sequence[CycleState]:
        raise AssertionError

    def run(
        self, cluster: Cluster, condemned: CondemnedVictims | None = None
    ) -> tuple[Status, Sequence[tuple[Pod, str]]]:
        raise AssertionError

    def fits(self, cluster: Cluster, proposed: Sequence[tuple[Pod, str]]) -> bool:
        raise AssertionError

    def states_on_own_nodes(self, cluster: Cluster, proposed: Sequence[tuple[Pod, str]]) -> Sequence[CycleState] | None:
        raise AssertionError


def framework(*plugins: type[Plugin], **weights: int) -> Framework:
    return make_framework(CLUSTER, *plugins, weights=weights)


def generating(name: str, *groups: Sequence[int]) -> type[Plugin]:
    def generate_placements(self: Plugin, group: PodGroupInfo, within: Placement) -> tuple[Placement, ...]:
        return tuple(Placement(f"{group.name}-{i}", np.array(rows)) for i, rows in enumerate(groups))

    return make_plugin(name, PlacementGeneratePlugin, generate_placements=generate_placements)


def feasible(name: str, status: Status, calls: list[str] | None = None) -> type[Plugin]:
    """Return a Permit plugin with PlacementFeasible, which configurations cannot list by itself."""

    def permit(self: Plugin, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        return SUCCESS, 0

    def placement_feasible(self: Plugin, group: PodGroupInfo, progress: PlacementProgress) -> Status:
        if calls is not None:
            calls.append(f"{name} {progress.scheduled}+{progress.remaining}")
        return status

    return make_plugin(
        name, PermitPlugin, PlacementFeasiblePlugin, permit=permit, placement_feasible=placement_feasible
    )


def scoring_placements(name: str, *scores: int, factor: int = 1) -> type[Plugin]:
    def score_placement(self: Plugin, group: PodGroupInfo, assignments: PodGroupAssignments) -> int:
        return scores[int(assignments.placement.name)]

    def normalize_placement_score(self: Plugin, group: PodGroupInfo, raw: Int64Array) -> Int64Array:
        return raw * factor

    methods = {"score_placement": score_placement, "normalize_placement_score": normalize_placement_score}
    return make_plugin(name, PlacementScorePlugin, **methods)


def helping(name: str, code: Code, *reasons: str, calls: list[str] | None = None, **found: Any) -> type[Plugin]:
    def pod_group_post_filter(self: Plugin, group: PodGroupInfo, trial: PodGroupTrial) -> PodGroupPostFilterResult:
        if calls is not None:
            calls.append(name)
        return PodGroupPostFilterResult(Status(code, reasons), **found)

    return make_plugin(name, PodGroupPostFilterPlugin, pod_group_post_filter=pod_group_post_filter)


def test_without_a_plugin_all_nodes_are_one_placement() -> None:
    (placement,) = framework().run_placement_generate(GROUP, EVERYWHERE)
    assert (placement.name, placement.rows.tolist()) == ("", [0, 1, 2])


def test_a_plugin_divides_the_nodes() -> None:
    found = framework(generating("Halves", [0], [1, 2])).run_placement_generate(GROUP, EVERYWHERE)
    assert [(each.name, each.rows.tolist()) for each in found] == [("gang-0", [0]), ("gang-1", [1, 2])]


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [
        pytest.param([], SUCCESS, id="no plugin: any number of members will do"),
        pytest.param([feasible("A", SUCCESS), feasible("B", SUCCESS)], SUCCESS, id="all agree"),
        pytest.param(
            [feasible("A", Status(Code.WAIT, ("too few yet",))), feasible("B", SUCCESS)],
            Status(Code.WAIT, ("too few yet",), "A"),
            id="one waits",
        ),
        pytest.param(
            [feasible("A", Status(Code.WAIT, ("one",))), feasible("B", Status(Code.UNSCHEDULABLE, ("never",)))],
            Status(Code.UNSCHEDULABLE, ("never",), "B"),
            id="a rejection outweighs waiting",
        ),
        pytest.param(
            [feasible("A", Status(Code.ERROR, ("broken",))), feasible("B", SUCCESS)],
            Status(Code.ERROR, ("running PlacementFeasible plugin: broken",), "A"),
            id="an error",
        ),
    ],
)
def test_placement_feasible(plugins: list[type[Plugin]], expected: Status) -> None:
    assert framework(*plugins).run_placement_feasible(GROUP, HALFWAY) == expected


def test_a_rejection_ends_placement_feasible() -> None:
    calls: list[str] = []
    no = feasible("No", Status(Code.UNSCHEDULABLE, ("never",)), calls)
    framework(feasible("Yes", SUCCESS, calls), no, feasible("Never", SUCCESS, calls)).run_placement_feasible(
        GROUP, HALFWAY
    )
    assert calls == ["Yes 1+1", "No 1+1"]


def test_placement_scores_are_normalized_and_weighted() -> None:
    plugins = [scoring_placements("A", 10, 20), scoring_placements("B", 5, 1, factor=10)]
    assignments = [PodGroupAssignments(Placement(str(i), np.array([i])), [(MEMBERS[0], "a")]) for i in range(2)]
    assert framework(*plugins, A=2, B=3).run_placement_score(GROUP, assignments).tolist() == [
        2 * 10 + 3 * 50,
        2 * 20 + 3 * 10,
    ]


@pytest.mark.parametrize(
    ("plugins", "called", "expected"),
    [
        pytest.param([], "", Status(Code.UNSCHEDULABLE), id="no plugin, no help"),
        pytest.param(
            [("A", Code.UNSCHEDULABLE, "no claims"), ("B", Code.UNSCHEDULABLE, "no victims")],
            "A B",
            Status(Code.UNSCHEDULABLE, ("no claims", "no victims")),
            id="the reasons of all that do not help",
        ),
        pytest.param(
            [("A", Code.SUCCESS, "found"), ("B", Code.SUCCESS, "too")],
            "A",
            Status(Code.SUCCESS, ("found",)),
            id="first",
        ),
        pytest.param(
            [("A", Code.UNSCHEDULABLE, "no claims"), ("B", Code.SUCCESS, "found")],
            "A B",
            Status(Code.SUCCESS, ("found",)),
            id="the reasons before a success do not count",
        ),
        pytest.param(
            [("A", Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "hopeless"), ("B", Code.SUCCESS, "found")],
            "A",
            Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("hopeless",)),
            id="one that rules out any success ends it",
        ),
        pytest.param(
            [("A", Code.ERROR, "broken"), ("B", Code.SUCCESS, "found")],
            "A",
            Status(Code.ERROR, ('error in "A" PodGroupPostFilter plugins: broken',), "A"),
            id="an error ends it",
        ),
    ],
)
def test_pod_group_post_filter(plugins: list[tuple[str, Code, str]], called: str, expected: Status) -> None:
    calls: list[str] = []
    found = framework(*(helping(name, code, text, calls=calls) for name, code, text in plugins))
    assert found.run_pod_group_post_filter(GROUP, NoTrial()).status == expected
    assert calls == called.split()


def test_pod_group_post_filter_returns_nominations_and_victims() -> None:
    nominated = {"default/m": "a"}
    found = framework(helping("A", Code.SUCCESS, nominated=nominated, victims=(3, 1)))
    result = found.run_pod_group_post_filter(GROUP, NoTrial())
    assert (result.nominated, result.victims) == (nominated, (3, 1))


def test_an_error_of_a_plugin_that_generates_or_scores_is_passed_on() -> None:
    def fail(self: Plugin, *_: object) -> Any:
        raise PluginError("out of order")

    generate = make_plugin("G", PlacementGeneratePlugin, generate_placements=fail)
    score = make_plugin("S", PlacementScorePlugin, score_placement=fail)
    broken = framework(generate, score)
    with pytest.raises(PluginError, match="out of order"):
        broken.run_placement_generate(GROUP, EVERYWHERE)
    with pytest.raises(PluginError, match="out of order"):
        broken.run_placement_score(GROUP, [PodGroupAssignments(Placement("", np.array([0])), [])])
