"""Pod groups in ``watch``: a group is reported once, and each of its pods when it is bound."""

import json
from datetime import UTC, datetime

import msgspec
from msgspec.structs import replace

from kschedctl.objects.pod_group import PodGroup
from kschedctl.questions.watch.answer import GroupWaits
from kschedctl.questions.watch.document import said_lines
from kschedctl.scheduler.cycle.outcome import Outcome
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.watch.answer_lines import Lines
from kschedctl.watch.pod_answers import PendingReport, Placed, PodAnswers
from tests.answer_schema import validate
from tests.builders import load_engine

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
