"""The answers of ``explain`` and ``pending`` about trees of groups, which kube-scheduler tries as a whole."""

from collections.abc import Sequence
from typing import Any

import pytest

from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import CompositePodGroup, PodGroup
from kschedctl.objects.releases.choice import ChosenBy, ReleaseChoice
from kschedctl.objects.releases.rules import COMPOSITE_POD_GROUP
from kschedctl.questions.answer_parts import PodGroupData, SubgroupData
from kschedctl.questions.cluster_request import ClusterSource
from kschedctl.questions.explain.analysis import explain
from kschedctl.questions.explain.answer import Explanation
from kschedctl.questions.explain.request import ExplainRequest
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.pod_selection import NamespaceScope, named_member
from kschedctl.questions.provenance import PodSubject
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from kschedctl.scheduler.cycle.outcome import GroupOutcome
from kschedctl.sources.snapshot.load import Snapshot
from kschedctl.trials.loaded_cluster import LoadedCluster
from tests.builders import make_cluster, make_members, make_node, make_object, make_pod_group, with_groups

TREES = with_groups("1.38", topology=True, **{COMPOSITE_POD_GROUP: True})
NO_TREES = with_groups("1.38", topology=True)


def composite(name: str, min_group_count: int | None = None, **spec: Any) -> CompositePodGroup:
    """Return a CompositePodGroup; without a number its policy is basic."""
    policy: dict[str, Any] = {"basic": {}} if min_group_count is None else {"gang": {"minGroupCount": min_group_count}}
    return make_object(CompositePodGroup, name, namespace="default", spec={"schedulingPolicy": policy, **spec})


def leaf(name: str, min_count: int | None, parent: str = "job") -> PodGroup:
    return make_pod_group(name, min_count=min_count, parentCompositePodGroupName=parent)


def loaded(pods: Sequence[Pod], groups: Sequence[ApiObject], *, trees: bool = True) -> LoadedCluster:
    """Return two nodes of 4 CPU with pods and groups."""
    cluster = make_cluster([make_node("a"), make_node("b")], pods, *groups)
    snapshot = Snapshot(cluster=cluster, paths=("here",), scheduler_config=None, left_out={})
    return LoadedCluster(snapshot, ReleaseChoice(TREES if trees else NO_TREES, ChosenBy.OPTION))


def workers(names: str, cpu: str = "3", **fields: Any) -> list[Pod]:
    return make_members(names, group="workers", requests={"cpu": cpu}, **fields)


DRIVER = make_members("driver-0", group="driver", requests={"cpu": "1"})
JOB = [composite("job", 2), leaf("driver", 1), leaf("workers", 3)]


def explained(cluster: LoadedCluster, group: str) -> PodGroupData:
    """Return the group in the answer of ``explain GROUP``."""
    subject = named_member(cluster.cluster, group, NamespaceScope.of("default", ClusterSource(paths=("here",))))
    (answer,) = explain(cluster, ExplainRequest((subject,)), AnalysisHandle())
    assert answer.group is not None
    return answer.group


def below(group: PodGroupData) -> list[str]:
    """Return the groups below the root as texts: depth, parent and name, what each needs and has, and its result."""
    return [f"{'-' * each.depth} {each.parent}/{each.name} {_needs(each)}" for each in group.subgroups]


def _needs(each: SubgroupData) -> str:
    what = f"{each.groups_fitting}/{each.groups} groups" if each.groups else f"{each.fitting}/{each.members} pods"
    return f"{what}, {each.least} needed: {'fits' if each.fits else 'no'}"


FOUR = [*DRIVER, *workers("w-0 w-1 w-2")]


@pytest.mark.parametrize(
    ("pods", "groups", "outcome", "min_group_count", "count", "subgroups"),
    [
        pytest.param(
            FOUR,
            JOB,
            GroupOutcome.UNSCHEDULABLE,
            2,
            "3 of 4 members find a node and 1 of 2 groups fits, 2 must",
            ["- job/driver 1/1 pods, 1 needed: fits", "- job/workers 2/3 pods, 3 needed: no"],
            id="one of two groups does not fit",
        ),
        pytest.param(
            FOUR[:3],
            [*JOB[:2], leaf("workers", 2)],
            GroupOutcome.SCHEDULED,
            2,
            "3 of 3 members find a node and 2 of 2 groups fit, 2 must",
            ["- job/driver 1/1 pods, 1 needed: fits", "- job/workers 2/2 pods, 2 needed: fits"],
            id="all fit",
        ),
        pytest.param(
            FOUR,
            [composite("job"), *JOB[1:]],
            GroupOutcome.SCHEDULED,
            None,
            "1 of 4 members find a node and 1 of 2 groups fits, 1 must",
            ["- job/driver 1/1 pods, 1 needed: fits", "- job/workers 2/3 pods, 3 needed: no"],
            id="the basic policy needs one group",
        ),
        pytest.param(
            FOUR,
            [
                composite("job", 1),
                composite("inner", 2, parentCompositePodGroupName="job"),
                leaf("driver", 1, "inner"),
                leaf("workers", 3, "inner"),
            ],
            GroupOutcome.UNSCHEDULABLE,
            1,
            "3 of 4 members find a node and 0 of 1 group fits, 1 must",
            [
                "- job/inner 1/2 groups, 2 needed: no",
                "-- inner/driver 1/1 pods, 1 needed: fits",
                "-- inner/workers 2/3 pods, 3 needed: no",
            ],
            id="only the groups right below the root count",
        ),
        pytest.param(
            [*DRIVER, *workers("w-0", node="a"), *workers("w-1 w-2")],
            [*JOB[:2], leaf("workers", 1)],
            GroupOutcome.SCHEDULED,
            2,
            "3 of 4 members find a node and 2 of 2 groups fit, 2 must",
            ["- job/driver 1/1 pods, 1 needed: fits", "- job/workers 2/3 pods, 1 needed: fits"],
            id="a member is on a node",
        ),
    ],
)
@pytest.mark.parametrize("named", ["compositepodgroup/job", "podgroup/workers"])
def test_explained_tree(
    named: str,
    pods: list[Pod],
    groups: list[ApiObject],
    outcome: GroupOutcome,
    min_group_count: int | None,
    count: str,
    subgroups: list[str],
) -> None:
    found = explained(loaded(pods, groups), named)
    assert (found.kind, found.key, found.min_count) == ("CompositePodGroup", "default/job", None)
    assert (found.outcome, found.min_group_count, found.count) == (outcome, min_group_count, count)
    assert below(found) == subgroups


def test_pods_of_a_group_that_does_not_fit_are_not_bound() -> None:
    found = explained(loaded(FOUR, [composite("job"), *JOB[1:]]), "compositepodgroup/job")
    assert [member.pod for member in found.members if member.bound] == ["default/driver-0"]


@pytest.mark.parametrize(
    ("trees", "rows"),
    [
        pytest.param(
            False,
            [
                ("PodGroup", "workers", 3, "2 of 3 members find a node, 3 are needed; the other one lacks 2 cpu"),
                ("PodGroup", "driver", 1, ""),
            ],
            id="without trees one row per PodGroup",
        ),
        pytest.param(
            True,
            [
                (
                    "CompositePodGroup",
                    "job",
                    4,
                    "3 of 4 members find a node and 1 of 2 groups fits, 2 must; the other one lacks 2 cpu on b, where "
                    "least is missing",
                )
            ],
            id="with trees one row",
        ),
    ],
)
def test_pending_tree(trees: bool, rows: list[tuple[str, str, int, str]]) -> None:
    found = SchedulingCluster(loaded(FOUR, JOB, trees=trees)).pending(changes=0).groups
    assert [(group.kind, group.name, len(group.pods), group.why) for group in found] == rows


def answer_for(cluster: LoadedCluster, pod: Pod) -> Explanation:
    (answer,) = explain(cluster, ExplainRequest((PodSubject(pod),)), AnalysisHandle())
    return answer


@pytest.mark.parametrize(
    ("pod", "cpu", "message"),
    [
        pytest.param(DRIVER[0], "1", 'parent pod group "driver" is unschedulable', id="of the group that fits"),
        pytest.param(
            FOUR[3],
            "3",
            "0/2 nodes are available: 2 Insufficient cpu.",
            id="of the group that does not fit, without a node",
        ),
    ],
)
def test_a_member_keeps_its_name_requests_and_message(pod: Pod, cpu: str, message: str) -> None:
    found = answer_for(loaded(FOUR, JOB), pod)
    assert (found.pod.name, found.pod.requests["cpu"], found.message) == (pod.name, cpu, message)


def test_members_of_the_own_tree_are_not_deleted() -> None:
    first, second = (make_members(f"{name}-0 {name}-1", group=name, requests={"cpu": "3"}) for name in ("one", "two"))
    found = answer_for(loaded([*first, *second], [composite("job"), leaf("one", 2), leaf("two", 2)]), second[0])
    assert found.group is not None
    assert [member.pod for member in found.group.members if member.bound] == ["default/one-0", "default/one-1"]
    assert found.suggestions
    assert not [each.summary for each in found.suggestions if each.evicts]
