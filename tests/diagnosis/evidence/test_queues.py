"""The causes for which Kueue holds a job back: queue, Workload or both, with the cure at the object that is wrong."""

from collections.abc import Sequence
from typing import Any

import pytest

from kschedctl.diagnosis.diagnose import diagnose_cluster, diagnose_workload
from kschedctl.diagnosis.evidence.queues import kueue_hold
from kschedctl.objects.core import Namespace
from kschedctl.objects.custom_resources import (
    ClusterQueue,
    JobSet,
    KueueWorkload,
    LocalQueue,
    ResourceFlavor,
    VolcanoPodGroup,
    VolcanoQueue,
)
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.workload import Job
from kschedctl.scheduler.cycle.scheduler import Scheduler
from tests.builders import make_cluster, make_node, make_object, make_pod

SINCE = "2026-11-20T09:00:00Z"
JOB = ("Job", "ml", "train")
LABELS = {"kueue.x-k8s.io/queue-name": "team"}


def condition(kind: str, status: str, message: str = "", reason: str = "") -> dict[str, Any]:
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": SINCE}


def local(*conditions: dict[str, Any], name: str = "team", queue: str = "gpu", stop: str = "") -> LocalQueue:
    spec = {"clusterQueue": queue, "stopPolicy": stop}
    return make_object(LocalQueue, name, namespace="ml", spec=spec, status={"conditions": list(conditions)})


def shared(
    *conditions: dict[str, Any],
    name: str = "gpu",
    flavor: str = "a100",
    stop: str = "",
    namespaces: dict[str, Any] | None = None,
) -> ClusterQueue:
    groups = [{"flavors": [{"name": flavor}]}]
    spec = {"resourceGroups": groups, "stopPolicy": stop, "namespaceSelector": namespaces or {}}
    return make_object(ClusterQueue, name, spec=spec, status={"conditions": list(conditions)})


def workload(
    *conditions: dict[str, Any],
    name: str = "job-train",
    of: str = "train",
    checks: Sequence[dict[str, str]] = (),
    **spec: Any,
) -> KueueWorkload:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": of, "uid": of, "controller": True}
    metadata = {"name": name, "namespace": "ml", "ownerReferences": [owner]}
    fields = {"queueName": "team", "podSets": [{"count": 4}], **spec}
    status = {"conditions": list(conditions), "admissionChecks": list(checks)}
    return make_object(KueueWorkload, name, metadata=metadata, spec=fields, status=status)


STOCKOUT = {"name": "prov", "state": "Retry", "message": "no machines"}
TOO_MUCH = "insufficient quota for cpu in flavor a100, request > maximum capacity (8 > 4)"
NOT_READY = {"conditions": [{"type": "Ready", "status": "False"}]}
FLAVOR = make_object(ResourceFlavor, "a100")
NO_QUOTA = condition(
    "QuotaReserved", "False", "insufficient unused quota for nvidia.com/gpu in flavor a100, 2 more needed"
)


@pytest.mark.parametrize(
    ("objects", "cause", "cure"),
    [
        pytest.param(
            [local(), shared(), FLAVOR, workload(NO_QUOTA)],
            "Kueue holds it in queue team since 2026-11-20 09:00 UTC: insufficient unused quota for nvidia.com/gpu in "
            "flavor a100, 2 more needed",
            "wait until jobs of ClusterQueue gpu end and its quota is free",
            id="no quota",
        ),
        pytest.param(
            [
                local(),
                shared(condition("Active", "False", "references missing ResourceFlavor(s)"), flavor="a10"),
                FLAVOR,
            ],
            "ClusterQueue gpu of Kueue is inactive since 2026-11-20 09:00 UTC: it names ResourceFlavor a10, which does "
            "not exist (a100 exists)",
            "correct ResourceFlavor a10 to a100 in ClusterQueue gpu, or create a10",
            id="a flavor is misnamed",
        ),
        pytest.param(
            [local(), shared(condition("Active", "False", "FlavorNotFound", "FlavorNotFound"), flavor="a10")],
            "ClusterQueue gpu of Kueue is inactive since 2026-11-20 09:00 UTC: it names ResourceFlavor a10, which does "
            "not exist",
            "create ResourceFlavor a10, or correct its name in ClusterQueue gpu",
            id="no flavor at all",
        ),
        pytest.param(
            [local(), shared(condition("Active", "False", "AdmissionCheck prov is not active")), FLAVOR],
            "ClusterQueue gpu of Kueue is inactive since 2026-11-20 09:00 UTC: AdmissionCheck prov is not active",
            "get ClusterQueue gpu active",
            id="inactive for another reason",
        ),
        pytest.param(
            [local(stop="HoldAndDrain"), shared(), FLAVOR, workload(NO_QUOTA)],
            "LocalQueue team of Kueue is stopped (stopPolicy HoldAndDrain)",
            "start LocalQueue team again (stopPolicy None), once the reason for its stop is gone",
            id="stopped",
        ),
        pytest.param(
            [local(name="teams"), shared(), FLAVOR],
            "LocalQueue ml/team of Kueue does not exist; teams may be meant",
            "correct the label kueue.x-k8s.io/queue-name: teams instead of team",
            id="no such queue",
        ),
        pytest.param(
            [local(queue="gpus"), shared(), FLAVOR],
            "LocalQueue team of Kueue belongs to ClusterQueue gpus, which does not exist; gpu may be meant",
            "correct the ClusterQueue of LocalQueue ml/team, or create ClusterQueue gpus",
            id="no such cluster queue",
        ),
        pytest.param(
            [
                local(),
                shared(),
                FLAVOR,
                workload(condition("Evicted", "True", "the maximum time is over"), active=False),
            ],
            "Workload ml/job-train of Kueue is deactivated: the maximum time is over",
            "activate Workload job-train (spec.active true), once the reason is gone",
            id="deactivated",
        ),
        pytest.param(
            [
                local(),
                shared(),
                FLAVOR,
                workload(condition("QuotaReserved", "True"), condition("Admitted", "False", "waits for check prov")),
            ],
            "Kueue has reserved quota for it in queue team, and has not admitted it since 2026-11-20 09:00 UTC: waits "
            "for check prov",
            "complete the admission checks of Workload job-train",
            id="an admission check",
        ),
        pytest.param(
            [local(), shared(), FLAVOR, workload(condition("QuotaReserved", "True"), checks=[STOCKOUT])],
            "Kueue has reserved quota for it in queue team, and admission check prov is Retry: no machines",
            "look why admission check prov does not pass",
            id="an admission check without a condition",
        ),
        pytest.param(
            [local(), shared(), FLAVOR, workload(condition("QuotaReserved", "False", TOO_MUCH))],
            f"Kueue holds it in queue team since 2026-11-20 09:00 UTC: {TOO_MUCH}",
            "raise the quota (nominalQuota or borrowingLimit) of ClusterQueue gpu",
            id="more than the queue can ever have",
        ),
        pytest.param(
            [
                make_object(Namespace, "ml", labels={"team": "vision"}),
                local(),
                shared(namespaces={"matchLabels": {"team": "research"}}),
                FLAVOR,
                workload(condition("QuotaReserved", "False", "Workload namespace doesn't match ClusterQueue selector")),
            ],
            "Kueue holds it in queue team since 2026-11-20 09:00 UTC: Workload namespace doesn't match ClusterQueue "
            "selector",
            "label namespace ml so that ClusterQueue gpu admits its jobs: team=research",
            id="the queue leaves the namespace out",
        ),
        pytest.param(
            [local(), shared(), FLAVOR],
            "Kueue has not admitted it to queue team, and has made no Workload for it: its controller may not run",
            "look whether the controller of Kueue runs",
            id="Kueue does nothing",
        ),
    ],
)
def test_what_holds_a_job(objects: list[ApiObject], cause: str, cure: str) -> None:
    hold = kueue_hold(make_cluster([], [], *objects), LABELS, [JOB], "ml")
    assert hold is not None
    assert (hold.cause, hold.advice[0].summary) == (cause, cure)
    assert not any("suspend" in advice.summary + advice.command for advice in hold.advice)


def test_who_has_the_quota() -> None:
    admitted = workload(condition("QuotaReserved", "True"), condition("Admitted", "True"), name="job-big", of="big")
    hold = kueue_hold(
        make_cluster([], [], local(), shared(), FLAVOR, workload(NO_QUOTA), admitted), LABELS, [JOB], "ml"
    )
    assert hold is not None
    assert hold.evidence == ("ClusterQueue gpu has its quota used by Job ml/big",)


def test_a_job_without_a_queue_is_not_held() -> None:
    assert kueue_hold(make_cluster([], [], local(), shared()), {}, [JOB], "ml") is None


def job(*, suspend: bool = True, labels: dict[str, str] | None = None) -> Job:
    spec = {"suspend": suspend, "parallelism": 4}
    return make_object(Job, "train", namespace="ml", labels=LABELS if labels is None else labels, spec=spec)


def volcano(queue: str) -> VolcanoPodGroup:
    spec = {"minMember": 3, "minResources": {"cpu": "12"}, "queue": queue}
    return make_object(VolcanoPodGroup, "big", namespace="ml", spec=spec, status={"phase": "Pending"})


@pytest.mark.parametrize(
    ("capability", "cause"),
    [
        pytest.param(
            "4", "PodGroup big wants 12 cpu, and its queue small can hold 4 cpu at most (capability)", id="no"
        ),
        pytest.param("40", "Volcano has not let PodGroup big start in queue small", id="enough"),
    ],
)
def test_a_group_that_volcano_holds(capability: str, cause: str) -> None:
    queue = make_object(VolcanoQueue, "small", spec={"capability": {"cpu": capability}})
    found = diagnose_cluster(Scheduler(make_cluster([make_node()], [], queue, volcano("small"))))
    assert [each.cause for each in found] == [cause]


def test_a_job_suspended_by_hand_is_explained_but_no_problem() -> None:
    scheduler = Scheduler(make_cluster([make_node()], [], job(labels={})))
    assert diagnose_cluster(scheduler) == ()
    own = diagnose_workload(scheduler, JOB)
    assert own is not None
    assert own.advice[0].summary.startswith("resume Job ml/train (suspend: false)")


def test_the_controller_of_kueue_crashes() -> None:
    pod = make_pod("kueue-controller-manager-0", node="n", namespace="kueue-system", status=NOT_READY)
    cluster = make_cluster([make_node("n")], [pod], local(), shared(), FLAVOR, job())
    hold = diagnose_workload(Scheduler(cluster), JOB)
    assert hold is not None
    assert hold.cause.endswith("Workload for it: Pod kueue-system/kueue-controller-manager-0 is not ready")


@pytest.mark.parametrize(
    ("objects", "told"),
    [
        pytest.param(
            [volcano("small")],
            "PodGroup ml/big has no pods yet; 3 pods must start together",
            id="a PodGroup that Volcano does not let in",
        ),
        pytest.param([job(), workload(NO_QUOTA)], "Job ml/train is suspended, without its 4 pods", id="a job"),
        pytest.param([job()], "Job ml/train is suspended, without its 4 pods", id="no Workload yet"),
        pytest.param([workload(NO_QUOTA)], "Job ml/train is suspended, without its 4 pods", id="the job is not read"),
        pytest.param(
            [make_object(JobSet, "set", namespace="ml", labels=LABELS, spec={"suspend": True})],
            "JobSet ml/set is suspended",
            id="a JobSet",
        ),
        pytest.param(
            [job(labels={})], "Job ml/train is suspended, without its 4 pods", id="no label, where there are queues"
        ),
        pytest.param([job(suspend=False), workload(condition("Admitted", "True"))], None, id="admitted"),
        pytest.param([workload(condition("Finished", "True"))], None, id="finished"),
    ],
)
def test_problems_of_the_cluster(objects: list[ApiObject], told: str | None) -> None:
    scheduler = Scheduler(make_cluster([make_node()], [], local(), shared(), FLAVOR, *objects))
    found = [f"{each.subject} {each.state}" for each in diagnose_cluster(scheduler)]
    assert found == ([told] if told else [])
    own = diagnose_workload(scheduler, JOB)
    assert (own is not None) == (told is not None and told.startswith("Job ml/train"))
