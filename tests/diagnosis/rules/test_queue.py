"""Pods whose turn has not come: an old pod or victims come first, or no scheduler runs."""

from typing import Any

import msgspec
import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.diagnosis.why.search import suggest
from kschedctl.objects.coordination import Lease
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import Deployment, ReplicaSet
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.scheduler import Scheduler
from tests.builders import (
    decide,
    make_claim,
    make_cluster,
    make_event,
    make_node,
    make_object,
    make_pod,
    make_storage_class,
)
from tests.diagnosis.rules.cures import cures

FIRST = "maxSurge 0 and maxUnavailable 1 for Deployment default/web, so that an old pod leaves first (untried)"


def replica_set(name: str, revision: int) -> ReplicaSet:
    annotations = {"deployment.kubernetes.io/revision": str(revision)}
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "web", "controller": True}
    metadata = {"name": name, "namespace": "default", "annotations": annotations, "ownerReferences": [owner]}
    return make_object(ReplicaSet, name, metadata=metadata)


def decision(strategy: dict[str, Any], *, replicas: int = 2, of: str = "new", cpu: str = "3") -> Decision:
    """Two nodes of 4 CPU, each with an old pod of 3 CPU, and a pod that waits."""
    deployment = make_object(Deployment, "web", namespace="default", spec={"replicas": replicas, "strategy": strategy})
    old = [
        make_pod(f"old-{node}", node=node, requests={"cpu": "3"}, owner=("apps/v1", "ReplicaSet", "old"))
        for node in "ab"
    ]
    cluster = make_cluster(
        [make_node("a", cpu="4"), make_node("b", cpu="4")],
        old,
        deployment,
        replica_set("old", 1),
        replica_set("new", 2),
    )
    return decide(make_pod("new-1", requests={"cpu": cpu}, owner=("apps/v1", "ReplicaSet", of)), cluster)


def test_old_pods_keep_their_places() -> None:
    found = decision({"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})
    (first,) = diagnose(found)
    assert first.cause == (
        "no node has 3 cpu free: the most is 1, on a; the old pods of Deployment default/web keep their places until "
        "a new one is ready (maxUnavailable 0)"
    )
    assert first.evidence[0] == "the pod fits on a without the old pod there"
    assert cures(found)[0] == FIRST


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"strategy": {}}, True, id="25 % of 2 replicas is none"),
        pytest.param({"strategy": {}, "replicas": 4}, False, id="25 % of 4 replicas is one"),
        pytest.param({"strategy": {"type": "Recreate"}}, False, id="old pods are stopped first"),
        pytest.param({"strategy": {}, "of": "old"}, False, id="a pod of the old revision"),
        pytest.param({"strategy": {}, "cpu": "5"}, False, id="no place of an old pod is large enough"),
    ],
)
def test_when_it_is_the_update(fields: dict[str, Any], expected: bool) -> None:
    assert (FIRST in cures(decision(**fields))) == expected


EARLY, LATE = "2026-11-20T09:00:00Z", "2026-11-20T10:00:00Z"
FITS = [make_node("a"), make_node("b")]


def dated(pod: Pod, **metadata: Any) -> Pod:
    plain: dict[str, Any] = msgspec.to_builtins(pod)
    return msgspec.convert({**plain, "metadata": {**plain["metadata"], **metadata}}, Pod)


def lease(name: str, renewed: str = LATE) -> Lease:
    spec = {"holderIdentity": "x", "leaseDurationSeconds": 15, "renewTime": renewed}
    return make_object(Lease, name, namespace="kube-system", spec=spec)


def of(name: str) -> Pod:
    return make_pod("job", schedulerName=name)


NOT_READY = {"conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": EARLY}]}


@pytest.mark.parametrize(
    ("name", "others", "cause", "cures"),
    [
        pytest.param(
            "volcano",
            [],
            "its schedulerName is volcano, and no such scheduler runs here (no pod or Lease of that name)",
            [
                "remove schedulerName volcano, so that default-scheduler schedules the pod",
                "install or start the scheduler volcano",
            ],
            id="nobody",
        ),
        pytest.param(
            "defualt-scheduler",
            [],
            "its schedulerName is defualt-scheduler, and no such scheduler runs here; did you mean default-scheduler?",
            ["correct schedulerName: default-scheduler instead of defualt-scheduler"],
            id="a typo",
        ),
        pytest.param(
            "kube-scheduler",
            [lease("kube-scheduler"), make_pod("kube-scheduler-cp-1", namespace="kube-system", node="a")],
            "its schedulerName is kube-scheduler, and no such scheduler runs here; did you mean default-scheduler?",
            ["correct schedulerName: default-scheduler instead of kube-scheduler"],
            id="the name of the program",
        ),
        pytest.param(
            "my-scheduler",
            [],
            "its schedulerName is my-scheduler, and no such scheduler runs here (no pod or Lease of that name)",
            [
                "remove schedulerName my-scheduler, so that default-scheduler schedules the pod",
                "install or start the scheduler my-scheduler",
            ],
            id="a common ending is no similarity",
        ),
        pytest.param(
            "volcano",
            [make_pod("volcano-scheduler-7f", namespace="volcano-system", node="a")],
            "its schedulerName is volcano, a scheduler that runs here (Pod volcano-system/volcano-scheduler-7f); the "
            "snapshot has no condition or Event of it that says why the pod waits",
            [],
            id="it runs",
        ),
        pytest.param(
            "volcano",
            [
                make_pod("volcano-scheduler-7f", namespace="volcano-system", node="a"),
                make_pod("job", schedulerName="volcano"),
                make_event("Pod", "job", "queue is full", "volcano", reason="Unschedulable"),
            ],
            "its schedulerName is volcano, a scheduler that runs here (Pod volcano-system/volcano-scheduler-7f); "
            "volcano (Unschedulable, at 2026-11-20 10:00 UTC): queue is full",
            [],
            id="it runs, and says why",
        ),
        pytest.param(
            "volcano",
            [make_pod("volcano-scheduler-7f", namespace="volcano-system", node="a", status=NOT_READY)],
            "its schedulerName is volcano, and that scheduler is not working: Pod volcano-system/volcano-scheduler-7f "
            "is not ready since 2026-11-20 09:00 UTC",
            ["repair or start the scheduler volcano"],
            id="its pod is not ready",
        ),
        pytest.param(
            "packing",
            [make_pod("other", node="a", schedulerName="packing")],
            "its schedulerName is packing, a scheduler that runs here (it placed default/other); the snapshot has no "
            "condition or Event of it that says why the pod waits",
            [],
            id="it has placed a pod",
        ),
        pytest.param(
            "volcano",
            [make_pod("volcano-job-1", node="", schedulerName="volcano")],
            "its schedulerName is volcano, and no such scheduler runs here (no pod or Lease of that name)",
            [
                "remove schedulerName volcano, so that default-scheduler schedules the pod",
                "install or start the scheduler volcano",
            ],
            id="another pending pod of the same name is no scheduler",
        ),
    ],
)
def test_other_schedulers(name: str, others: list[ApiObject], cause: str, cures: list[str]) -> None:
    scheduler = Scheduler(make_cluster(FITS, (), *others))
    decision = scheduler.decide_for_other_scheduler(of(name))
    (found,) = diagnose(decision)
    assert found.cause == cause
    assert [one.summary for one in suggest(decision).ranked] == cures


def test_the_words_of_its_condition_come_before_an_event() -> None:
    said = {"type": "PodScheduled", "status": "False", "message": "3 nodes\nare full", "lastTransitionTime": EARLY}
    pod = make_pod(schedulerName="volcano", status={"conditions": [said]})
    cluster = make_cluster(
        FITS, [pod], make_pod("volcano-scheduler-7f", node="a"), make_event("Pod", "pod", "x", "volcano")
    )
    (found,) = diagnose(Scheduler(cluster).decide_for_other_scheduler(pod))
    assert found.cause.endswith("; it says since 2026-11-20 09:00 UTC: 3 nodes are full")


def test_a_pod_that_would_not_fit_anyway_is_not_promised_a_node() -> None:
    scheduler = Scheduler(make_cluster(FITS))
    decision = scheduler.decide_for_other_scheduler(make_pod(requests={"cpu": "9"}, schedulerName="volcano"))
    assert not decision.schedulable
    assert "with default-scheduler, it would fit on none of 2 nodes" in diagnose(decision)[0].evidence
    assert [one.summary for one in suggest(decision).ranked] == ["install or start the scheduler volcano"]


@pytest.mark.parametrize(
    ("renewed", "cause"),
    [(EARLY, ["kube-scheduler's Lease was last renewed 1 h before the snapshot: no scheduler is running"]), (LATE, [])],
)
def test_no_scheduler_runs(renewed: str, cause: list[str]) -> None:
    pod = dated(make_pod(), creationTimestamp=LATE)
    decision = decide(pod, make_cluster(FITS, [pod], lease("kube-scheduler", renewed)))
    assert [one.cause for one in diagnose(decision)] == cause


NOT_TRIED = "kube-scheduler (x leads) {}, although it looks again within 5 minutes"
UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes"}


@pytest.mark.parametrize(
    ("created", "conditions", "attempt", "said"),
    [
        pytest.param(EARLY, [], "", "has not tried it since it was created 1 h ago", id="never"),
        pytest.param(
            EARLY,
            [{**UNSCHEDULABLE, "lastTransitionTime": "2026-11-20T09:10:00Z"}],
            "",
            "is not known to have tried it for 50 min",
            id="long ago",
        ),
        pytest.param(
            EARLY,
            [{**UNSCHEDULABLE, "lastTransitionTime": "2026-11-20T09:10:00Z"}],
            "2026-11-20T09:57:00Z",
            "",
            id="its Event is new",
        ),
        pytest.param("2026-11-20T09:56:00Z", [], "", "", id="the pod is new"),
    ],
)
def test_a_pod_that_fits_and_is_not_tried(created: str, conditions: list[Any], attempt: str, said: str) -> None:
    pod = dated(make_pod(status={"conditions": conditions}), creationTimestamp=created)
    clock = dated(make_pod("clock", node="a"), creationTimestamp=LATE)
    event = make_event("Pod", "pod", "0/2 nodes", "default-scheduler", reason="FailedScheduling", seen=attempt or EARLY)
    other = make_event("Node", "b", "disk is full")
    cluster = make_cluster(FITS, [pod, clock], lease("kube-scheduler", LATE), event if attempt else other)
    causes = [one.cause for one in diagnose(decide(pod, cluster))]
    assert causes == ([NOT_TRIED.format(said)] if said else [])
    # A what-if, or a step of a simulation, has just made it fit.
    assert not diagnose(decide(pod, cluster.with_nodes(cluster.nodes.objects)))


def test_a_pod_whose_volume_is_being_created_waits_for_no_scheduler() -> None:
    selected = make_claim(annotations={"volume.kubernetes.io/selected-node": "a"})
    volumes = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
    pod = dated(make_pod(volumes=volumes), creationTimestamp=EARLY)
    clock = dated(make_pod("clock", node="a"), creationTimestamp=LATE)
    others = (lease("kube-scheduler", LATE), make_event("Node", "b", "disk is full"), selected, make_storage_class())
    found = diagnose(decide(pod, make_cluster(FITS, [pod, clock], *others)))
    assert [one.rule for one in found] == ["claim-not-provisioned"]


def test_a_pod_of_a_manifest_waits_for_no_scheduler() -> None:
    clock = dated(make_pod("clock", node="a"), creationTimestamp=LATE)
    decision = decide(make_pod(), make_cluster(FITS, [clock], lease("kube-scheduler", EARLY)))
    assert diagnose(decision) == ()


@pytest.mark.parametrize(
    ("ends", "when", "cure"),
    [
        ("2026-11-20T10:00:30Z", ", until 10:00:30 UTC at the latest", "wait until default/old has ended on a"),
        (
            "2026-11-20T09:50:00Z",
            ", overdue by 10 min",
            "find out why default/old does not end on a: its kubelet, or a finalizer",
        ),
    ],
)
def test_victims_that_are_still_ending(ends: str, when: str, cure: str) -> None:
    evicted = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    running = make_pod("old", node="a", requests={"cpu": "4"}, status={"conditions": [evicted]})
    victim = dated(running, deletionTimestamp=ends)
    pod = dated(make_pod(requests={"cpu": "4"}, priority=9, nominated="a"), creationTimestamp=LATE)
    decision = decide(pod, make_cluster([make_node("a")], [victim, pod]))
    (found,) = diagnose(decision)
    assert found.cause == (f"preemption chose a for it, and default/old, evicted for it, is still ending there{when}")
    assert [one.summary for one in found.advice] == [cure]


RIVAL = make_pod("packing-scheduler-7f-2", namespace="kube-system", node="cp")


def contested(
    *others: ApiObject, name: str = "packing-scheduler", owner: bool = True, pending: Pod | None = None
) -> Decision:
    """A full node with a pod of another scheduler, and a pod of higher priority that evicts it."""
    of = ("apps/v1", "ReplicaSet", "scan") if owner else None
    victim = make_pod("scan-1", node="a", requests={"cpu": "4"}, schedulerName=name, owner=of)
    pods = [victim, *(each for each in others if isinstance(each, Pod)), *([pending] if pending is not None else [])]
    objects = [each for each in others if not isinstance(each, Pod)]
    cluster = make_cluster([make_node("a", cpu="4"), make_node("cp", cpu="1")], pods, *objects)
    return decide(make_pod("big", requests={"cpu": "4"}, priority=9), cluster)


CAN_PUT = "does not know of the nomination and can put the new pod for default/scan-1 on the same node first"


@pytest.mark.parametrize(
    ("found", "cause"),
    [
        (contested(RIVAL), f"packing-scheduler (Pod kube-system/packing-scheduler-7f-2) {CAN_PUT}"),
        (contested(lease("packing-scheduler")), f"packing-scheduler (Lease kube-system/packing-scheduler) {CAN_PUT}"),
        (contested(RIVAL, name="default-scheduler"), ""),
        (contested(), ""),
        (contested(RIVAL, owner=False), ""),
        (
            contested(RIVAL, owner=False, pending=make_pod("scan-2", schedulerName="packing-scheduler")),
            "packing-scheduler (Pod kube-system/packing-scheduler-7f-2) does not know of the nomination and can put "
            "its pending default/scan-2 on the same node first",
        ),
        (
            contested(
                RIVAL,
                owner=False,
                pending=make_pod("scan-2", schedulerName="packing-scheduler", nodeSelector={"disk": "nvme"}),
            ),
            "",
        ),
    ],
    ids=[
        "its pod",
        "its Lease",
        "one scheduler",
        "perhaps a profile",
        "nothing recreated",
        "a pending pod",
        "elsewhere",
    ],
)
def test_two_schedulers_on_one_node(found: Decision, cause: str) -> None:
    told = [each for each in diagnose(found) if each.rule == "two-schedulers"]
    assert [each.cause for each in told] == ([cause] if cause else [])
    # To wait is no cure if the place is taken again.
    assert ("wait: preemption evicts default/scan-1 from a" in cures(found)) == (not cause)
    if cause:
        assert cures(found)[:2] == [
            "give packing-scheduler separate nodes: a taint or label for the pods of each scheduler (untried)",
            "make packing-scheduler a profile of the same kube-scheduler as default-scheduler: profiles of one "
            "scheduler respect nominations (untried)",
        ]
