"""Suggestions that change a pod template, tried to the end of the rollout that they start."""

from typing import Any

import pytest

from kschedctl.cluster.placed_pods import pending_pods
from kschedctl.controllers.admission.chain import admit
from kschedctl.controllers.workloads.pods import pods_of
from kschedctl.diagnosis.pending_groups import group_pending_pods
from kschedctl.diagnosis.why import rollout_trial, search
from kschedctl.diagnosis.why.proof import Suggestion
from kschedctl.diagnosis.why.search import suggest
from kschedctl.diagnosis.why.unblocking_changes import unblock
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.policies import PriorityClass, ResourceQuota
from kschedctl.objects.releases.release import LATEST
from kschedctl.objects.workload import Deployment, ReplicaSet, StatefulSet
from kschedctl.questions.explain.analysis import suggestion_data
from kschedctl.scheduler.cycle.scheduler import Scheduler
from tests.builders import HOSTNAME, LONG_AGO, decide, make_cluster, make_node, make_object, make_pod
from tests.trials.whatif.test_pods import APP, SELECTOR, deployment, template, web

HIGH = make_object(PriorityClass, "high", value=100)
LOWER, HIGHER = "request 2.9 cpu or less instead of 3", "priority class high (100 instead of 0)"
THREE = {"cpu": "3"}
SPEC = {"selector": SELECTOR, "replicas": 3}
AT_ONCE = {"strategy": {"type": "Recreate"}}


def quota(cpu: str) -> ResourceQuota:
    return make_object(ResourceQuota, "q", namespace="default", spec={"hard": {"requests.cpu": cpu}})


def own(**spec: Any) -> list[ApiObject]:
    """A Deployment of three pods that want 3 cpu each."""
    web, replica_set = deployment(3, cpu="3")
    changed = {"selector": SELECTOR, "replicas": 3, "template": template(cpu="3"), **spec}
    return [make_object(type(web), "web", namespace="default", spec=changed), replica_set]


def bare() -> list[ApiObject]:
    spec = {"selector": SELECTOR, "replicas": 3, "template": template(cpu="3")}
    return [make_object(ReplicaSet, "web-1", namespace="default", spec=spec)]


def suggested(*objects: ApiObject, cpu: str = "2900m", pods: list[Pod] | None = None) -> list[Suggestion]:
    """The suggestions for the last of three pods, beside two that fill nodes of 3 cpu; a third node has less."""
    nodes = [make_node("a", cpu="3"), make_node("b", cpu="3"), make_node("c", cpu=cpu)]
    pods = pods or web("a", "b", "", requests=THREE)
    return list(suggest(decide(pods[-1], make_cluster(nodes, pods, HIGH, *objects)), 20).suggestions)


def effects(found: list[Suggestion], summary: str) -> tuple[str, ...] | None:
    """The side effects of a suggestion; ``None`` if there is no such suggestion."""
    one = next((each for each in found if each.summary == summary), None)
    return suggestion_data(one).consequences if one is not None else None


RESTARTS = "restarts 2 running pods of Deployment web"
LOST = "default/small-c is lost for good: no controller recreates it"


@pytest.mark.parametrize(
    ("objects", "cpu", "summary", "expected"),
    [
        pytest.param(own(**AT_ONCE), "2900m", LOWER, (RESTARTS,), id="the rollout finishes"),
        pytest.param(
            own(), "2900m", LOWER, (RESTARTS, "its rollout does not finish: 1 pod stays pending"), id="it helps in part"
        ),
        pytest.param([*own(), quota("9")], "2900m", LOWER, None, id="a quota refuses the pods of the rollout"),
        pytest.param([*own(**AT_ONCE), quota("12")], "2900m", LOWER, (RESTARTS,), id="a larger quota admits them"),
        pytest.param(own(paused=True), "2900m", LOWER, None, id="no rollout begins while the Deployment is paused"),
        pytest.param(own(), "1", HIGHER, None, id="the new pods take the places of the old ones"),
        pytest.param(bare(), "1", HIGHER, None, id="a pod that evicts its sibling, without a rollout"),
        pytest.param([], "2900m", LOWER, (), id="the snapshot has no template, so no rollout is known"),
    ],
)
def test_a_change_of_the_template_is_tried_to_the_end(
    objects: list[ApiObject], cpu: str, summary: str, expected: tuple[str, ...] | None
) -> None:
    assert effects(suggested(*objects, cpu=cpu), summary) == expected


@pytest.mark.parametrize(
    ("spare", "expected"),
    [
        pytest.param("c", (RESTARTS, LOST), id="only the pods that the suggestion names"),
        pytest.param("cd", (RESTARTS, "its rollout evicts default/small-d as well", LOST), id="one more"),
    ],
)
def test_what_the_rollout_evicts_besides(spare: str, expected: tuple[str, ...]) -> None:
    # Of equal victims, those that were started last are preferred.
    small = [
        make_pod(f"small-{node}", node=node, requests={"cpu": "1"}, status={"startTime": "2026-02-01T00:00:00Z"})
        for node in spare
    ]
    pods = [*small, *web("a", "b", "", requests=THREE, status={"startTime": LONG_AGO})]
    nodes = [make_node("a", cpu="3"), make_node("b", cpu="3"), *(make_node(name, cpu="3500m") for name in spare)]
    found = list(suggest(decide(pods[-1], make_cluster(nodes, pods, HIGH, *own())), 20).suggestions)
    assert effects(found, HIGHER) == expected


def test_a_pending_pod_of_a_stateful_set_is_deleted_once_its_template_is_changed() -> None:
    spec = {"selector": SELECTOR, "replicas": 3, "template": template(cpu="3")}
    stateful_set = make_object(StatefulSet, "web", namespace="default", spec=spec)
    pods = web("a", "b", "", owner=("apps/v1", "StatefulSet", "web"), requests=THREE, labels=APP)
    found = suggested(stateful_set, pods=pods)
    assert effects(found, LOWER) == (
        "restarts 2 running pods of StatefulSet web",
        "default/web-2 has to be deleted then: its StatefulSet does not replace a pending pod",
    )
    (one,) = (each for each in found if each.summary == LOWER)
    assert suggestion_data(one).commands[-1] == "kubectl delete pod -n default web-2"


def test_a_large_rollout_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollout_trial, "MOST_REPLICAS", 2)
    assert effects(suggested(*own(), quota("9")), LOWER) == (RESTARTS, "its rollout of 3 pods is not tried")


def test_a_limited_number_of_rollouts_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_MOST_ROLLOUTS", 0)
    pods = web("a", "b", "", requests=THREE)
    nodes = [make_node("a", cpu="3"), make_node("b", cpu="3"), make_node("c", cpu="2900m")]
    found = suggest(decide(pods[-1], make_cluster(nodes, pods, *own(**AT_ONCE))), 20)
    assert [one.summary for one in found.suggestions] == ["add a node like a"]
    assert not found.exhausted


@pytest.mark.parametrize(("objects", "helps"), [([quota("3")], False), ([], True)])
def test_the_changes_for_all_pending_pods_are_tried_to_the_end_as_well(objects: list[ApiObject], helps: bool) -> None:
    selector = {HOSTNAME: "c"}
    (pod,) = web("", requests=THREE, nodeSelector=selector)
    own = deployment(1, cpu="3", nodeSelector=selector)
    cluster = make_cluster([make_node("c", cpu="2900m")], [pod], *own, *objects)
    scheduler = Scheduler(cluster)
    waiting = [cluster.pods.pod(index) for index in pending_pods(cluster)]
    found = unblock(scheduler, group_pending_pods(scheduler, waiting), 9)
    assert [change.summary for change in found.changes] == ([LOWER] if helps else [])


@pytest.mark.parametrize(
    ("cpu", "expected"),
    [
        pytest.param("3", None, id="the missing replica of the stored template"),
        pytest.param("2950m", (RESTARTS,), id="a manifest with another template, whose rollout is not tried"),
    ],
)
def test_pods_that_do_not_exist_yet(cpu: str, expected: tuple[str, ...] | None) -> None:
    """The quota admits no pod of a rollout beside the two that run."""
    objects = own()
    changed = make_object(Deployment, "web", namespace="default", spec={**SPEC, "template": template(cpu=cpu)})
    nodes = [make_node("a", cpu="3"), make_node("b", cpu="3"), make_node("c", cpu="2900m")]
    cluster = make_cluster(nodes, web("a", "b", requests=THREE), HIGH, *objects, quota("6"))
    (made,) = pods_of(changed, cluster)
    pod = admit(made.pod, cluster, release=LATEST).pod
    found = list(suggest(decide(pod, cluster), 20).suggestions)
    assert effects(found, LOWER if cpu == "3" else LOWER.replace("of 3", "of 2.95")) == expected
