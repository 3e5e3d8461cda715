from collections.abc import Sequence

import numpy as np
import pytest

from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroup
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.events import ActionType, EventResource
from kschedctl.scheduler.framework.interface import PlacementFeasiblePlugin, PluginError
from kschedctl.scheduler.framework.pod_groups import Placement, PlacementProgress, PodGroupAssignments, PodGroupInfo
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.plugins.gang_scheduling import GangScheduling, PodGroupPodsCount
from tests.builders import make_cluster, make_members, make_node, make_pod, make_pod_group, with_groups

TOO_FEW = "waiting for minCount pods from a gang to appear in scheduling queue"
NO_GROUP = 'waiting for pods\'s pod group "gang" to appear in scheduling queue'
WAITING = "waiting for minCount pods from a gang to be scheduled"


def plugin(pods: Sequence[Pod], *groups: PodGroup, version: str = "1.37") -> GangScheduling:
    cluster = make_cluster([make_node("a")], pods, *groups)
    found = Scheduler(cluster, with_groups(version)).framework("default-scheduler").plugin("GangScheduling")
    assert isinstance(found, GangScheduling)
    return found


@pytest.mark.parametrize("version", ["1.36", "1.37"])
@pytest.mark.parametrize(
    ("pods", "groups", "said"),
    [
        pytest.param([make_pod("p")], [], "", id="a pod without a group"),
        pytest.param(make_members("p"), [], NO_GROUP, id="no PodGroup of the name"),
        pytest.param(
            make_members("p"), [make_pod_group(namespace="other")], NO_GROUP, id="a PodGroup in another namespace"
        ),
        pytest.param(make_members("p"), [make_pod_group()], "", id="the basic policy never waits"),
        pytest.param(make_members("p q"), [make_pod_group(min_count=3)], TOO_FEW, id="2 of 3 exist"),
        pytest.param(make_members("p q r"), [make_pod_group(min_count=3)], "", id="3 of 3 exist"),
        pytest.param(
            make_members("p") + make_members("q", node="a"), [make_pod_group(min_count=2)], "", id="a bound one counts"
        ),
        pytest.param(
            make_members("p") + make_members("q", schedulingGates=[{"name": "wait"}]),
            [make_pod_group(min_count=2)],
            "",
            id="a gated one counts",
        ),
        pytest.param(
            make_members("p") + make_members("q", schedulerName="another"),
            [make_pod_group(min_count=2)],
            TOO_FEW,
            id="one of another scheduler is not known",
        ),
        pytest.param(
            make_members("p") + make_members("q", schedulerName="another", node="a"),
            [make_pod_group(min_count=2)],
            "",
            id="unless it is on a node",
        ),
        pytest.param(
            make_members("p") + make_members("q", namespace="other"),
            [make_pod_group(min_count=2)],
            TOO_FEW,
            id="one in another namespace is of another group",
        ),
    ],
)
def test_pre_enqueue(pods: list[Pod], groups: list[PodGroup], said: str, version: str) -> None:
    expected = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (said,)) if said else Status()
    assert plugin(pods, *groups, version=version).pre_enqueue(pods[0]) == expected


@pytest.mark.parametrize(
    ("others", "groups", "code", "said"),
    [
        pytest.param([], [make_pod_group(min_count=2)], Code.WAIT, WAITING, id="the first of two"),
        pytest.param(
            make_members("q", node="a"), [make_pod_group(min_count=2)], Code.SUCCESS, "", id="the second of two"
        ),
        pytest.param(make_members("q"), [make_pod_group(min_count=2)], Code.WAIT, WAITING, id="a pending one is none"),
        pytest.param([], [make_pod_group()], Code.SUCCESS, "", id="the basic policy"),
        pytest.param(
            [],
            [],
            Code.ERROR,
            'failed to get podGroup default/gang: podgroup.scheduling.k8s.io "gang" not found',
            id="the group is gone",
        ),
    ],
)
def test_permit(others: list[Pod], groups: list[PodGroup], code: Code, said: str) -> None:
    (pod,) = make_members("p")
    status, seconds = plugin([pod, *others], *groups, version="1.36").permit(CycleState(), pod, "a")
    assert status == Status(code, (said,) if said else ())
    assert seconds == (300 if code is Code.WAIT else 0)


def test_permit_lets_pods_without_a_group_pass() -> None:
    assert plugin([]).permit(CycleState(), make_pod("p"), "a") == (Status(), 0)


@pytest.mark.parametrize(
    ("min_count", "scheduled", "remaining", "code", "said"),
    [
        pytest.param(3, 0, 2, Code.UNSCHEDULABLE, "cannot be satisfied: 0 scheduled, 2 remaining", id="0 + 2 < 3"),
        pytest.param(3, 1, 1, Code.UNSCHEDULABLE, "cannot be satisfied: 1 scheduled, 1 remaining", id="1 + 1 < 3"),
        pytest.param(3, 0, 3, Code.WAIT, "is not yet satisfied: 0 scheduled, 3 remaining", id="0 + 3 may be enough"),
        pytest.param(3, 2, 5, Code.WAIT, "is not yet satisfied: 2 scheduled, 5 remaining", id="2 + 5 may be enough"),
        pytest.param(3, 3, 0, Code.SUCCESS, "", id="3 are enough"),
        pytest.param(3, 3, 2, Code.SUCCESS, "", id="and the rest is still tried"),
        pytest.param(None, 0, 1, Code.WAIT, "is not yet satisfied: 0 scheduled, 1 remaining", id="basic: the first"),
        pytest.param(None, 0, 0, Code.UNSCHEDULABLE, "cannot be satisfied: 0 scheduled, 0 remaining", id="basic: none"),
        pytest.param(None, 1, 4, Code.SUCCESS, "", id="basic: one is enough"),
    ],
)
def test_placement_feasible(min_count: int | None, scheduled: int, remaining: int, code: Code, said: str) -> None:
    group = make_pod_group(min_count=min_count)
    found: PlacementFeasiblePlugin = plugin([], group)
    status = found.placement_feasible(
        PodGroupInfo("default", "gang", group, ()), PlacementProgress(scheduled, 0, remaining)
    )
    assert status == Status(code, (f"minCount ({min_count or 1}) {said}",) if said else ())


@pytest.mark.parametrize(
    ("resource", "action", "old", "new", "wakes"),
    [
        pytest.param(EventResource.POD_GROUP, ActionType.ADD, None, make_pod_group(), True, id="its group is created"),
        pytest.param(EventResource.POD_GROUP, ActionType.ADD, None, make_pod_group("other"), False, id="another group"),
        pytest.param(
            EventResource.POD_GROUP,
            ActionType.UPDATE,
            make_pod_group(min_count=3),
            make_pod_group(min_count=2),
            True,
            id="minCount is lowered",
        ),
        pytest.param(
            EventResource.POD_GROUP,
            ActionType.UPDATE,
            make_pod_group(min_count=2),
            make_pod_group(min_count=3),
            False,
            id="minCount is raised",
        ),
        pytest.param(
            EventResource.ASSIGNED_POD,
            ActionType.ADD,
            None,
            make_members("q", node="a")[0],
            True,
            id="a member on a node",
        ),
        pytest.param(
            EventResource.ASSIGNED_POD,
            ActionType.ADD,
            None,
            make_members("q", group="other", node="a")[0],
            False,
            id="a member of another group",
        ),
        pytest.param(
            EventResource.ASSIGNED_POD, ActionType.ADD, None, make_pod("q", node="a"), False, id="any other pod"
        ),
    ],
)
def test_hints(
    resource: EventResource, action: ActionType, old: ApiObject | None, new: ApiObject | None, wakes: bool
) -> None:
    (pod,) = make_members("p")
    registered = [
        each
        for each in plugin([pod]).events_to_register()
        if each.event.resource in (resource, EventResource.POD) and each.event.action & action
    ]
    assert registered
    assert any(each.helps(pod, old, new) for each in registered) == wakes


def test_1_36_does_not_wake_for_changes_of_the_group() -> None:
    registered = plugin([], version="1.36").events_to_register()
    actions = [each.event.action for each in registered if each.event.resource is EventResource.POD_GROUP]
    assert actions == [ActionType.ADD]


RACK = "example.com/rack"
NODES = [
    make_node("b1", labels={RACK: "b"}),
    make_node("a1", labels={RACK: "a"}),
    make_node("none"),
    make_node("b2", labels={RACK: "b"}),
    make_node("empty", labels={RACK: ""}),
]


def placements(version: str, pods: list[Pod], key: str = RACK, group: bool = True) -> dict[str, str]:
    """Return the names of the placements' nodes by placement, in order."""
    pod_group = make_pod_group(topology_key=key)
    cluster = make_cluster(NODES, pods, *([pod_group] if group else []))
    framework = Scheduler(cluster, with_groups(version, topology=True)).framework("default-scheduler")
    info = PodGroupInfo("default", "gang", pod_group if group else None, ())
    names = cluster.nodes.names
    found = framework.run_placement_generate(info, Placement("", cluster.nodes.rows))
    return {each.name: " ".join(names[row] for row in each.rows) for each in found}


@pytest.mark.parametrize("version", ["1.36", "1.37"])
@pytest.mark.parametrize(
    ("key", "pods", "expected"),
    [
        pytest.param("", [], {"": "b1 a1 none b2 empty"}, id="without a constraint all nodes are one"),
        pytest.param(
            RACK,
            [],
            {"": "empty", "a": "a1", "b": "b1 b2"},
            id="one per value by name, an empty one too, not the nodes without the label",
        ),
        pytest.param("example.com/row", [], {}, id="no node has the label"),
        pytest.param(RACK, make_members("m", node="b2"), {"b": "b1 b2"}, id="a member on a node ties the group to it"),
        pytest.param(RACK, make_members("m n", node="b1"), {"b": "b1 b2"}, id="two members in one domain"),
        pytest.param(
            RACK,
            make_members("m", node="a1", group="other"),
            {"": "empty", "a": "a1", "b": "b1 b2"},
            id="members of other groups do not",
        ),
        pytest.param(
            RACK, make_members("m"), {"": "empty", "a": "a1", "b": "b1 b2"}, id="members without a node do not"
        ),
    ],
)
def test_placements(key: str, pods: list[Pod], expected: dict[str, str], version: str) -> None:
    found = placements(version, pods, key)
    assert found == expected
    assert list(found) == sorted(found)


UNDETERMINED = "cannot determine domain for already scheduled pods: "


@pytest.mark.parametrize(
    ("pods", "problem"),
    [
        pytest.param(
            make_members("m", node="none"),
            f"{UNDETERMINED}no topology domain found for pod default/m",
            id="a member's node has no label",
        ),
        pytest.param(
            make_members("m", node="a1") + make_members("n", node="b1"),
            f"{UNDETERMINED}more than 1 domain found for pod group: a, b",
            id="members in two domains",
        ),
        pytest.param(
            make_members("m", node="gone"),
            f'{UNDETERMINED}getting node for pod default/m: nodeinfo not found for node name "gone"',
            id="a member on a node that is gone",
        ),
    ],
)
def test_errors(pods: list[Pod], problem: str) -> None:
    with pytest.raises(PluginError) as caught:
        placements("1.37", pods)
    assert str(caught.value) == problem


def test_a_group_that_is_gone_is_an_error() -> None:
    with pytest.raises(PluginError) as caught:
        placements("1.37", [], group=False)
    assert str(caught.value) == 'podgroup.scheduling.k8s.io "gang" not found'


GROUP = PodGroupInfo("default", "gang", make_pod_group(), ())


def pod_group_pods_count_plugin(n_bound: int = 0) -> PodGroupPodsCount:
    bound = make_members(" ".join(f"bound-{i}" for i in range(n_bound)), node="a")
    others = make_members("x y", group="other", node="a") + make_members("pending")
    cluster = make_cluster([make_node("a")], bound + others)
    framework = Scheduler(cluster, with_groups("1.37", topology=True)).framework("default-scheduler")
    found = framework.plugin("PodGroupPodsCount")
    assert isinstance(found, PodGroupPodsCount)
    return found


@pytest.mark.parametrize(("n_bound", "n_placed", "score"), [(0, 0, 0), (0, 3, 3), (2, 3, 5), (2, 0, 2)])
def test_counts_members_on_nodes_and_placed_ones(n_bound: int, n_placed: int, score: int) -> None:
    placed = [(pod, "a") for pod in make_members(" ".join(f"new-{i}" for i in range(n_placed)))]
    assignments = PodGroupAssignments(Placement("", np.array([0])), placed)
    assert pod_group_pods_count_plugin(n_bound).score_placement(GROUP, assignments) == score


@pytest.mark.parametrize(
    ("counts", "scores"),
    [
        pytest.param([4, 4], [100, 100], id="equal counts are 100"),
        pytest.param([3, 4], [75, 100], id="3 x 100 / 4 = 75"),
        pytest.param([1, 2, 3], [33, 66, 100], id="100 / 3 is rounded down"),
        pytest.param([0, 5], [0, 100], id="none is 0"),
    ],
)
def test_normalized_by_the_highest(counts: list[int], scores: list[int]) -> None:
    assert pod_group_pods_count_plugin().normalize_placement_score(GROUP, np.array(counts)).tolist() == scores


def test_no_member_anywhere_is_an_error() -> None:
    with pytest.raises(PluginError) as caught:
        pod_group_pods_count_plugin().normalize_placement_score(GROUP, np.array([0, 0]))
    assert str(caught.value) == "no pods from pod group are assigned to any of the candidate placements"
