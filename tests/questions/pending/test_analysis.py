"""The pods that wait, as data."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kschedctl.cluster.placed_pods import pending_pods
from kschedctl.common.errors import InputError
from kschedctl.diagnosis.pending_groups import group_pending_pods
from kschedctl.diagnosis.why.unblocking_changes import unblock
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.workload import ReplicaSet
from kschedctl.output.data_forms import as_json
from kschedctl.questions.charts import Bars, NodeMap
from kschedctl.questions.document import Table
from kschedctl.questions.frame import View
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.pending.analysis import explain_group, pending, pending_answer
from kschedctl.questions.pending.answer import Pending
from kschedctl.questions.pending.document import document
from kschedctl.questions.pending.request import PendingRequest
from kschedctl.questions.provenance import provenance
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from tests.answer_schema import validate
from tests.builders import (
    load_engine,
    make_claim,
    make_cluster,
    make_loaded,
    make_namespace,
    make_node,
    make_object,
    make_pod,
    make_volume,
    mount,
    write_snapshot,
)
from tests.questions.drawn import cells, parts, view_of

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


def answer(most: int) -> Pending:
    cluster = load_engine("fixtures/pending/cluster.yaml")
    scheduler = cluster.scheduler
    pods = [scheduler.cluster.pods.pod(index) for index in pending_pods(scheduler.cluster)]
    groups = group_pending_pods(scheduler, pods)
    found = unblock(scheduler, groups, most) if most else None
    explained = [explain_group(scheduler, group) for group in groups]
    return pending_answer(cluster.cluster, explained, found, provenance(cluster, many=True), NOW)


@pytest.mark.parametrize("most", [0, 3])
def test_answers_are_valid_by_the_schema(most: int) -> None:
    value = json.loads(as_json(answer(most)))
    validate(value)


def test_the_first_line_says_how_many_wait_and_what_would_help() -> None:
    assert answer(3).summary == (
        "11 pods are pending in 4 groups; the oldest for 2 d. Two changes would place 9 of them."
    )
    assert answer(0).summary == "11 pods are pending in 4 groups; the oldest for 2 d."


def test_names_are_those_of_the_pods() -> None:
    assert answer(0).names()[0] == "pod/shop/web-10"


def report(tmp_path: Path, *objects: ApiObject, namespace: str = "") -> Pending:
    cluster = load_engine(write_snapshot(tmp_path, objects))
    return pending(cluster, PendingRequest(namespace=namespace), AnalysisHandle())


def test_a_workload_that_lacks_pods_is_a_group(tmp_path: Path) -> None:
    status = {
        "replicas": 1,
        "conditions": [
            {
                "type": "ReplicaFailure",
                "status": "True",
                "reason": "FailedCreate",
                "message": "exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1",
            }
        ],
    }
    web = make_object(ReplicaSet, "web", namespace="shop", spec={"replicas": 3}, status=status)
    found = report(tmp_path, make_node("a"), web, namespace="")
    assert found.summary == (
        "No pod is pending, but ReplicaSet shop/web has 1 of 3 replicas: quota few refuses the rest: pods 1 of 1 used, "
        "1 more asked for."
    )
    (group,) = found.groups
    assert (group.result, group.missing, group.pods, found.yes) == ("notCreated", 2, (), False)
    assert [one.summary for one in found.advice] == ["raise pods of quota few to 3, for all 3 pods"]
    assert found.names() == ()
    validate(json.loads(as_json(found)))


def test_pods_of_another_scheduler_have_a_cause_and_a_cure(tmp_path: Path) -> None:
    found = report(tmp_path, make_node("a"), make_pod("job", namespace="ml", schedulerName="volcano"))
    (group,) = found.groups
    assert (group.result, group.why) == (
        "notOurs",
        "its schedulerName is volcano, and no such scheduler runs here (no pod or Lease of that name)",
    )
    assert [(one.summary, one.would_place) for one in found.alone] == [
        ("remove schedulerName volcano, so that default-scheduler schedules the pod", ("ml/job",))
    ]
    assert [one.summary for one in found.advice] == ["install or start the scheduler volcano"]


def test_what_helps_only_as_a_pair_is_shown_for_the_pod_alone(tmp_path: Path) -> None:
    node = make_node("a", taints=["dedicated=x:NoSchedule"], labels={"disk": "hdd"})
    pod = make_pod("web", namespace="shop", nodeSelector={"disk": "ssd"})
    found = report(tmp_path, node, pod)
    assert found.changes == ()
    assert found.alone
    assert all(one.would_place == ("shop/web",) for one in found.alone)


def test_an_unknown_namespace_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no namespace shpo") as caught:
        report(tmp_path, make_node("a"), make_pod("web", namespace="shop"), namespace="shpo")
    assert caught.value.findings[0].hint == "did you mean shop?"
    assert report(tmp_path, make_node("a"), make_namespace("empty"), namespace="empty").groups == ()


def test_single_pods_with_one_message_and_two_causes_are_two_groups(tmp_path: Path) -> None:
    """Pods of one cause are one group, though their claims and amounts have other names and values."""
    pods = [
        *(make_pod(f"p-{name}", volumes=mount(name)) for name in ("rel", "nosc", "other")),
        *(make_pod(f"big-{n}", requests={"cpu": str(n)}) for n in (20, 30)),
    ]
    claims = [
        make_claim("rel", storage_class="manual"),
        make_claim("nosc", storage_class=None),
        make_claim("other", storage_class=None),
    ]
    gone = {"namespace": "default", "name": "rel", "uid": "uid-of-a-deleted-claim"}
    volume = make_volume("left", storage_class="manual", phase="Released", claimRef=gone)
    found = report(tmp_path, make_node("a"), *pods, *claims, volume)
    assert {group.pods: group.why for group in found.groups} == {
        ("default/big-20", "default/big-30"): "a has 4 cpu in all, the pod wants 20 cpu",
        ("default/p-nosc", "default/p-other"): "claim nosc names no StorageClass, and no class is the default",
        ("default/p-rel",): "claim rel is not bound: its volume left is Released, as it still names a deleted claim of "
        "the same name by its uid",
    }


def test_pods_that_fit_once_others_have_ended_are_counted(tmp_path: Path) -> None:
    ending = make_pod("ending", requests={"cpu": "3"}, node="a", terminating=True)
    pods = [make_pod(f"web-{i}", requests={"cpu": "1"}, owner=("batch/v1", "Job", "web")) for i in range(3)]
    found = report(tmp_path, make_node("a"), ending, *pods)
    (group,) = found.groups
    assert (group.result, group.fitting, group.fitting_once_ended) == ("scheduled", 3, 2)
    assert found.summary.endswith("3 pods fit without a change, 2 of them once 1 pod being deleted is gone.")


def test_a_nominated_pod_fits_once_its_victim_is_gone(tmp_path: Path) -> None:
    status = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]}
    victim = make_pod("victim", requests={"cpu": "3"}, node="a", terminating=True, status=status)
    urgent = make_pod("urgent", requests={"cpu": "3"}, priority=9, nominated="a")
    found = report(tmp_path, make_node("a"), victim, urgent)
    assert found.summary.endswith("1 pod fits without a change once 1 pod being deleted is gone.")
    assert found.fit == ("default/urgent",)


JOB = ("batch/v1", "Job", "work")
CLUSTER = make_loaded(
    make_cluster(
        [make_node("a", cpu="4")],
        [
            make_pod("low", requests={"cpu": "1"}, node="a", priority=-5),
            *(make_pod(f"work-{i}", requests={"cpu": "2"}, owner=JOB) for i in range(3)),
            make_pod("urgent", requests={"cpu": "4"}, priority=9),
            make_pod("huge", requests={"cpu": "9"}),
            make_pod("gated", schedulingGates=[{"name": "wait"}]),
        ],
    )
)
BLOCKS = list(document(SchedulingCluster(CLUSTER).pending(), view_of(CLUSTER)))


def test_pods_of_groups_by_outcome() -> None:
    (chart,) = [block for block in BLOCKS if isinstance(block, Bars)]
    assert sorted(cells(chart)) == [
        ("Job default/work", "3 pods"),
        ("default/gated", "1 pod"),
        ("default/huge", "1 pod"),
        ("default/urgent", "1 pod"),
    ]
    assert parts(chart)["default/urgent"] == ["preemption would help: 1 pod"]
    assert parts(chart)["default/huge"] == ["fits nowhere: 1 pod"]
    assert parts(chart)["default/gated"] == ["not tried: 1 pod"]
    assert parts(chart)["Job default/work"] == ["fits now: 1 pod", "fits nowhere: 2 pods"]


@pytest.mark.parametrize(
    ("changes", "headings"),
    [(0, ("change (none was tried)",)), (3, ("would place", "change (each tried, unless it says otherwise)"))],
)
def test_the_heading_says_whether_changes_were_tried(changes: int, headings: tuple[str, ...]) -> None:
    answer = SchedulingCluster(load_engine("fixtures/shop/cluster")).pending(changes=changes)
    tables = [block for block in document(answer, View()) if isinstance(block, Table)]
    assert tables[-1].headings == headings


def test_pods_that_wait_for_victims_do_not_fit_now() -> None:
    status = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]}
    victim = make_pod("victim", requests={"cpu": "3"}, node="a", terminating=True, status=status)
    urgent = make_pod("urgent", requests={"cpu": "3"}, priority=9, nominated="a")
    small = make_pod("small", priority=9)
    cluster = make_loaded(make_cluster([make_node("a", cpu="5")], [victim, urgent, small]))
    blocks = list(document(SchedulingCluster(cluster).pending(), view_of(cluster)))
    (chart,) = [block for block in blocks if isinstance(block, Bars)]
    assert parts(chart)["default/urgent"] == ["fits once pods have ended: 1 pod"]
    assert parts(chart)["default/small"] == ["fits now: 1 pod"]


def test_the_map_has_all_nodes() -> None:
    (chart,) = [block for block in BLOCKS if isinstance(block, NodeMap)]
    assert [cell.name for cell in chart.cells] == ["a"]
