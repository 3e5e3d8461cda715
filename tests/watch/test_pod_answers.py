"""Events about pending pods and pod groups: each answer once, and the final outcome."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from kschedctl.objects.core import Node
from kschedctl.objects.meta import ApiObject, ObjectMeta
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroup
from kschedctl.objects.policies import LimitRange
from kschedctl.questions.loading import loaded_cluster
from kschedctl.questions.watch.answer import GroupWaits
from kschedctl.questions.watch.document import said_lines
from kschedctl.scheduler.cycle.outcome import Outcome
from kschedctl.sources.snapshot.load import Snapshot
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.watch.answer_lines import Lines
from kschedctl.watch.pod_answers import Gone, PendingReport, Placed, PodAnswers, PodReport, said_of_nodes
from tests.answer_schema import validate
from tests.builders import LONG_AGO, load_engine, make_cluster, make_node, make_object, make_pod

BIG = make_pod("big", requests={"cpu": "6"})
SMALL = make_pod("small", requests={"cpu": "1"})
GATED = make_pod("gated", schedulingGates=[{"name": "example.com/wait"}])


def scheduling(nodes: Iterable[Node], pods: Iterable[ApiObject]) -> LoadedCluster:
    snapshot = Snapshot(cluster=make_cluster(nodes, (), *pods), paths=(), scheduler_config=None, left_out={})
    return loaded_cluster(snapshot)


def everything(metadata: ObjectMeta) -> bool:
    return True


def short(told: Iterable[PodReport]) -> list[str]:
    """Return the events as short texts."""
    out = []
    for one in told:
        match one:
            case PendingReport():
                out.append(f"{one.pod.name}: {one.answer.outcome}{' again' if one.again else ''}")
            case Placed():
                out.append(f"{one.name} is on {one.node}")
            case Gone():
                out.append(f"{one.name} is gone")
    return out


def with_uid(pod: Pod, uid: str) -> Pod:
    return replace(pod, metadata=replace(pod.metadata, uid=uid))


def bound(pod: Pod, node: str = "a") -> Pod:
    return replace(pod, spec=replace(pod.spec, node_name=node))


def going(pod: Pod) -> Pod:
    return make_pod(pod.name, requests={"cpu": "6"}, terminating=True)


A, B = make_node("a", cpu="4"), make_node("b", cpu="8")
#: Nodes and pods of two moments, and what is told in the second.
MOMENTS = [
    pytest.param(([A], [BIG]), ([A], [BIG]), [], id="the same again is not told"),
    pytest.param(([A], [BIG]), ([A, B], [BIG]), ["big: scheduled again"], id="it fits by now"),
    pytest.param(([A], [BIG]), ([A, make_node("c")], [BIG]), ["big: unschedulable again"], id="there are more nodes"),
    pytest.param(([A], [BIG]), ([A], [bound(BIG)]), ["big is on a"], id="it has got a node"),
    pytest.param(([A], [BIG]), ([A], []), ["big is gone"], id="it is gone"),
    pytest.param(([A], [BIG]), ([A], [going(BIG)]), ["big is gone"], id="it is going"),
    pytest.param(
        ([A], [BIG]),
        ([A], [with_uid(BIG, "another")]),
        ["big is gone", "big: unschedulable"],
        id="another one has its name",
    ),
    pytest.param(([A], [SMALL]), ([A], [bound(SMALL)]), [], id="who has its turn at once is not told of"),
    pytest.param(
        ([A], [SMALL]), ([make_node("c", cpu="1m")], [SMALL]), ["small: unschedulable"], id="who fitted fits no more"
    ),
    pytest.param(([A], [SMALL]), ([], [SMALL]), ["small: error"], id="there is no node any more"),
    pytest.param(([A], [GATED]), ([A], [make_pod("gated")]), ["gated: scheduled again"], id="the gate opens"),
]


@pytest.mark.parametrize(("first", "then", "expected"), MOMENTS)
def test_what_is_new_is_told(first: Any, then: Any, expected: list[str]) -> None:
    answers = PodAnswers(everything)
    answers.round(scheduling(*first))
    assert short(answers.round(scheduling(*then)).told) == expected


def test_pods_that_are_gone_are_forgotten() -> None:
    answers = PodAnswers(everything)
    for i in range(50):
        answers.round(scheduling([A], [make_pod(f"big-{i}", requests={"cpu": "6"})]))
    assert len(answers) == 1


def test_pods_that_differ_in_their_name_alone_are_decided_for_once() -> None:
    alike = [make_pod(f"big-{i}", requests={"cpu": "6"}) for i in range(20)]
    found = PodAnswers(everything).round(scheduling([A], [*alike, GATED, SMALL]))
    assert found.decisions == 3
    assert len(found.told) == 21
    assert found.causes == {"NodeResourcesFit": 20, "SchedulingGates": 1, "none": 1}


def test_pods_with_claims_of_their_own_are_decided_for_each() -> None:
    volume = {"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
    own = [make_pod(f"own-{i}", volumes=[volume]) for i in range(2)]
    found = PodAnswers(everything).round(scheduling([A], own))
    messages = [told.answer.message for told in found.told if isinstance(told, PendingReport)]
    assert [f"own-{i}-data" in message for i, message in enumerate(messages)] == [True, True]


def test_only_those_are_told_of_that_are_meant() -> None:
    pods = [make_pod("web", labels={"app": "web"}, requests={"cpu": "6"}), BIG]
    answers = PodAnswers(lambda metadata: metadata.labels.get("app") == "web")
    assert short(answers.round(scheduling([A], pods)).told) == ["web: unschedulable"]
    unlabelled = [make_pod("web", requests={"cpu": "6"}), BIG]
    assert not answers.round(scheduling([A], unlabelled)).told
    assert len(answers) == 0


def test_pods_of_other_schedulers_are_none_of_ours() -> None:
    other = make_pod("other", schedulerName="another", requests={"cpu": "6"})
    assert not PodAnswers(everything).round(scheduling([A], [other])).told


def test_everything_is_told_anew_to_who_begins_to_lead() -> None:
    answers, cluster = PodAnswers(everything), scheduling([A], [BIG])
    answers.round(cluster)
    answers.forget()
    assert short(answers.round(cluster).told) == ["big: unschedulable"]


def test_whether_preemption_would_help_is_part_of_the_answer() -> None:
    low = make_pod("low", node="b", requests={"cpu": "5"}, status={"startTime": LONG_AGO})
    high = make_pod("high", requests={"cpu": "6"}, priority=10)
    (told,) = PodAnswers(everything).round(scheduling([A, B], [low, high])).told
    assert isinstance(told, PendingReport)
    assert told.answer.helped


def test_nodes_are_counted_by_what_they_are_out_for() -> None:
    tainted = [make_node(f"t{i}", cpu="8", taints=["team=db:NoSchedule"]) for i in range(3)]
    (told,) = PodAnswers(everything).round(scheduling([A, *tainted], [BIG])).told
    assert isinstance(told, PendingReport)
    assert told.decision is not None
    assert said_of_nodes(told.decision) == [
        ("TaintToleration", ("node(s) had untolerated taint(s)",), 3),
        ("NodeResourcesFit", ("Insufficient cpu",), 1),
    ]


def test_pod_that_cannot_be_decided_for_is_told_as_an_error() -> None:
    """The pod has no priority, so it passes admission, where a LimitRange created later rejects it."""
    limits = make_object(
        LimitRange, "limits", namespace="default", spec={"limits": [{"type": "Pod", "max": {"cpu": "2"}}]}
    )
    stored = replace(BIG, spec=replace(BIG.spec, priority=None))
    found = PodAnswers(everything).round(scheduling([A], [stored, limits]))
    assert short(found.told) == ["big: error"]
    (told,) = found.told
    assert isinstance(told, PendingReport)
    assert "maximum cpu usage per Pod is 2" in told.answer.message
    assert found.causes == {"error": 1}


GATES = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True}
AT = datetime(2026, 5, 4, 12, 30, tzinfo=UTC)


def gangs() -> LoadedCluster:
    return load_engine("fixtures/gangs/cluster", feature_gates=GATES)


def answers() -> PodAnswers:
    return PodAnswers(lambda metadata: True)


def with_min_count(cluster: LoadedCluster, name: str, least: int) -> LoadedCluster:
    group = cluster.cluster.get(PodGroup, name, "ml")
    assert group is not None
    policy = msgspec.convert({"gang": {"minCount": least}}, type(group.spec.scheduling_policy))
    changed = replace(group, spec=replace(group.spec, scheduling_policy=policy))
    return cluster.moved(cluster.cluster.with_added([changed]))


def test_a_group_is_decided_for_once_and_reported_once() -> None:
    found = answers().round(gangs())
    # Five groups; that of prepare fits and is not reported.
    assert found.decisions == 5
    lines = [line for _, line in Lines(AT).lines(found.told)]
    assert {line.name: len(line.pods) for line in lines if isinstance(line, GroupWaits)} == {
        "train": 8,
        "ring": 6,
        "eval": 2,
        "sweep": 3,
    }
    assert all(isinstance(line, GroupWaits) for line in lines)


def test_lines_are_valid_by_the_schema() -> None:
    for _, line in Lines(AT).lines(answers().round(gangs()).told):
        data = json.loads(msgspec.json.encode(line.to_dict()))
        validate(data)
        assert (data["kind"], line.names()) == ("GroupWaits", (f"podgroup/ml/{line.name}",))


def test_the_text_of_a_group_is_one_line_with_its_message_and_cures() -> None:
    lines = [line for _, line in Lines(AT).lines(answers().round(gangs()).told)]
    at = f"{AT.astimezone():%H:%M:%S}"
    text = list(said_lines(lines))
    start = next(i for i, line in enumerate(text) if "ml/train" in line)
    assert text[start].startswith(
        f"{at} gang ml/train (8 pods) is not scheduled: 7 of 8 members find a node, 8 are needed; the other one lacks "
    )
    assert "minCount (8) cannot be satisfied: 7 scheduled, 0 remaining" in text[start + 1]
    cure = "  to fix: add a node like gpu-1; 8 members of gang ml/train are scheduled"
    assert cure in text
    assert f"{at} pod group ml/eval (2 pods) is not tried: PodGroup ml/eval does not exist" in text


def test_a_group_is_reported_again_when_its_answer_changes() -> None:
    known, cluster = answers(), gangs()
    known.round(cluster)
    assert not known.round(cluster).told
    lower = with_min_count(cluster, "train", 7)
    told = [one for one in known.round(lower).told if isinstance(one, PendingReport)]
    # The gang is scheduled without one of its pods, which says why.
    assert [one.pod.name for one in told if one.answer.outcome is Outcome.SCHEDULED] == [f"train-{i}" for i in range(7)]
    left = next(one for one in told if one.answer.outcome is not Outcome.SCHEDULED)
    assert (left.pod.name, left.again) == ("train-7", True)
    assert left.answer.message == "0/4 nodes are available: 4 Insufficient nvidia.com/gpu."


def test_pods_of_a_group_that_are_bound_are_reported_each() -> None:
    known, cluster = answers(), gangs()
    known.round(cluster)
    pods = [cluster.pods.pod(cluster.pods.index["ml", f"ring-{i}"]) for i in range(6)]
    bound = [replace(pod, spec=replace(pod.spec, node_name="gpu-1")) for pod in pods]
    told = known.round(cluster.moved(cluster.cluster.with_pods(added=bound))).told
    assert [one.name for one in told if isinstance(one, Placed)] == [f"ring-{i}" for i in range(6)]
