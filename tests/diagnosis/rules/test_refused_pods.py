"""Workloads whose pods an API server refuses: by quota, by limits, by classes, by webhooks."""

from typing import Any

import msgspec
import pytest

from kschedctl.diagnosis.diagnose import diagnose_cluster
from kschedctl.diagnosis.diagnosis import ClusterDiagnosis
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.policies import LimitRange, PriorityClass, ResourceQuota
from kschedctl.objects.workload import DaemonSet, Deployment, Job, ReplicaSet, StatefulSet
from kschedctl.scheduler.cycle.scheduler import Scheduler
from tests.builders import make_cluster, make_container, make_event, make_node, make_object

SINCE = "2026-11-20T08:03:55Z"
FULL = "exceeded quota: compute, requested: requests.cpu=1, used: requests.cpu=4, limited: requests.cpu=4"
SELECTOR = {"matchLabels": {"app": "web"}}


def template(requests: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    containers = [make_container(requests=requests or {"cpu": "1"})]
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers, **spec}}


def refused(message: str) -> dict[str, Any]:
    known = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "lastTransitionTime": SINCE}
    return {"conditions": [{**known, "message": message}]}


def replica_set(message: str = "", *, wants: int = 6, has: int = 4, **own: Any) -> ReplicaSet:
    status = {"replicas": has, **(refused(message) if message else {})}
    spec = {"replicas": wants, "selector": SELECTOR, "template": template(**own)}
    return make_object(ReplicaSet, "web", namespace="shop", spec=spec, status=status)


def unreported() -> ReplicaSet:
    spec = {"replicas": 2, "selector": SELECTOR, "template": template()}
    return make_object(ReplicaSet, "web", namespace="shop", spec=spec)


def quota(hard: str = "4", used: str = "4", resource: str = "requests.cpu", name: str = "compute") -> ResourceQuota:
    status = {"hard": {resource: hard}, "used": {resource: used}}
    return make_object(ResourceQuota, name, namespace="shop", spec={"hard": {resource: hard}}, status=status)


def forbidden(reason: str) -> str:
    return f'pods "web-" is forbidden: {reason}'


def found(*objects: ApiObject) -> list[ClusterDiagnosis]:
    return list(diagnose_cluster(Scheduler(make_cluster([make_node("a")], (), *objects))))


SCC = "unable to validate against any security context constraint"


@pytest.mark.parametrize(
    ("objects", "state", "cause", "cures"),
    [
        pytest.param(
            [replica_set(forbidden(FULL)), quota()],
            "has 4 of 6 replicas",
            "quota compute refuses the rest since 2026-11-20 08:03 UTC: requests.cpu 4 of 4 used, 1 more asked for",
            [
                "raise requests.cpu of quota compute to 6, for all 6 pods",
                "lower the cpu request from 1 to 0.666 in the pods of web, so that 6 fit the quota",
            ],
            id="quota",
        ),
        pytest.param(
            [replica_set(forbidden(FULL))],
            "has 4 of 6 replicas",
            "quota compute refuses the rest since 2026-11-20 08:03 UTC: requests.cpu 4 of 4 used, 1 more asked for",
            ["raise requests.cpu of quota compute to 6, for all 6 pods"],
            id="a quota that the snapshot does not have",
        ),
        pytest.param(
            [replica_set(forbidden(FULL)), quota(hard="5")],
            "has 4 of 6 replicas",
            "quota compute refused the rest since 2026-11-20 08:03 UTC (requests.cpu 4 of 4 used, 1 more asked for), "
            "and has room now",
            [
                "wait: the controller tries again within 17 min, and the quota has room now",
                "raise requests.cpu of quota compute to 6, for all 6 pods",
            ],
            id="a quota that was raised, but not enough",
        ),
        pytest.param(
            [unreported(), quota(hard="0", used="0", resource="count/pods")],
            None,
            None,
            [],
            id="without a condition and without pods nothing is known",
        ),
        pytest.param(
            [replica_set(has=1, wants=3), quota(hard="1", used="1", resource="pods", name="few")],
            "has 1 of 3 replicas",
            "quota few refuses the rest: pods 1 of 1 used, 1 more asked for",
            ["raise pods of quota few to 3, for all 3 pods"],
            id="no condition, the quota is full: requests do not matter",
        ),
        pytest.param(
            [replica_set(has=4, wants=6), quota(hard="8")], None, None, [], id="no condition, and the quota has room"
        ),
        pytest.param([replica_set(has=6, wants=6), quota()], None, None, [], id="all pods are there"),
        pytest.param(
            [replica_set(forbidden("failed quota: compute: must specify limits.cpu for: app"), has=0)],
            "has 0 of 6 replicas",
            "quota compute refuses pods that do not specify limits.cpu for: app (since 2026-11-20 08:03 UTC)",
            [
                "specify limits.cpu for: app in the pod template",
                "give namespace shop a LimitRange with default requests and limits",
            ],
            id="a quota that wants limits",
        ),
        pytest.param(
            [replica_set(forbidden("maximum cpu usage per Container is 500m, but request is 1"), has=0)],
            "has 0 of 6 replicas",
            "a LimitRange of shop refuses its pods: maximum cpu usage per Container is 500m, but request is 1 "
            "(since 2026-11-20 08:03 UTC)",
            [
                "request within the LimitRange of shop: maximum cpu usage per Container is 500m, but request is 1",
                "change the LimitRange of shop",
            ],
            id="LimitRange",
        ),
        pytest.param(
            [
                replica_set(
                    forbidden('error looking up service account shop/bot: serviceaccount "bot" not found'), has=0
                )
            ],
            "has 0 of 6 replicas",
            "the ServiceAccount shop/bot of its pods does not exist (since 2026-11-20 08:03 UTC)",
            ["create ServiceAccount shop/bot, or correct serviceAccountName"],
            id="ServiceAccount",
        ),
        pytest.param(
            [replica_set(forbidden("no PriorityClass with name hihg was found"), has=0)],
            "has 0 of 6 replicas",
            "the PriorityClass hihg of its pods does not exist (since 2026-11-20 08:03 UTC)",
            ["create PriorityClass hihg, or correct priorityClassName"],
            id="PriorityClass",
        ),
        pytest.param(
            [
                replica_set(
                    'Internal error occurred: failed calling webhook "check.example.com": failed to call webhook: '
                    'Post "https://check.policy.svc:443": no endpoints available for service "check"',
                    has=0,
                )
            ],
            "has 0 of 6 replicas",
            "the admission webhook check.example.com cannot be reached, and its failurePolicy is Fail: failed to call "
            'webhook: Post "https://check.policy.svc:443": no endpoints available for service "check" '
            "(since 2026-11-20 08:03 UTC)",
            [
                "repair the service of admission webhook check.example.com",
                "exempt namespace shop from webhook check.example.com (namespaceSelector), or set its failurePolicy "
                "to Ignore",
            ],
            id="a webhook that nobody answers",
        ),
        pytest.param(
            [replica_set('admission webhook "check.example.com" denied the request: no label team', has=0)],
            "has 0 of 6 replicas",
            "the admission webhook check.example.com refuses its pods: no label team (since 2026-11-20 08:03 UTC)",
            ["change the pod template as webhook check.example.com requires: no label team"],
            id="a webhook that refuses",
        ),
        pytest.param(
            [replica_set(forbidden('violates PodSecurity "restricted:latest": runAsNonRoot != true'), has=0)],
            "has 0 of 6 replicas",
            "namespace shop enforces PodSecurity restricted:latest, which its pods violate: runAsNonRoot != true "
            "(since 2026-11-20 08:03 UTC)",
            [
                "give the pod template the security context that restricted:latest requires",
                "lower the PodSecurity level of namespace shop",
            ],
            id="PodSecurity",
        ),
        pytest.param(
            [replica_set("something new", has=0)],
            "has 0 of 6 replicas",
            "an API server refuses its pods: something new (since 2026-11-20 08:03 UTC)",
            ["correct what the refusal names: something new"],
            id="any other message",
        ),
        pytest.param(
            [replica_set(forbidden(f"{SCC}: [runAsUser: 0]"), has=0)],
            "has 0 of 6 replicas",
            "no SecurityContextConstraints that its service account may use admit its pods: runAsUser: 0 "
            "(since 2026-11-20 08:03 UTC)",
            [
                "give the pod template a security context that restricted-v2 admits: no fixed user, group or privilege",
                "if its program needs them, allow the service account of its pods to use a constraint that has them",
            ],
            id="security context constraints of OpenShift",
        ),
    ],
)
def test_replica_sets(objects: list[ApiObject], state: str | None, cause: str | None, cures: list[str]) -> None:
    diagnoses = found(*objects)
    assert [(one.state, one.cause) for one in diagnoses] == ([(state, cause)] if state else [])
    assert [advice.summary for one in diagnoses for advice in one.advice] == cures


def owned(obj: ReplicaSet) -> ReplicaSet:
    metadata = {"name": obj.name, "namespace": obj.namespace}
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "front", "controller": True}
    plain = msgspec.to_builtins(obj)
    return msgspec.convert({**plain, "metadata": {**metadata, "ownerReferences": [owner]}}, ReplicaSet)


@pytest.mark.parametrize(("replicas", "state"), [(6, "has 4 of 6 replicas"), (9, "has 4 of 6 new pods of its rollout")])
def test_the_deployment_is_named(replicas: int, state: str) -> None:
    deployment = make_object(Deployment, "front", namespace="shop", spec={"replicas": replicas})
    (one,) = found(deployment, owned(replica_set(forbidden(FULL))), quota())
    assert (one.subject, one.state, one.missing) == ("Deployment shop/front", state, 2)


def test_what_the_missing_pods_would_find_is_told() -> None:
    (one,) = found(replica_set(forbidden(FULL)), quota())
    assert one.evidence[0] == "once admitted, the 2 missing pods would fit on the nodes"
    (one,) = found(replica_set(forbidden(FULL), requests={"cpu": "3"}), quota())
    assert one.evidence[0] == "once admitted, 1 of the 2 missing pods would fit on the nodes"


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(
            make_object(
                StatefulSet,
                "web",
                namespace="shop",
                spec={"replicas": 3, "selector": SELECTOR, "template": template()},
                status={"replicas": 1},
            ),
            id="StatefulSet",
        ),
        pytest.param(
            make_object(
                Job,
                "web",
                namespace="shop",
                spec={"parallelism": 3, "completions": 9, "template": template(restartPolicy="Never")},
                status={"active": 1, "startTime": SINCE},
            ),
            id="Job",
        ),
        pytest.param(
            make_object(
                DaemonSet,
                "web",
                namespace="shop",
                spec={"selector": SELECTOR, "template": template()},
                status={"currentNumberScheduled": 1, "desiredNumberScheduled": 3},
            ),
            id="DaemonSet",
        ),
    ],
)
def test_kinds_without_a_condition(obj: ApiObject) -> None:
    (one,) = found(obj, quota())
    assert one.cause == "quota compute refuses the rest: requests.cpu 4 of 4 used, 1 more asked for"
    assert one.missing == 2
    assert found(obj, quota(hard="9")) == []


SCOPES = "insufficient quota to match these scopes: [{PriorityClass In [system-cluster-critical]}]"


@pytest.mark.parametrize("kind", [StatefulSet, DaemonSet, Job, ReplicaSet])
def test_an_event_of_the_controller_says_why(kind: type[Any]) -> None:
    """Only ReplicaSets have a condition; the newest Event stands for it, and other Events do not."""
    spec = {"replicas": 3, "parallelism": 3, "selector": SELECTOR, "template": template()}
    numbers = {"currentNumberScheduled": 1, "desiredNumberScheduled": 3}
    counts = {"replicas": 1, "active": 1, "startTime": SINCE} if kind is not DaemonSet else numbers
    obj = make_object(kind, "web", namespace="shop", spec=spec, status=counts)
    event = make_event(
        kind.__name__, "web", f"Error creating: {SCOPES}", "controller", reason="FailedCreate", namespace="shop"
    )
    (one,) = found(obj, event)
    assert one.cause == (
        "no quota of shop matches the scopes that pods of this priority require: PriorityClass In "
        "[system-cluster-critical]"
    )
    assert [each.summary for each in one.advice] == [
        "create a ResourceQuota in shop with scopes PriorityClass In [system-cluster-critical], as the namespaces of "
        "such pods have",
        "another priorityClassName in the pod template, or none",
    ]
    other = make_event(kind.__name__, "web", "x", "controller", reason="FailedDelete", namespace="shop")
    assert found(obj, other) == []


def test_a_quota_for_pods_without_requests() -> None:
    """Pods with requests are outside of its scope, which is better than a quota that is raised."""
    hard, template = {"pods": "0"}, {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [make_container()]}}
    spec, status = {"hard": hard, "scopes": ["BestEffort"]}, {"hard": hard, "used": {"pods": "0"}}
    scoped = make_object(ResourceQuota, "none", namespace="shop", spec=spec, status=status)
    owner = make_object(
        ReplicaSet,
        "web",
        namespace="shop",
        spec={"replicas": 2, "selector": SELECTOR, "template": template},
        status={"replicas": 0},
    )
    (one,) = found(scoped, owner)
    assert [advice.summary for advice in one.advice] == [
        "give the pods of web requests: quota none counts only pods without any (scope BestEffort)",
        "raise pods of quota none to 2, for all 2 pods",
    ]


def test_limits_and_classes_are_computed() -> None:
    status = {"replicas": 1}
    spec = {"replicas": 3, "selector": SELECTOR, "template": template()}
    obj = make_object(StatefulSet, "web", namespace="shop", spec=spec, status=status)
    limits = {"limits": [{"type": "Container", "min": {"cpu": "2"}}]}
    (one,) = found(obj, make_object(LimitRange, "small", namespace="shop", spec=limits))
    assert one.rule == "refused-by-limit-range"
    limits = {"limits": [{"type": "Container", "default": {"cpu": "500m"}}]}
    (one,) = found(obj, make_object(LimitRange, "small", namespace="shop", spec=limits))
    assert one.cause.startswith("its pods request 1 cpu and have a limit of 500m")
    (one,) = found(obj, quota(hard="8Gi", used="0", resource="limits.memory"))
    assert one.rule == "refused-without-request"
    spec = {**spec, "template": template(priorityClassName="hihg")}
    obj = make_object(StatefulSet, "web", namespace="shop", spec=spec, status=status)
    (one,) = found(obj, make_object(PriorityClass, "high", value=1000))
    assert one.cause == "the PriorityClass hihg of its pods does not exist"


@pytest.mark.parametrize(
    "status",
    [
        pytest.param({"active": 1}, id="not started by the controller"),
        pytest.param(
            {"active": 1, "startTime": SINCE, "conditions": [{"type": "Failed", "status": "True"}]}, id="failed"
        ),
        pytest.param({"active": 1, "succeeded": 8, "startTime": SINCE}, id="only one completion is left"),
    ],
)
def test_jobs_that_lack_nothing(status: dict[str, Any]) -> None:
    spec = {"parallelism": 3, "completions": 9, "template": template(restartPolicy="Never")}
    assert found(make_object(Job, "web", namespace="shop", spec=spec, status=status), quota()) == []


def test_a_quota_is_raised_for_all_workloads_that_it_refuses() -> None:
    spec = {"replicas": 3, "selector": SELECTOR, "template": template()}
    other = make_object(StatefulSet, "db", namespace="shop", spec=spec, status={"replicas": 0})
    raised = [one.advice[0].summary for one in found(replica_set(forbidden(FULL)), other, quota())]
    assert raised == ["raise requests.cpu of quota compute to 9, for the missing pods of all workloads"] * 2
