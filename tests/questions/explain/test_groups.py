"""Answers for members of pod groups, over the example cluster of gangs."""

import pytest

from tests.builders import load_engine
from tests.cli.in_process import run
from tests.paths import ROOT

GANGS = ROOT / "fixtures" / "gangs"
SNAPSHOT = ("--snapshot", str(GANGS / "cluster"))


def explained(*arguments: str) -> list[str]:
    """Return the lines of an answer on a wide terminal."""
    done = run("explain", *arguments, *SNAPSHOT, environment={"COLUMNS": "400", "NO_COLOR": "1"})
    assert done.code in (0, 1), done.err
    return done.out.splitlines()


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        (
            ["ml/train-0"],
            "The gang ml/train is not scheduled: 7 of 8 members find a node, 8 are needed; the other one lacks "
            "1 nvidia.com/gpu.",
        ),
        (
            ["ml/train-0", "--cordon", "gpu-1"],
            "The gang ml/train is not scheduled: 4 of 8 members find a node, 8 are needed; the other 4 lack "
            "1 nvidia.com/gpu each.",
        ),
        (
            ["ml/ring-3"],
            "The gang ml/ring is not scheduled: in rack r1, where most fit, 5 of 6 members find a node, 6 are needed; "
            "the other one lacks 1 nvidia.com/gpu.",
        ),
        (
            ["ml/sweep-0"],
            "ml/sweep-0 is not tried: waiting for minCount pods from a gang to appear in scheduling queue; 3 of the 8 "
            "pods that gang ml/sweep needs exist. By itself it would fit on 4 of 4 nodes.",
        ),
        (
            ["ml/eval-0"],
            'ml/eval-0 is not tried: waiting for pods\'s pod group "eval" to appear in scheduling queue; PodGroup '
            "ml/eval does not exist. By itself it would fit on 4 of 4 nodes.",
        ),
        (
            ["podgroup/train", "-n", "ml"],
            "The gang ml/train is not scheduled: 7 of 8 members find a node, 8 are needed; the other one lacks "
            "1 nvidia.com/gpu.",
        ),
        (
            ["job/train", "-n", "ml"],
            "Job ml/train, 8 pods: The gang ml/train is not scheduled: 7 of 8 members find a node, 8 are needed; the "
            "other one lacks 1 nvidia.com/gpu.",
        ),
        (
            ["-f", str(GANGS / "manifests" / "urgent.yaml")],
            "Job ml/urgent, 4 pods: The gang ml/urgent is not scheduled: 2 of 4 members find a node, 4 are needed; the "
            "other 2 lack 1 nvidia.com/gpu each. Preemption helps: it evicts 2 pods for the group.",
        ),
    ],
)
def test_the_first_line_is_about_the_group(asked: list[str], first: str) -> None:
    assert explained(*asked)[0] == first


@pytest.mark.parametrize("names", [("ml/eval-0", "podgroup/train"), ("podgroup/train", "ml/eval-0")])
def test_answers_have_the_order_of_the_arguments(names: tuple[str, str]) -> None:
    told = [line.split()[0:3] for line in explained(*names, "-n", "ml") if line.startswith(("ml/", "The gang "))]
    expected = {"ml/eval-0": ["ml/eval-0", "is", "not"], "podgroup/train": ["The", "gang", "ml/train"]}
    assert told == [expected[name] for name in names]


@pytest.mark.parametrize("pod", [f"ml/train-{number}" for number in range(7)])
def test_every_member_gets_the_same_answer(pod: str) -> None:
    asked, other = explained(pod), explained("ml/train-0")
    assert asked[0] == other[0]
    assert [line for line in asked if line.startswith("  ")] == [line for line in other if line.startswith("  ")]


@pytest.mark.parametrize(
    ("asked", "suggestions"),
    [
        (
            ["ml/train-0", "--cordon", "gpu-1"],
            {
                "add a node like gpu-1": "8 members are scheduled",
                "add a node like gpu-3": "8 members are scheduled",
                "make room for 4 members: delete 4 pods": "evicts ml/batch-0, ml/batch-1, ml/batch-2 and ml/batch-3, "
                "then 8 members are scheduled",
                "minCount 4 instead of 8 in PodGroup train": "4 members are scheduled",
            },
        ),
        (
            ["ml/ring-0"],
            {
                "add a node like gpu-1": "6 members are scheduled",
                "add a node like gpu-3": "6 members are scheduled",
                "free 1 nvidia.com/gpu on gpu-2: delete ml/batch-0": "evicts ml/batch-0, then 6 members are scheduled",
                "minCount 5 instead of 6 in PodGroup ring": "5 members are scheduled",
            },
        ),
        (
            ["ml/sweep-0"],
            {
                "let Job sweep make 5 more pods: minCount is 8": "not tried: a controller creates the pods; of 8 like "
                "these, 7 would find a node",
                "minCount 3 instead of 8 in PodGroup sweep": "3 members are scheduled",
            },
        ),
    ],
)
def test_suggestions_are_proven_for_the_whole_group(asked: list[str], suggestions: dict[str, str]) -> None:
    lines = explained(*asked)
    begin = next(i for i, line in enumerate(lines) if line.startswith("Suggestions")) + 2
    rows = [line.split("  ") for line in lines[begin : lines.index("", begin)]]
    found = {parts[0].strip(): parts[-1].strip() for row in rows if (parts := [part for part in row[2:] if part])}
    assert found == suggestions


def test_a_suggestion_for_a_member_that_does_not_wait_deletes_no_pod_of_a_group_that_ends_as_a_whole() -> None:
    assert not [line for line in explained("ml/train-0") if "ml/serve" in line and "delete" in line]


@pytest.mark.parametrize(
    ("gates", "outcome"), [(None, "unschedulable"), ({"GenericWorkload": False}, "scheduled")], ids=["shown", "given"]
)
def test_pod_groups_show_that_their_gates_are_on(gates: dict[str, bool] | None, outcome: str) -> None:
    cluster = load_engine(GANGS / "cluster", feature_gates=gates)
    assert cluster.decide("ml/train-0").outcome == outcome
    assert cluster.release_choice.shown_gates == (
        () if gates else ("GenericWorkload", "TopologyAwareWorkloadScheduling")
    )


def test_gates_that_depend_on_one_that_is_given_as_off_are_off() -> None:
    cluster = load_engine(GANGS / "cluster", kubernetes_version="1.36", feature_gates={"GangScheduling": False})
    assert cluster.release_choice.shown_gates == ("GenericWorkload", "TopologyAwareWorkloadScheduling")
    assert cluster.decide("ml/train-0").outcome == "scheduled"


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (
            ["podgroup/trian", "-n", "ml"],
            "no pod of the snapshot names PodGroup ml/trian\n  did you mean podgroup/train?",
        ),
        (
            ["podgroups/train"],
            "no pod of the snapshot names PodGroup default/train\n  the snapshot has podgroups/train -n ml",
        ),
    ],
)
def test_a_group_that_no_pod_names(asked: list[str], error: str) -> None:
    done = run("explain", *asked, *SNAPSHOT)
    assert (done.code, done.err.strip()) == (2, f"error: {error}")
