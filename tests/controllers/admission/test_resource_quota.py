"""ResourceQuota by table: what is counted, whom it is about, and the words of its refusal."""

from typing import Any

import msgspec
import pytest

from kschedctl.common.errors import SnapshotError
from kschedctl.controllers.admission.resource_quota import quota_refusals
from kschedctl.objects.pod import Pod
from kschedctl.objects.policies import ResourceQuota
from kschedctl.objects.quantity import QUANTITY_HINT
from kschedctl.objects.resources import RequestRules
from tests.builders import GPU, make_cluster, make_container, make_pod

RULES = RequestRules()


def quota(
    hard: dict[str, Any],
    used: dict[str, Any] | None = None,
    *,
    name: str = "quota",
    namespace: str = "shop",
    **spec: Any,
) -> ResourceQuota:
    """A quota whose status is up to date; without one where nothing is said to be used."""
    status = {} if used is None else {"hard": hard, "used": used}
    fields = {"metadata": {"name": name, "namespace": namespace}, "spec": {"hard": hard, **spec}, "status": status}
    return msgspec.convert(fields, ResourceQuota)


def pod(**fields: Any) -> Pod:
    return make_pod("new", namespace="shop", **fields)


def scoped(name: str, operator: str = "Exists", *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"scopeName": name, "operator": operator, "values": values}]}


def messages(given: Pod, *quotas: ResourceQuota, pods: tuple[Pod, ...] = ()) -> list[str]:
    return [refusal.message for refusal in quota_refusals(given, make_cluster([], pods, *quotas), RULES)]


@pytest.mark.parametrize(
    ("given", "hard", "used", "expected"),
    [
        pytest.param(pod(requests={"cpu": "1"}), {"cpu": "2"}, {"cpu": "1"}, "", id="exactly what is left"),
        pytest.param(
            pod(requests={"cpu": "1.5"}),
            {"requests.cpu": "2"},
            {"requests.cpu": "1"},
            "exceeded quota: quota, requested: requests.cpu=1500m, used: requests.cpu=1, limited: requests.cpu=2",
            id="more cpu than is left",
        ),
        pytest.param(
            pod(requests={"cpu": "2", "memory": "1Gi"}),
            {"cpu": "2", "memory": "3Gi"},
            {"cpu": "1", "memory": "2560Mi"},
            "exceeded quota: quota, requested: cpu=2,memory=1Gi, used: cpu=1,memory=2560Mi, limited: cpu=2,memory=3Gi",
            id="several resources in the order of their names",
        ),
        pytest.param(
            pod(),
            {"pods": "3"},
            {"pods": "3"},
            "exceeded quota: quota, requested: pods=1, used: pods=3, limited: pods=3",
            id="one pod too many",
        ),
        pytest.param(
            pod(),
            {"count/pods": "3"},
            {"count/pods": "3"},
            "exceeded quota: quota, requested: count/pods=1, used: count/pods=3, limited: count/pods=3",
            id="one object too many",
        ),
        pytest.param(
            pod(containers=[make_container(resources={"limits": {"cpu": "2", "memory": "1Gi"}})]),
            {"limits.memory": "512Mi"},
            {"limits.memory": "0"},
            "exceeded quota: quota, requested: limits.memory=1Gi, used: limits.memory=0, limited: limits.memory=512Mi",
            id="limits",
        ),
        pytest.param(
            pod(requests={GPU: 2}),
            {f"requests.{GPU}": "1"},
            {f"requests.{GPU}": "0"},
            f"exceeded quota: quota, requested: requests.{GPU}=2, used: requests.{GPU}=0, limited: requests.{GPU}=1",
            id="an extended resource",
        ),
        pytest.param(
            pod(requests={"hugepages-2Mi": "4Mi"}),
            {"hugepages-2Mi": "2Mi"},
            {"hugepages-2Mi": "0"},
            "exceeded quota: quota, requested: hugepages-2Mi=4Mi, used: hugepages-2Mi=0, limited: hugepages-2Mi=2Mi",
            id="huge pages",
        ),
        pytest.param(
            pod(requests={"cpu": "1"}, overhead={"cpu": "250m"}),
            {"cpu": "1"},
            {"cpu": "0"},
            "exceeded quota: quota, requested: cpu=1250m, used: cpu=0, limited: cpu=1",
            id="overhead counts",
        ),
        pytest.param(
            pod(requests={"cpu": "1"}, resources={"requests": {"cpu": "3"}}),
            {"cpu": "2"},
            {"cpu": "0"},
            "exceeded quota: quota, requested: cpu=3, used: cpu=0, limited: cpu=2",
            id="the pod as a whole asks for more than its containers",
        ),
        pytest.param(
            pod(containers=[make_container("a"), make_container("b", requests={"cpu": "1"})]),
            {"cpu": "9", "requests.memory": "9Gi"},
            {"cpu": "0", "requests.memory": "0"},
            "failed quota: quota: must specify cpu for: a; requests.memory for: a,b",
            id="containers that do not say what they want",
        ),
        pytest.param(
            pod(resources={"requests": {"cpu": "1"}}),
            {"cpu": "9", "memory": "9Gi"},
            {"cpu": "0", "memory": "0"},
            "",
            id="where the pod as a whole says it, containers need not",
        ),
        pytest.param(pod(), {"ephemeral-storage": "1Gi"}, {"ephemeral-storage": "1Gi"}, "", id="nothing asked for"),
        pytest.param(pod(), {"services": "0", "configmaps": "0"}, {}, "", id="a quota of other objects"),
    ],
)
def test_refusals(given: Pod, hard: dict[str, Any], used: dict[str, Any], expected: str) -> None:
    assert messages(given, quota(hard, used)) == ([expected] if expected else [])


AFFINITY_ELSEWHERE = {
    "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", "namespaces": ["bank"]}]}
}


@pytest.mark.parametrize(
    ("spec", "given", "is_about"),
    [
        pytest.param({"scopes": ["Terminating"]}, pod(activeDeadlineSeconds=60), True, id="has a deadline"),
        pytest.param({"scopes": ["Terminating"]}, pod(), False, id="has no deadline"),
        pytest.param({"scopes": ["NotTerminating"]}, pod(), True, id="is not to have a deadline"),
        pytest.param({"scopes": ["BestEffort"]}, pod(), True, id="asks for nothing"),
        pytest.param({"scopes": ["BestEffort"]}, pod(requests={"cpu": 1}), False, id="asks for something"),
        pytest.param({"scopes": ["BestEffort"]}, pod(requests={GPU: 1}), True, id="devices do not count as something"),
        pytest.param(
            {"scopes": ["NotBestEffort", "NotTerminating"]}, pod(requests={"memory": 1}), True, id="both scopes hold"
        ),
        pytest.param({"scopes": ["NotBestEffort", "Terminating"]}, pod(requests={"cpu": 1}), False, id="one does not"),
        pytest.param({"scopes": ["PriorityClass"]}, pod(priorityClassName="high"), True, id="has a class"),
        pytest.param(
            {"scopeSelector": scoped("PriorityClass", "In", "high")},
            pod(priorityClassName="high"),
            True,
            id="that class",
        ),
        pytest.param(
            {"scopeSelector": scoped("PriorityClass", "In", "high")}, pod(priorityClassName="low"), False, id="another"
        ),
        pytest.param({"scopeSelector": scoped("PriorityClass", "NotIn", "high")}, pod(), True, id="no class is not in"),
        pytest.param({"scopeSelector": scoped("PriorityClass", "DoesNotExist")}, pod(), True, id="is to have none"),
        pytest.param({"scopes": ["CrossNamespacePodAffinity"]}, pod(affinity=AFFINITY_ELSEWHERE), True, id="elsewhere"),
        pytest.param({"scopes": ["CrossNamespacePodAffinity"]}, pod(), False, id="stays in its namespace"),
        pytest.param({"scopes": ["VolumeAttributesClass"]}, pod(), False, id="a scope of claims"),
    ],
)
def test_scopes(spec: dict[str, Any], given: Pod, is_about: bool) -> None:
    assert bool(messages(given, quota({"pods": "0"}, {"pods": "0"}, **spec))) == is_about


def test_every_quota_of_the_namespace_is_told() -> None:
    full = {"pods": "0"}
    quotas = [quota(full, full, name=name) for name in ("b", "a")]
    elsewhere = quota(full, full, namespace="bank")
    refusals = quota_refusals(pod(), make_cluster([], [], *quotas, elsewhere), RULES)
    assert list(map(str, refusals)) == [
        "would be refused by quota b before the scheduler sees it: "
        "exceeded quota: b, requested: pods=1, used: pods=0, limited: pods=0",
        "would be refused by quota a before the scheduler sees it: "
        "exceeded quota: a, requested: pods=1, used: pods=0, limited: pods=0",
    ]


def test_without_a_status_the_pods_of_the_cluster_are_counted() -> None:
    pods = (
        make_pod("one", namespace="shop", requests={"cpu": "1500m"}),
        make_pod("two", namespace="shop", requests={"cpu": "1"}, activeDeadlineSeconds=60),
        make_pod("three", namespace="bank", requests={"cpu": "1"}),
    )
    counting = quota({"cpu": "2"}, scopes=["NotTerminating"])
    assert messages(pod(requests={"cpu": "1"}), counting, pods=pods) == [
        "exceeded quota: quota, requested: cpu=1, used: cpu=1500m, limited: cpu=2"
    ]


def test_a_pod_that_is_there_counts_with_what_it_asks_for_more() -> None:
    stored = make_pod("new", namespace="shop", requests={"cpu": "1"})
    full = quota({"cpu": "2", "pods": "1"}, {"cpu": "2", "pods": "1"})
    assert messages(stored, full, pods=(stored,)) == []
    assert messages(pod(requests={"cpu": "1500m"}), full, pods=(stored,)) == [
        "exceeded quota: quota, requested: cpu=500m, used: cpu=2, limited: cpu=2"
    ]


def test_amounts_are_data() -> None:
    (refusal,) = quota_refusals(pod(), make_cluster([], [], quota({"pods": "1"}, {"pods": "1"})), RULES)
    assert {name: amount.nanos // 10**9 for name, amount in refusal.requested.items()} == {"pods": 1}
    assert (str(refusal.used["pods"]), str(refusal.limited["pods"])) == ("1", "1")


def test_an_amount_that_is_no_quantity_is_an_error_of_the_snapshot() -> None:
    with pytest.raises(SnapshotError) as error:
        messages(pod(), quota({"pods": "many"}))
    assert str(error.value) == 'ResourceQuota shop/quota: spec.hard.pods: "many" is not a quantity\n  ' + QUANTITY_HINT
