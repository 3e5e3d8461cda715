"""The answers about many pods that are scheduled in groups: ``fixtures/gangs``, and one case per outcome."""

import json
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from kschedctl.common.errors import InputError
from kschedctl.objects.core import Condition
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroup
from kschedctl.output.data_forms import as_json
from kschedctl.questions.cluster_request import ClusterRequest, ClusterSource
from kschedctl.questions.frame import View
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.loading import loaded_cluster
from kschedctl.questions.manifests import ManifestRequest, load_with_manifests
from kschedctl.questions.pending.answer import GroupData, Pending
from kschedctl.questions.pending.document import document as pending_document
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from kschedctl.questions.simulate.answer import GroupResult, Simulated, SimulatedGroupData
from kschedctl.questions.simulate.document import document as simulate_document
from kschedctl.questions.verify.answer import Match
from kschedctl.questions.verify.recording import recorded_case
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.group_decisions import DecidedGroups
from kschedctl.scheduler.cycle.outcome import GroupOutcome, Outcome
from kschedctl.sources.snapshot.load import Snapshot
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.watch.pod_answers import PodAnswer
from tests.answer_schema import validate
from tests.builders import load_engine, make_cluster, make_node, make_pod, make_pod_group
from tests.questions.printing import lines

GANGS = Path("fixtures/gangs/cluster")
GATES = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True}
OFF = {"GenericWorkload": False}


@cache
def cluster(*, gates: bool = True) -> LoadedCluster:
    return load_engine(GANGS, feature_gates=GATES if gates else OFF)


@cache
def pending() -> Pending:
    return SchedulingCluster(cluster()).pending()


@cache
def simulated() -> Simulated:
    return SchedulingCluster(cluster()).simulate()


def groups() -> dict[str, GroupData]:
    return {group.name: group for group in pending().groups}


@pytest.mark.parametrize(
    ("name", "label", "n_pods", "result", "why"),
    [
        (
            "train",
            "gang ml/train",
            8,
            "unschedulable",
            "7 of 8 members find a node, 8 are needed; the other one lacks 1 nvidia.com/gpu",
        ),
        (
            "ring",
            "gang ml/ring",
            6,
            "unschedulable",
            "in rack r1, where most fit, 5 of 6 members find a node, 6 are needed; "
            "the other one lacks 1 nvidia.com/gpu",
        ),
        ("sweep", "pod group ml/sweep", 3, "gated", "3 of the 8 pods that gang ml/sweep needs exist"),
        ("eval", "pod group ml/eval", 2, "gated", "PodGroup ml/eval does not exist"),
        ("prepare", "gang ml/prepare", 4, "scheduled", ""),
    ],
)
def test_pending_groups_by_gang(name: str, label: str, n_pods: int, result: str, why: str) -> None:
    group = groups()[name]
    assert (group.kind, group.label, len(group.pods), group.result) == ("PodGroup", label, n_pods, result)
    assert group.why == why


def test_a_change_is_proven_for_the_whole_gang() -> None:
    change = pending().changes[0]
    assert change.summary == "add a node like gpu-1"
    assert change.would_place == tuple(f"ml/train-{i}" for i in range(8))


def test_a_change_for_one_gang_alone_names_the_gang() -> None:
    alone = pending().alone[0]
    assert (alone.group, len(alone.would_place)) == ("ml/ring", 6)
    text = "\n".join(lines(pending_document(pending(), View()), 200))
    assert "add a node like gpu-1; tried for ml/ring alone" in text


def test_a_gang_that_fits_is_placed_without_a_change() -> None:
    assert pending().fit == tuple(f"ml/prepare-{i}" for i in range(4))


def test_without_gates_pods_are_tried_by_themselves() -> None:
    found = SchedulingCluster(cluster(gates=False)).pending(changes=0)
    assert {group.kind for group in found.groups} == {"Job"}
    assert all(group.result == "scheduled" for group in found.groups)
    run = SchedulingCluster(cluster(gates=False)).simulate()
    # Seven GPUs are free, and the pods of prepare need none.
    assert (run.placed, run.groups, run.group_attempts) == (11, (), ())
    assert all(not attempt.group for attempt in run.attempts)
    assert "group" not in json.loads(as_json(run))["timeline"][0]


def test_the_summary_of_a_simulation_counts_gangs() -> None:
    assert simulated().summary == "4 of 23 pods placed; 19 pending; gangs: 1 placed whole, 4 wait"


def test_a_simulation_has_the_outcome_by_group() -> None:
    found = {group.name: group for group in simulated().groups}
    assert {name: (group.placed, group.pods, group.min_count, group.result) for name, group in found.items()} == {
        "eval": (0, 2, None, GroupResult.GATED),
        "prepare": (4, 4, 4, GroupResult.PLACED),
        "ring": (0, 6, 6, GroupResult.WAITING),
        "sweep": (0, 3, 8, GroupResult.GATED),
        "train": (0, 8, 8, GroupResult.WAITING),
    }
    assert found["train"].count == "7 of 8 members find a node, 8 are needed"
    assert "minCount (8) cannot be satisfied: 7 scheduled, 0 remaining" in found["train"].message


def test_an_attempt_at_a_group_is_one() -> None:
    train = [attempt for attempt in simulated().group_attempts if attempt.group == "ml/train"]
    assert [(attempt.outcome, attempt.fitting) for attempt in train] == [(GroupOutcome.UNSCHEDULABLE, 7)] * len(train)
    assert train[0].members == tuple(f"ml/train-{i}" for i in range(8))
    of_members = [attempt for attempt in simulated().attempts if attempt.group == "ml/train"]
    assert len(of_members) == 8 * len(train)
    prepare = next(attempt for attempt in simulated().group_attempts if attempt.group == "ml/prepare")
    assert (prepare.outcome, prepare.fitting, prepare.message) == (GroupOutcome.SCHEDULED, 4, "")


def test_the_pods_of_a_group_that_waits_are_one_row() -> None:
    waiting = {group.group: group for group in simulated().waiting}
    assert {name: len(group.pods) for name, group in waiting.items()} == {
        "ml/train": 8,
        "ml/ring": 6,
        "ml/sweep": 3,
        "ml/eval": 2,
    }
    assert waiting["ml/sweep"].gated
    assert waiting["ml/sweep"].cause == "3 of the 8 pods that gang ml/sweep needs exist"


def test_cures_of_a_simulation_are_tried_for_the_whole_gang() -> None:
    cure = simulated().cures[0]
    assert cure.summary == "add a node like gpu-1"
    members = "8 members of gang ml/train are scheduled; 6 members of gang ml/ring are scheduled"
    assert cure.then == f"tried for each alone: {members}"


def test_the_text_of_a_simulation_has_one_row_per_attempt_at_a_gang() -> None:
    text = lines(simulate_document(simulated(), View(wide=True)), 260)
    timeline = text[text.index("Timeline") :]
    assert sum("8 pods of group ml/train" in line for line in timeline) == sum(
        attempt.group == "ml/train" for attempt in simulated().group_attempts
    )
    scheduled = next(line for line in timeline if "Scheduled" in line)
    assert "4 pods of group ml/prepare" in scheduled
    assert "gpu-1 x3 and gpu-2" in scheduled
    assert any(line.split() == ["ml/prepare", "4", "4", "of", "4", "1", "placed", "whole"] for line in text)


def test_a_gang_of_a_manifest_evicts_and_is_placed_whole() -> None:
    request = ClusterRequest(source=ClusterSource(paths=(str(GANGS),)), feature_gates=GATES)
    manifests = ManifestRequest(filenames=("fixtures/gangs/manifests/urgent.yaml",))
    found = SchedulingCluster(load_with_manifests(manifests, request, AnalysisHandle())).simulate()
    urgent = next(group for group in found.groups if group.name == "urgent")
    assert (urgent.result, urgent.placed, urgent.attempts) == (GroupResult.PLACED, 4, 2)
    assert [each.outcome for each in found.group_attempts if each.group == "ml/urgent"] == [
        GroupOutcome.PREEMPTING,
        GroupOutcome.SCHEDULED,
    ]
    assert {(each.pod, each.by) for each in found.evicted} == {
        ("ml/batch-2", "pod group ml/urgent"),
        ("ml/batch-4", "pod group ml/urgent"),
    }
    evicted = next(line for line in lines(simulate_document(found, View()), 200) if line.startswith("  ml/batch-2"))
    assert evicted.split("  ")[-1] == "gpu-1, gpu-2, gpu-3 and 1 more"


@pytest.mark.parametrize("answer", [pending, simulated])
def test_answers_are_valid_by_the_schema(answer: object) -> None:
    value = json.loads(as_json(answer()))  # type: ignore[operator]
    validate(value)


PREEMPTION = "pod group preemption: No preemption victims found for incoming preemptor"
NO_RACK = f"pod group is unschedulable, 0/2 placements are available, first placement status: {{}}, {PREEMPTION}"
OF_RING = NO_RACK.format("minCount (6) cannot be satisfied: 5 scheduled, 0 remaining")


def stored(cluster: LoadedCluster, messages: dict[str, str]) -> LoadedCluster:
    """Return the cluster with messages of kube-scheduler on pods."""
    pods = []
    for key, message in messages.items():
        namespace, _, name = key.partition("/")
        pod = cluster.pods.pod(cluster.pods.index[namespace, name])
        condition = Condition(type="PodScheduled", status="False", reason="Unschedulable", message=message)
        pods.append(replace(pod, status=replace(pod.status, conditions=(condition,))))
    return cluster.moved(cluster.cluster.with_pods(added=pods))


def test_members_are_compared_with_the_decision_for_their_group() -> None:
    # The scheduler repeats the text of the group behind its own beginning for members that found a node.
    messages = {f"ml/ring-{i}": f"pod group is unschedulable, {OF_RING}" for i in range(5)}
    last = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
    found = SchedulingCluster(stored(cluster(), {**messages, "ml/ring-5": last})).verify()
    assert (found.equal, found.pending.equal, found.pending.different) == (True, 6, 0)


def test_a_member_with_another_message_differs() -> None:
    found = SchedulingCluster(
        stored(cluster(), {"ml/train-0": "0/4 nodes are available: 4 Insufficient cpu."})
    ).verify()
    assert (found.equal, found.pending.different) == (False, 1)


def test_the_message_of_a_gang_that_is_not_tried_any_more_is_no_difference() -> None:
    found = SchedulingCluster(
        stored(cluster(), {"ml/sweep-0": "0/4 nodes are available: 4 Insufficient cpu."})
    ).verify()
    group = next(each for each in found.pending_groups if each.pods[0].name == "sweep-0")
    assert (found.equal, group.outcome) == (True, Match.NOT_TRIED)
    assert group.causes == ("not tried any more: 3 of the 8 pods that gang ml/sweep needs exist",)


def test_a_case_of_one_pod_cannot_be_recorded_for_a_member() -> None:
    differing = stored(cluster(), {"ml/train-0": "0/4 nodes are available: 4 Insufficient cpu."})
    with pytest.raises(InputError, match="it is tried with its pod group"):
        recorded_case(differing.scheduler, differing.pods.index["ml", "train-0"], GATES)


GATES_OF_RELEASE = {
    "1.36": {"GenericWorkload": True, "GangScheduling": True, "WorkloadAwarePreemption": True},
    "1.37": {"GenericWorkload": True},
}


def group(name: str, least: int | None, priority: int = 0) -> PodGroup:
    return make_pod_group(name, min_count=least, priority=priority)


def member(of: str, number: int, *, priority: int = 0) -> Pod:
    return make_pod(f"{of}-{number}", requests={"cpu": "2"}, priority=priority, schedulingGroup={"podGroupName": of})


def loaded(version: str, *objects: ApiObject) -> LoadedCluster:
    pods = [each for each in objects if isinstance(each, Pod)]
    groups = [each for each in objects if isinstance(each, PodGroup)]
    cluster = make_cluster([make_node("a", cpu="4")], pods, *groups)
    snapshot = Snapshot(cluster=cluster, paths=("here",), scheduler_config=None, left_out={})
    return loaded_cluster(snapshot, kubernetes_version=version, feature_gates=GATES_OF_RELEASE[version])


FITS = group("g", 2), member("g", 0), member("g", 1)
PART = group("g", 2), *(member("g", i) for i in range(3))
BASIC = group("g", None), *(member("g", i) for i in range(3))
TOO_LARGE = group("g", 3), *(member("g", i) for i in range(3))
WAITS = group("g", 2), member("g", 0)
ON_NODE = make_pod("low", node="a", requests={"cpu": "3"})
EVICTS = group("g", 2, 9), *(member("g", i, priority=9) for i in range(2)), ON_NODE


def test_an_attempt_that_ends_with_an_error_is_told_in_the_words_of_the_scheduler() -> None:
    objects = group("g", 2), member("g", 0), member("g", 1, priority=5)
    problem = "all pods in a single pod group should have the same priority as the pod group's priority, got 5 and 0"
    _, found = outcome("1.37", *objects)
    assert (found.result, found.cause, found.count, found.message) == (GroupResult.WAITING, problem, "", problem)
    assert SchedulingCluster(loaded("1.37", *objects)).pending(changes=0).groups[0].why == problem


def outcome(version: str, *objects: ApiObject) -> tuple[str, SimulatedGroupData]:
    answer = SchedulingCluster(loaded(version, *objects)).simulate()
    assert len(answer.groups) == 1
    return answer.summary, answer.groups[0]


@pytest.mark.parametrize("version", ["1.36", "1.37"])
@pytest.mark.parametrize(
    ("objects", "result", "placed", "gangs"),
    [
        pytest.param(FITS, GroupResult.PLACED, 2, "gangs: 1 placed whole", id="fits"),
        pytest.param(PART, GroupResult.PART, 2, "gangs: 1 placed in part", id="one more pod than fit"),
        pytest.param(BASIC, GroupResult.PART, 2, "", id="basic policy"),
        pytest.param(TOO_LARGE, GroupResult.WAITING, 0, "gangs: 1 waits", id="too large"),
        pytest.param(WAITS, GroupResult.GATED, 0, "gangs: 1 waits", id="too few pods"),
        pytest.param(EVICTS, GroupResult.PLACED, 2, "gangs: 1 placed whole", id="evicts"),
    ],
)
def test_the_outcome_of_a_simulation(
    version: str, objects: tuple[ApiObject, ...], result: GroupResult, placed: int, gangs: str
) -> None:
    summary, found = outcome(version, *objects)
    assert (found.result, found.placed) == (result, placed)
    assert summary.partition("gangs:")[1:] == gangs.partition("gangs:")[1:]
    assert bool(found.waiting) == bool(found.cause)


@pytest.mark.parametrize("version", ["1.36", "1.37"])
def test_a_gang_for_which_preemption_helps_says_so(version: str) -> None:
    only = SchedulingCluster(loaded(version, *EVICTS)).pending(changes=0).groups[0]
    assert only.preempts
    assert only.why.startswith("1 of 2 members find a node, 2 are needed") or only.why.startswith("0 of 2 members")
    assert only.why.endswith("; preemption would help")


def test_changes_for_a_gang_are_those_without_preemption() -> None:
    # The priority of a group counts for its members on nodes too, and so does their policy.
    started = make_pod("g-9", node="a", requests={"cpu": "1"}, schedulingGroup={"podGroupName": "g"})
    found = SchedulingCluster(loaded("1.37", *TOO_LARGE, started)).pending()
    assert [(change.summary, len(change.would_place)) for change in found.changes] == [("add a node like a", 3)]


def test_pods_that_a_scheduled_gang_leaves_out_have_their_own_answer() -> None:
    cluster = loaded("1.37", *PART)
    decide = DecidedGroups(cluster.decide).decide
    answers = [PodAnswer.of(decide(cluster.find(f"default/g-{i}"))) for i in range(3)]
    assert [answer.outcome for answer in answers] == [Outcome.SCHEDULED, Outcome.SCHEDULED, Outcome.UNSCHEDULABLE]
    assert answers[2].message.startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_a_group_is_decided_for_once() -> None:
    cluster = loaded("1.37", *TOO_LARGE, make_pod("alone"))
    asked: list[str] = []

    def decide(pod: Pod) -> Decision:
        asked.append(pod.name)
        return cluster.decide(pod)

    groups = DecidedGroups(decide)
    decisions = [groups.decide(cluster.find(f"default/{name}")) for name in ("g-0", "g-1", "alone", "g-2")]
    assert asked == ["g-0", "alone"]
    no = Outcome.UNSCHEDULABLE
    assert [decision.outcome for decision in decisions] == [no, no, Outcome.SCHEDULED, no]
