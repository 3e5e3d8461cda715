"""Blocked drains: the cause in the first line, and the changes with which the drain finishes."""

from typing import Any

import pytest
from msgspec.structs import replace

from kschedctl.objects.custom_resources import HorizontalPodAutoscaler
from kschedctl.objects.meta import OwnerReference
from kschedctl.objects.workload import Deployment, PodDisruptionBudget, StatefulSet
from kschedctl.questions.drain.analysis import drain
from kschedctl.questions.drain.answer import Drained
from kschedctl.questions.drain.request import DrainRequest
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from tests.builders import make_claim, make_cluster, make_loaded, make_node, make_object, make_pod, make_volume

RUNS = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
BROKEN = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
SCRATCH = [{"name": "scratch", "emptyDir": {}}]
DISK = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]


def pdb(name: str = "web", app: str = "web", healthy: int = 1, desired: int = 1, **spec: Any) -> PodDisruptionBudget:
    status = {
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "disruptionsAllowed": max(healthy - desired, 0),
        "expectedPods": healthy,
    }
    own = {"selector": {"matchLabels": {"app": app}}, **spec}
    return make_object(PodDisruptionBudget, name, namespace="default", spec=own, status=status)


def replica(name: str, i: int, node: str, owner: tuple[str, str, str], **pod: Any) -> Any:
    labels = {"app": name, "pod-template-hash": "1", **pod.pop("labels", {})}
    return make_pod(f"{name}-1-{i}", node=node, labels=labels, owner=owner, **{"status": RUNS, **pod})


def deployment(nodes: list[str], name: str = "web", cpu: str = "1", **pod: Any) -> list[Any]:
    """Return a Deployment and a pod of it on each of some nodes."""
    container = {"name": "c", "image": "a:1", "resources": {"requests": {"cpu": cpu}}}
    volumes = {"volumes": pod["volumes"]} if "volumes" in pod else {}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container], **volumes}}
    own = {"replicas": len(nodes), "selector": {"matchLabels": {"app": name}}, "template": template}
    owner = ("apps/v1", "ReplicaSet", f"{name}-1")
    pods = [replica(name, i, node, owner, requests={"cpu": cpu}, **pod) for i, node in enumerate(nodes)]
    return [make_object(Deployment, name, namespace="default", spec=own), *pods]


def stateful_set(nodes: list[str], name: str = "db", **pod: Any) -> list[Any]:
    own = {"replicas": len(nodes), "selector": {"matchLabels": {"app": name}}, "serviceName": name}
    owner = ("apps/v1", "StatefulSet", name)
    pods = [
        make_pod(f"{name}-{i}", node=node, labels={"app": name}, owner=owner, **{"status": RUNS, **pod})
        for i, node in enumerate(nodes)
    ]
    return [make_object(StatefulSet, name, namespace="default", spec=own), *pods]


def ask(*objects: Any, nodes: int = 3, cpu: str = "4", names: tuple[str, ...] = ("a",), **options: Any) -> Drained:
    pods = [each for each in objects if type(each).__name__ == "Pod"]
    others = [each for each in objects if type(each).__name__ != "Pod"]
    cluster = make_cluster([make_node("abcdef"[i], cpu=cpu) for i in range(nodes)], pods, *others)
    first = options.pop("place_pending_first", False)
    request = DrainRequest(nodes=names, **options, place_pending_first=first)
    return drain(make_loaded(cluster), request, AnalysisHandle())


def flat(case: tuple[Any, ...]) -> list[Any]:
    return [obj for each in case for obj in (each if isinstance(each, list) else [each])]


WEB, DB = ("apps/v1", "ReplicaSet", "web-1"), ("apps/v1", "StatefulSet", "db")
PULLING = {
    "phase": "Pending",
    "conditions": [{"type": "Ready", "status": "False"}],
    "containerStatuses": [{"name": "c", "state": {"waiting": {"reason": "ImagePullBackOff"}}}],
}


def owned(budget: PodDisruptionBudget) -> PodDisruptionBudget:
    owner = OwnerReference(kind="Cluster", name="pg", controller=True)
    return replace(budget, metadata=replace(budget.metadata, owner_references=(owner,)))


SCALE, RESTART, LIMIT = "scale Deployment web to", "kubectl rollout restart of", "set maxUnavailable: 1 in budget"
BUSY = [make_pod(name, node=name, requests={"cpu": "2"}) for name in "bc"]


@pytest.mark.parametrize(
    ("case", "cause", "changes"),
    [
        pytest.param(
            (deployment(["a"]), pdb(minAvailable=1)),
            "budget default/web wants 1 healthy pod and Deployment web has one replica, so no eviction is ever allowed",
            [f"{SCALE} 2", RESTART, LIMIT],
            id="one replica",
        ),
        pytest.param(
            (deployment(["a", "b"]), pdb(minAvailable=2, healthy=2, desired=2)),
            "budget default/web wants 2 healthy pods and Deployment web has 2 replicas, so no eviction is ever allowed",
            [f"{SCALE} 3", RESTART, LIMIT],
            id="all replicas",
        ),
        pytest.param(
            (deployment(["a", "b", "c"]), pdb(minAvailable="67%", healthy=3, desired=3)),
            "budget default/web wants 67% of 3 pods healthy, which rounds up to 3, and Deployment web has 3 replicas, "
            "so no eviction is ever allowed",
            [f"{SCALE} 4", RESTART, LIMIT],
            id="a percentage that rounds up",
        ),
        pytest.param(
            (deployment(["a", "b"]), pdb(maxUnavailable=0, healthy=2, desired=2)),
            "budget default/web has maxUnavailable 0, so no eviction is ever allowed, whatever the number of pods",
            [RESTART, LIMIT],
            id="maxUnavailable 0, which no number of replicas helps",
        ),
        pytest.param(
            (stateful_set(["a"]), pdb("db", "db", minAvailable=1)),
            "budget default/db wants 1 healthy pod and StatefulSet db has one replica, so no eviction is ever allowed",
            [LIMIT],
            id="a StatefulSet, which does not surge, and whose members are not scaled",
        ),
        pytest.param(
            (deployment(["a", "b", "c"]), pdb(minAvailable="90%", healthy=3, desired=3)),
            "budget default/web wants 90% of 3 pods healthy, which rounds up to 3, and Deployment web has 3 replicas, "
            "so no eviction is ever allowed",
            [RESTART, LIMIT],
            id="a budget that only allows an eviction of ten pods or more",
        ),
        pytest.param(
            (
                deployment(["a", "b"]),
                pdb(maxUnavailable=1, healthy=2, desired=1),
                pdb("other", minAvailable=1, healthy=2, desired=1),
            ),
            "2 budgets select default/web-1-0: default/web and default/other, and the API server never evicts a pod "
            "with more than one",
            ["leave default/web-1-0 to one budget: delete other", "leave default/web-1-0 to one budget: delete web"],
            id="two budgets",
        ),
        pytest.param(
            (
                [replica("job", 0, "a", ("batch/v1", "Job", "job"))],
                pdb("job", "job", maxUnavailable=1, healthy=0, desired=0),
            ),
            "budget default/job has maxUnavailable 1, which cannot be computed for Job job: a Job has no scale, "
            "so it never allows an eviction",
            ["set minAvailable: 0 in budget"],
            id="pods that cannot be counted",
        ),
        pytest.param(
            (deployment(["a"], status=BROKEN), pdb(minAvailable=1, healthy=0)),
            "budget default/web wants 1 healthy pod and has 0: default/web-1-0 is not ready, "
            "and unhealthyPodEvictionPolicy IfHealthyBudget keeps it",
            ["set unhealthyPodEvictionPolicy: AlwaysAllow", "repair default/web-1-0"],
            id="the pod itself is not ready",
        ),
        pytest.param(
            ([*deployment(["a", "b"])[:2], deployment(["a", "b"], status=BROKEN)[2]], pdb(minAvailable=1)),
            "budget default/web wants 1 healthy pod and has 1 of 2: default/web-1-1 is not ready, "
            "so no eviction is allowed as long as that lasts",
            ["repair default/web-1-1"],
            id="another pod is not ready",
        ),
        pytest.param(
            (deployment(["a", "b", "c"])[:3], pdb(minAvailable=2, healthy=2, desired=2)),
            "budget default/web wants 2 healthy pods and has 2 of 3: 1 of its 3 pods does not exist yet, "
            "so no eviction is allowed as long as that lasts",
            [],
            id="a pod of the workload does not exist yet",
        ),
        pytest.param(
            (
                deployment(["a"], volumes=DISK),
                make_claim("data", bound="pv"),
                make_volume("pv", claim="default/data"),
                pdb(minAvailable=1),
            ),
            "budget default/web wants 1 healthy pod and Deployment web has one replica, so no eviction is ever allowed",
            [LIMIT],
            id="a disk that a second replica cannot use",
        ),
        pytest.param(
            (deployment(["a"], cpu="3"), BUSY, pdb(minAvailable=1)),
            "budget default/web wants 1 healthy pod and Deployment web has one replica, so no eviction is ever allowed",
            [f"add a node like a, and {RESTART}", f"add a node like a, and {LIMIT}"],
            id="a second replica fits nowhere",
        ),
        pytest.param(
            (deployment(["a"]), pdb(minAvailable=1), stateful_set(["a"]), pdb("db", "db", maxUnavailable=0)),
            "budget default/db has maxUnavailable 0, so no eviction is ever allowed, whatever the number of pods; "
            "budget default/web wants 1 healthy pod and Deployment web has one replica, so no eviction is ever allowed",
            [f"{LIMIT} default/db instead of maxUnavailable 0, and {SCALE} 2"],
            id="two budgets that block different pods: one change for each",
        ),
        pytest.param(
            (deployment(["a"], volumes=SCRATCH), pdb(minAvailable=1)),
            "default/web-1-0 has an emptyDir: the data would be lost, which kubectl drain accepts only with "
            "--delete-emptydir-data",
            [f"drain with --delete-emptydir-data, and {change}" for change in (f"{SCALE} 2", RESTART, LIMIT)],
            id="an option is missing, and a budget would block",
        ),
        pytest.param(
            (deployment(["a", "b"])[:2], replica("web", 8, "b", WEB, status=PULLING), pdb(minAvailable=1)),
            "budget default/web wants 1 healthy pod and has 1 of 2: default/web-1-8 is not ready (ImagePullBackOff), "
            "so no eviction is allowed as long as that lasts",
            ["repair default/web-1-8"],
            id="another replica that cannot pull its image",
        ),
        pytest.param(
            (stateful_set(["a"]), owned(pdb("db", "db", minAvailable=1))),
            "budget default/db wants 1 healthy pod and StatefulSet db has one replica, so no eviction is ever allowed",
            ["have Cluster pg move default/db-0, or allow one eviction: it owns budget db"],
            id="a budget that an operator owns, which puts back what others change",
        ),
        pytest.param(
            ([make_pod("bare", node="a")],),
            "default/bare has no controller that would recreate it on another node",
            ["put default/bare under a controller", "drain with --force"],
            id="a pod without a controller: force comes last",
        ),
    ],
)
def test_cause_and_changes(case: tuple[Any, ...], cause: str, changes: list[str]) -> None:
    answer = ask(*flat(case))
    assert answer.summary == f"a cannot be drained: {cause}"
    assert len(answer.suggestions) == len(changes)
    for found, start in zip(answer.suggestions, changes, strict=True):
        assert found.summary.startswith(start)
        assert found.untried or found.then.startswith("a is drained, ")
    assert not any("disable-eviction" in line for one in answer.suggestions for line in (one.summary, *one.commands))


def test_pods_that_find_no_other_node() -> None:
    answer = ask(*deployment(["a"], cpu="3"), *BUSY)
    assert answer.summary == (
        "a can be drained: 1 pod moves; 1 pod stays pending: a is cordoned; "
        "2 nodes lack cpu (the pod wants 3, b has 2 free)"
    )
    assert [(one.summary, one.then) for one in answer.suggestions] == [
        ("add a node like a", "default/web-1-xxxxx is scheduled to a-1")
    ]
    assert answer.waiting[0].cause


def test_a_cordon_that_the_drain_did_not_make_is_named_although_drained_nodes_are_cordoned_too() -> None:
    nodes = [make_node("a"), make_node("b"), make_node("c", unschedulable=True)]
    request = DrainRequest(nodes=("a", "b"))
    web, *pods = deployment(["a", "b"])
    answer = drain(make_loaded(make_cluster(nodes, pods, web)), request, AnalysisHandle())
    assert [one.summary for one in answer.suggestions] == ["uncordon node c", "add a node like a"]


def test_a_budget_waits_for_a_pod_that_was_pending_before_the_drain() -> None:
    nodes = [make_node("a"), make_node("b", unschedulable=True)]
    web, runs = deployment(["a", "b"])[:2]
    budget = pdb(minAvailable=1)
    answer = drain(
        make_loaded(make_cluster(nodes, [runs, PENDING], web, budget)), DrainRequest(nodes=("a",)), AnalysisHandle()
    )
    assert "default/web-1-7 is pending (a and b are cordoned), so no eviction is allowed" in answer.summary
    assert [one.summary for one in answer.suggestions][:2] == ["uncordon node b", "add a node like a"]


def test_an_autoscaler_gets_a_higher_maximum_where_its_own_is_too_low() -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    scaler = {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 2}
    hpa = make_object(HorizontalPodAutoscaler, "web", namespace="default", spec=scaler)
    answer = ask(*deployment(["a", "b"]), pdb(minAvailable=2, healthy=2, desired=2), hpa)
    assert answer.suggestions[0].summary.startswith("set minReplicas and maxReplicas of HorizontalPodAutoscaler")
    assert """'{"spec":{"minReplicas":3,"maxReplicas":3}}'""" in answer.suggestions[0].commands[0]


def test_a_budget_names_the_pod_whose_deletion_does_not_end_and_its_node() -> None:
    nodes = [make_node("a"), make_node("b", taints=["node.kubernetes.io/unreachable:NoExecute"])]
    db, member = stateful_set(["a", "b"])[:2]
    lost = make_pod("db-1", node="b", labels={"app": "db"}, owner=DB, terminating=True, status=RUNS)
    loaded = make_loaded(make_cluster(nodes, [member, lost], db, pdb("db", "db", minAvailable=1)))
    answer = drain(loaded, DrainRequest(nodes=("a",)), AnalysisHandle())
    assert "has 1 of 2: default/db-1 is being deleted on b, so no eviction is allowed" in answer.summary
    assert [one.summary for one in answer.suggestions] == [
        "get b back, so that its kubelet ends default/db-1",
        "once the machine of b is certainly off: taint it as out of service",
    ]


def test_a_pod_with_a_local_disk_waits_for_its_node() -> None:
    claim = {"name": "d", "persistentVolumeClaim": {"claimName": "data"}}
    volume = make_volume(claim="default/data", affinity={"kubernetes.io/hostname": ["a"]})
    answer = ask(*deployment(["a"], volumes=[claim]), make_claim(bound="pv"), volume)
    assert [(one.summary, one.untried) for one in answer.suggestions] == [
        ("uncordon a after the maintenance: volume pv is there", "default/web-1-xxxxx stays pending until then")
    ]


def test_a_suggested_number_of_replicas_works_as_a_what_if() -> None:
    objects = [*deployment(["a", "b"]), pdb(minAvailable=2, healthy=2, desired=2)]
    assert ask(*objects).suggestions[0].summary.startswith(f"{SCALE} 3")
    pods = [each for each in objects if type(each).__name__ == "Pod"]
    others = [each for each in objects if type(each).__name__ != "Pod"]
    cluster = make_loaded(make_cluster([make_node(name) for name in "abc"], [*pods, PENDING], *others))
    answer = SchedulingCluster(cluster).what_if(set_replicas="deploy/web=4").drain("a")
    assert answer.summary.startswith("a can be drained: 1 pod moves")
    assert [each.pod for each in answer.placed_first] == ["default/web-1-xxxxx"]
    assert answer.left_pending == 1


def test_a_drain_that_works_has_no_suggestions() -> None:
    answer = ask(*deployment(["a", "b"]), pdb(maxUnavailable=1, healthy=2, desired=1))
    assert (answer.yes, answer.suggestions) == (True, ())


def test_commands() -> None:
    answer = ask(*deployment(["a"]), pdb(minAvailable=1))
    assert [line for one in answer.suggestions for line in one.commands] == [
        "kubectl scale deployment/web -n default --replicas=2",
        "kubectl cordon a",
        "kubectl rollout restart deployment/web -n default",
        """kubectl patch pdb web -n default --type=merge -p '{"spec": {"maxUnavailable": 1, "minAvailable": null}}'""",
    ]


PENDING = replica("web", 7, "", ("apps/v1", "ReplicaSet", "web-1"), status={"phase": "Pending"}, requests={"cpu": "1"})


def test_a_drain_is_about_the_pods_on_the_nodes() -> None:
    answer = ask(*deployment(["a", "b"]), PENDING)
    assert [pod.pod for node in answer.nodes for pod in node.moved] == ["default/web-1-0"]
    assert (answer.summary, answer.placed_first, answer.left_pending) == ("a can be drained: 1 pod moves", (), 1)


def test_pending_pods_are_placed_first_on_request_and_named_with_their_victims() -> None:
    small = make_pod("small", node="a", owner=("batch/v1", "Job", "small"), requests={"cpu": "4"})
    big = make_pod("big", requests={"cpu": "4"}, priority=10)
    answer = ask(small, big, nodes=2, cpu="4", place_pending_first=True)
    placed = [(each.pod, each.node, each.evicts, each.in_place_of) for each in answer.placed_first]
    assert placed == [("default/big", "b", (), "")]
    full = make_pod("full", node="b", owner=("batch/v1", "Job", "full"), requests={"cpu": "4"}, priority=20)
    answer = ask(small, big, full, nodes=3, cpu="4", place_pending_first=True, force=True)
    placed = [(each.pod, each.node, each.evicts, each.in_place_of) for each in answer.placed_first]
    assert placed == [("default/big", "c", (), "")]
    answer = ask(small, big, full, nodes=2, cpu="4", place_pending_first=True, force=True)
    placed = [(each.pod, each.node, each.evicts, each.in_place_of) for each in answer.placed_first]
    assert placed == [("default/big", "a", ("default/small",), "")]
    assert [(pod.pod, pod.was_pending) for node in answer.nodes for pod in node.moved] == [("default/big", True)]
    assert answer.summary.endswith("; 1 pending pod is placed first, evicting default/small")
