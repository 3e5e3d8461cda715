"""Rules about trees of groups: missing parents, too few groups, and groups that do not agree with their parent."""

import pytest

from kschedctl.linter.examples import manifests, node, snapshot
from kschedctl.objects.releases.release import RELEASES
from kschedctl.objects.releases.rules import COMPOSITE_POD_GROUP
from tests.builders import with_groups
from tests.linter.linting import lint

TREES = with_groups("1.38", topology=True, **{COMPOSITE_POD_GROUP: True})
NO_TREES = with_groups("1.38", topology=True)
VERSION = "scheduling.k8s.io/v1beta1"
BASIC, ALL, SINGLE = "schedulingPolicy: {basic: {}}", "disruptionMode: {all: {}}", "disruptionMode: {single: {}}"


def group(name: str, parent: str = "", *fields: str, composite: bool = False) -> str:
    """Return a group as an example: a PodGroup of two pods, or a CompositePodGroup of one group."""
    kind, gang = ("CompositePodGroup", "minGroupCount: 1") if composite else ("PodGroup", "minCount: 2")
    policy = (
        []
        if any(each.startswith("schedulingPolicy") for each in fields)
        else [f"schedulingPolicy: {{gang: {{{gang}}}}}"]
    )
    below = [f"parentCompositePodGroupName: {parent}"] if parent else []
    return "\n".join([f"{VERSION} {kind} {name}", *below, *policy, *fields, ""])


def tree(name: str, parent: str = "", *fields: str) -> str:
    return group(name, parent, *fields, composite=True)


def found(code: str, *groups: str, cluster: tuple[str, ...] = (), trees: bool = True) -> list[str]:
    """Return the messages of a rule for examples, beside a snapshot if one is given."""
    stored = {"snapshot": snapshot(node("a"), *cluster)} if cluster else {}
    text = manifests("---\n".join(groups))
    return [each.message for each in lint(text, code, release=TREES if trees else NO_TREES, **stored)]


@pytest.mark.parametrize(
    ("groups", "cluster", "messages"),
    [
        pytest.param([group("workers", "job")], [], ["CompositePodGroup job does not exist"], id="nowhere"),
        pytest.param([group("workers", "job"), tree("job")], [], [], id="in the manifests"),
        pytest.param([group("workers", "job")], [tree("job")], [], id="in the snapshot"),
        pytest.param(
            [group("workers", "job")],
            [tree("other")],
            ["CompositePodGroup job does not exist"],
            id="not in the snapshot",
        ),
        pytest.param(
            [group("workers", "job"), tree("job", "", "namespace: ml")],
            [],
            ["CompositePodGroup job does not exist"],
            id="in another namespace",
        ),
        pytest.param(
            [group("workers", "job"), group("job")], [], ["CompositePodGroup job does not exist"], id="a PodGroup"
        ),
        pytest.param(
            [group("workers", "job"), tree("job", "all")], [], ["CompositePodGroup all does not exist"], id="its parent"
        ),
        pytest.param([group("workers", "$(JOB)")], [], [], id="a placeholder is not a name"),
        pytest.param([group("workers")], [], [], id="no parent"),
    ],
)
def test_parent_not_given(groups: list[str], cluster: list[str], messages: list[str]) -> None:
    assert found("KS707", *groups, cluster=tuple(cluster)) == messages


def test_a_parent_with_a_similar_name_is_proposed() -> None:
    (only,) = lint(manifests("---\n".join([group("workers", "jbo"), tree("job")])), "KS707", release=TREES)
    assert only.help == "did you mean job?"


@pytest.mark.parametrize("code", ["KS707", "KS708", "KS709"])
def test_without_the_gate_parents_do_not_count(code: str) -> None:
    missing = [group("workers", "jbo", "schedulingPolicy: {basic: {}}")]
    short = [tree("job", "", "schedulingPolicy: {gang: {minGroupCount: 2}}")]
    differing = [group("workers", "job", "schedulingPolicy: {basic: {}}"), tree("job")]
    groups = {"KS707": missing, "KS708": short, "KS709": differing}[code]
    assert len(found(code, *groups)) == 1
    assert found(code, *groups, trees=False) == []


@pytest.mark.parametrize(
    ("groups", "cluster", "messages"),
    [
        pytest.param([], [], ["minGroupCount is 2, and 0 groups name job as the parent"], id="none"),
        pytest.param(
            [group("a", "job")], [], ["minGroupCount is 2, and 1 group names job as the parent"], id="one of two"
        ),
        pytest.param([group("a", "job"), tree("b", "job", BASIC)], [], [], id="groups of both kinds count"),
        pytest.param([group("a", "job"), tree("a", "job", BASIC)], [], [], id="of the same name, too"),
        pytest.param([group("a", "job")], [group("b", "job")], [], id="one is in the snapshot"),
        pytest.param(
            [group("a", "job")],
            [group("a", "job")],
            ["minGroupCount is 2, and 1 group names job as the parent"],
            id="the same one is in the snapshot",
        ),
        pytest.param(
            [group("a", "job"), tree("inner", "other"), group("b", "inner")],
            [],
            ["minGroupCount is 2, and 1 group names job as the parent"],
            id="groups of another tree do not count",
        ),
        pytest.param(
            [tree("inner", "job"), group("a", "inner"), group("b", "inner")],
            [],
            ["minGroupCount is 2, and 1 group names job as the parent"],
            id="only those right below it count",
        ),
        pytest.param(
            [group("a", "job"), group("b", "job", "namespace: ml")],
            [],
            ["minGroupCount is 2, and 1 group names job as the parent"],
            id="groups of another namespace do not count",
        ),
    ],
)
def test_min_group_count_out_of_reach(groups: list[str], cluster: list[str], messages: list[str]) -> None:
    job = tree("job", "", "schedulingPolicy: {gang: {minGroupCount: 2}}")
    assert found("KS708", job, *groups, cluster=tuple(cluster)) == messages


def test_a_basic_tree_needs_no_number_of_groups() -> None:
    assert found("KS708", tree("job", "", "schedulingPolicy: {basic: {}}")) == []


def test_min_group_count_of_a_tree_that_a_controller_owns() -> None:
    text = manifests(tree("job", "", "schedulingPolicy: {gang: {minGroupCount: 2}}"))
    assert len(lint(text, "KS708", release=TREES)) == 1
    owner = "metadata:\n  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: job, uid: u}]\n"
    assert lint(text.replace("metadata:\n", owner, 1), "KS708", release=TREES) == []


HIGH = "scheduling.k8s.io/v1 PriorityClass high\nvalue: 1000\n"
ALSO_HIGH = "scheduling.k8s.io/v1 PriorityClass also-high\nvalue: 1000\n"


def of_workload(name: str) -> str:
    return f"workloadRef: {{workloadName: {name}, templateName: t}}"


@pytest.mark.parametrize(
    ("parent", "child", "others", "message"),
    [
        pytest.param([], [], [], "", id="nothing differs"),
        pytest.param([of_workload("one")], [of_workload("one")], [], "", id="one Workload"),
        pytest.param(
            [of_workload("one")],
            [of_workload("two")],
            [],
            "Workload two differs from Workload one of its parent",
            id="two Workloads",
        ),
        pytest.param(
            [of_workload("one")], [], [], "Workload none differs from Workload one of its parent", id="one has none"
        ),
        pytest.param([of_workload("$(NAME)")], [of_workload("one")], [], "", id="a Workload that is a placeholder"),
        pytest.param(
            ["priorityClassName: high"],
            [],
            [HIGH],
            "priority 0 differs from priority 1000 of its parent",
            id="a priority class in the parent only",
        ),
        pytest.param(
            [],
            ["priorityClassName: high"],
            [HIGH],
            "priority 1000 differs from priority 0 of its parent",
            id="a priority class in the group only",
        ),
        pytest.param(
            ["priorityClassName: high"],
            ["priorityClassName: also-high"],
            [HIGH, ALSO_HIGH],
            "",
            id="two classes of the same value",
        ),
        pytest.param(["priorityClassName: unknown"], [], [], "", id="a class that is not given"),
        pytest.param(
            [], [BASIC], [], "the basic policy is not possible below job, which is a gang", id="basic below a gang"
        ),
        pytest.param(
            ["preemptionPolicy: Never"],
            ["preemptionPolicy: PreemptLowerPriority"],
            [],
            "preemptionPolicy PreemptLowerPriority differs from Never of its parent",
            id="two preemption policies",
        ),
        pytest.param(["preemptionPolicy: Never"], [], [], "", id="a policy that admission may set"),
        pytest.param([BASIC], [BASIC], [], "", id="basic below basic"),
        pytest.param([BASIC], [], [], "", id="a gang below basic"),
        pytest.param([ALL], [ALL], [], "", id="both are evicted as a whole"),
        pytest.param(
            [ALL], [SINGLE], [], "job is evicted as a whole, and this group below it is not", id="single below all"
        ),
        pytest.param([ALL], [], [], "job is evicted as a whole, and this group below it is not", id="none below all"),
        pytest.param([SINGLE], [ALL], [], "", id="all below single"),
    ],
)
@pytest.mark.parametrize("composite", [False, True], ids=["PodGroup", "CompositePodGroup"])
def test_groups_of_tree_differ(
    composite: bool, parent: list[str], child: list[str], others: list[str], message: str
) -> None:
    below = group("workers", "job", *child, composite=composite)
    assert found("KS709", tree("job", "", *parent), below, *others) == ([message] if message else [])


@pytest.mark.parametrize(
    ("above", "messages"),
    [
        pytest.param(["a"], [], id="one level"),
        pytest.param(["a", "b", "c"], [], id="three levels"),
        pytest.param(
            ["a", "b", "c", "d"],
            ["4 CompositePodGroups are above the PodGroup, and at most 3 may be"],
            id="four levels, for the PodGroup",
        ),
    ],
)
def test_depth(above: list[str], messages: list[str]) -> None:
    chain = [tree(name, parent) for name, parent in zip(above, [*above[1:], ""], strict=True)]
    assert found("KS709", group("workers", above[0]), *chain) == messages


@pytest.mark.parametrize(
    ("groups", "messages"),
    [
        pytest.param([tree("a", "a")], ["a is below a group that is below itself"], id="its own parent"),
        pytest.param(
            [tree("a", "b"), tree("b", "a")],
            ["a is below a group that is below itself", "b is below a group that is below itself"],
            id="two groups",
        ),
        pytest.param(
            [group("workers", "a"), tree("a", "a")],
            ["workers is below a group that is below itself", "a is below a group that is below itself"],
            id="and a group below the circle",
        ),
        pytest.param([tree("a", "b"), tree("b", "c"), tree("c")], [], id="no circle"),
    ],
)
def test_circle(groups: list[str], messages: list[str]) -> None:
    assert found("KS709", *groups) == messages


@pytest.mark.parametrize(
    ("version", "findings"),
    [
        # The gates of the release are not known: groups are for a cluster that has them on.
        pytest.param("1.37", 0, id="1.37 has no trees"),
        pytest.param("1.38", 1, id="1.38 has them"),
    ],
)
def test_releases(version: str, findings: int) -> None:
    text = manifests("---\n".join([tree("job"), group("workers", "job", BASIC)]))
    assert len(lint(text, "KS709", release=RELEASES[version])) == findings
