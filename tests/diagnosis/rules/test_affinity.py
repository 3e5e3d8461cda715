"""Required pod affinity and anti-affinity: pods that are missing, wait for each other, or are out of reach."""

from typing import Any

import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.diagnosis.why.search import suggest
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.well_known import HOSTNAME as HOSTNAME_LABEL
from kschedctl.objects.well_known import ZONE
from kschedctl.objects.workload import StatefulSet
from tests.builders import HOSTNAME, decide, make_cluster, make_namespace, make_node, make_object, make_pod
from tests.diagnosis.rules.cures import cures


def near(key: str = HOSTNAME, **labels: str) -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": labels}}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


@pytest.mark.parametrize(
    ("others", "cause", "cure"),
    [
        pytest.param(
            [make_pod("c", node="a", labels={"app": "cache"})],
            "pod affinity wants a pod with app=cahce in namespace default, and no node runs one; 1 pod has app=cache",
            "app=cache instead of app=cahce in the pod affinity",
            id="mistyped",
        ),
        pytest.param(
            [make_pod("c", namespace="data", node="a", labels={"app": "cahce"})],
            "pod affinity wants a pod with app=cahce in namespace default, and no node runs one; "
            "1 pod with these labels is in data",
            "namespaces [data] in the pod affinity",
            id="another namespace",
        ),
        pytest.param(
            [make_pod("c", labels={"app": "cahce"})],
            "pod affinity wants a pod with app=cahce in namespace default, and no node runs one; default/c matches, "
            "and is pending",
            "get default/c to run first",
            id="pending",
        ),
        pytest.param(
            [make_pod("c", node="a", labels={"app": "web"})],
            "pod affinity wants a pod with app=cahce in namespace default, and no node runs one",
            "get a pod with app=cahce to run first",
            id="nothing like it",
        ),
    ],
)
def test_cause_and_cure(others: list[Pod], cause: str, cure: str) -> None:
    cluster = make_cluster([make_node("a"), make_node("b")], others, make_namespace("default"), make_namespace("data"))
    decision = decide(make_pod(affinity=near(app="cahce")), cluster)
    assert [one.cause for one in diagnose(decision)] == [cause]
    assert suggest(decision).ranked[0].summary == cure


@pytest.mark.parametrize(
    ("nodes", "beside", "spec", "cause", "first"),
    [
        pytest.param(
            [make_node("a"), make_node("b")],
            {"requests": {"cpu": "4"}},
            {"affinity": near(app="cache")},
            "a has 0 of 4 cpu free, the pod wants 1 cpu",
            f"prefer instead of require the pod affinity by {HOSTNAME}",
            id="full",
        ),
        pytest.param(
            [make_node("a"), make_node("b", cpu="8")],
            {"requests": {"cpu": "4"}},
            {"affinity": near(app="cache")},
            "a has 0 of 4 cpu free, the pod wants 1 cpu",
            "let default/c move to b, which has room for both (untried)",
            id="full, and another node has room for both",
        ),
        pytest.param(
            [make_node("a", unschedulable=True), make_node("b")],
            {},
            {"affinity": near(app="cache")},
            "a is cordoned",
            "uncordon node a",
            id="cordoned",
        ),
        pytest.param(
            [make_node("a"), make_node("b", labels={"disk": "ssd"})],
            {},
            {"affinity": near(app="cache"), "nodeSelector": {"disk": "ssd"}},
            "the pod's node selection excludes a",
            "give ReplicaSet default/cache the node selection of this pod, so that both can run side by side (untried)",
            id="not selected",
        ),
    ],
)
def test_the_pod_that_is_wanted_is_out_of_reach(
    nodes: list[Node], beside: dict[str, Any], spec: dict[str, Any], cause: str, first: str
) -> None:
    pods = [make_pod("c", node="a", labels={"app": "cache"}, owner=("apps/v1", "ReplicaSet", "cache"), **beside)]
    decision = decide(make_pod(requests={"cpu": "1"}, **spec), make_cluster(nodes, pods))
    (found,) = diagnose(decision)
    assert found.cause == (
        f"pod affinity wants a pod with app=cache in the same {HOSTNAME}: default/c is on a; {cause}; 1 other node "
        "could hold the pod, but has none of these pods"
    )
    assert cures(decision)[0] == first


def test_the_zone_of_the_pod_that_is_wanted_is_full() -> None:
    nodes = [make_node("a", zone="x"), make_node("a2", zone="x", cpu="0.5"), make_node("b", zone="y")]
    pods = [make_pod("c", node="a", labels={"app": "cache"}, requests={"cpu": "4"})]
    decision = decide(make_pod(requests={"cpu": "1"}, affinity=near(ZONE, app="cache")), make_cluster(nodes, pods))
    (found,) = diagnose(decision)
    assert "default/c is on a; in x: 2 nodes lack cpu" in found.cause
    assert cures(decision)[0] == "add a node like a in zone x"


def test_no_node_could_hold_the_pod_anyway() -> None:
    pods = [make_pod(f"c{node}", node=node, labels={"app": f"cache{node}"}, requests={"cpu": "4"}) for node in "ab"]
    pod = make_pod(requests={"cpu": "1"}, affinity=near(app="cachea"))
    (found,) = diagnose(decide(pod, make_cluster([make_node("a"), make_node("b")], pods)))
    assert found.rule == "obstacles"


def test_no_pod_matches_all_terms() -> None:
    spec = near(app="cache")
    spec["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] += near(app="db")["podAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    pods = [make_pod(app, node="a", labels={"app": app}) for app in ("cache", "db")]
    decision = decide(make_pod(affinity=spec), make_cluster([make_node("a")], pods))
    (found,) = diagnose(decision)
    assert found.rule == "affinity-terms-never-together"
    assert cures(decision)[0] == f"prefer instead of require the pod affinity to pods with app=cache by {HOSTNAME}"


def pending(app: str, wants: str, key: str = HOSTNAME, namespace: str = "default", **spec: Any) -> Pod:
    """Return a pending pod that requires a pod of another app near it."""
    owner = ("apps/v1", "StatefulSet", app)
    affinity = near(key, app=wants)
    affinity["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0] |= spec.pop("term", {})
    return make_pod(f"{app}-0", namespace=namespace, labels={"app": app}, owner=owner, affinity=affinity, **spec)


@pytest.mark.parametrize(
    ("pods", "cause", "others"),
    [
        pytest.param(
            [pending("web", "db"), pending("db", "web", ZONE)],
            "StatefulSet default/web and StatefulSet default/db wait for each other: StatefulSet default/web requires "
            f"a pod with app=db in the same {HOSTNAME}, StatefulSet default/db requires a pod with app=web in the same "
            f"{ZONE}, and none of these pods runs",
            ["default/db"],
            id="two",
        ),
        pytest.param(
            [pending("web", "db"), pending("db", "mq"), pending("mq", "web")],
            "StatefulSet default/web, StatefulSet default/db and StatefulSet default/mq wait for each other in a "
            "circle",
            ["default/db", "default/mq"],
            id="three",
        ),
        pytest.param(
            [
                pending("web", "db", term={"namespaces": ["data"]}),
                pending("db", "web", namespace="data", term={"namespaceSelector": {}}),
            ],
            "StatefulSet default/web and StatefulSet data/db wait for each other: StatefulSet default/web requires a "
            f"pod with app=db of data in the same {HOSTNAME}",
            ["data/db"],
            id="through namespaces",
        ),
        pytest.param(
            [pending("web", "db"), pending("db", "mq"), pending("mq", "db")],
            f"pod affinity wants a pod with app=db in the same {HOSTNAME}, which is pending, too: StatefulSet "
            "default/db and StatefulSet default/mq wait for each other",
            ["default/db", "default/mq"],
            id="behind a circle",
        ),
    ],
)
@pytest.mark.parametrize("stored", [True, False], ids=["stored", "new"])
def test_pods_that_wait_for_each_other(pods: list[Pod], cause: str, others: list[str], *, stored: bool) -> None:
    nodes, spaces = (
        [make_node("a", zone="x"), make_node("b", zone="y")],
        [make_namespace("default"), make_namespace("data")],
    )
    decision = decide(pods[0], make_cluster(nodes, pods if stored else pods[1:], *spaces))
    (found,) = diagnose(decision)
    assert found.rule == "affinity-cycle"
    assert found.cause.startswith(cause)
    assert cures(decision)[: len(others) + 1] == [
        f"prefer instead of require the pod affinity by {HOSTNAME}",
        *(
            f"prefer instead of require the pod affinity in StatefulSet {each}: its pod then goes first (untried)"
            for each in others
        ),
    ]


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param([pending("web", "db"), pending("db", "db", requests={"cpu": "9"})], id="the other goes first"),
        pytest.param(
            [pending("web", "db"), make_pod("db-0", labels={"app": "db"}, requests={"cpu": "9"})], id="no term"
        ),
        pytest.param(
            [pending("web", "db"), pending("db", "web"), make_pod("db-1", labels={"app": "db"}, requests={"cpu": "9"})],
            id="one of two replicas",
        ),
    ],
)
def test_pods_that_do_not_wait_for_each_other(pods: list[Pod]) -> None:
    found = diagnose(decide(pods[0], make_cluster([make_node("a", zone="x")], pods)))
    assert [each.rule for each in found] == ["affinity-matches-no-pod"]


def apart(app: str, key: str) -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def test_more_replicas_than_zones() -> None:
    nodes = [make_node(f"{zone}{i}", zone=zone) for zone in "ab" for i in (1, 2)]
    owner = ("apps/v1", "StatefulSet", "kafka")
    spec: dict[str, Any] = {"labels": {"app": "kafka"}, "affinity": apart("kafka", ZONE), "owner": owner}
    pods = [make_pod(f"kafka-{zone}", node=f"{zone}1", **spec) for zone in "ab"]
    workload = make_object(StatefulSet, "kafka", namespace="default", spec={"replicas": 3})
    decision = decide(make_pod("kafka-2", **spec), make_cluster(nodes, pods, workload))
    (found,) = diagnose(decision)
    assert found.cause == (
        f"all 4 nodes are in a {ZONE} (a and b) with a pod of StatefulSet default/kafka, "
        "from which anti-affinity keeps the pod apart"
    )
    assert cures(decision)[:2] == [
        f"add a node in another {ZONE}: a and b have a pod of StatefulSet default/kafka each (untried)",
        f"2 replicas of StatefulSet default/kafka: one per {ZONE} (untried)",
    ]


def test_replica_on_a_cordoned_node_is_kept() -> None:
    nodes = [make_node("a"), make_node("b"), make_node("c", unschedulable=True)]
    owner = ("apps/v1", "StatefulSet", "kafka")
    spec: dict[str, Any] = {"labels": {"app": "kafka"}, "affinity": apart("kafka", HOSTNAME_LABEL), "owner": owner}
    pods = [make_pod(f"kafka-{node}", node=node, **spec) for node in "abc"]
    workload = make_object(StatefulSet, "kafka", namespace="default", spec={"replicas": 4})
    decision = decide(make_pod("kafka-3", **spec), make_cluster(nodes, pods, workload))
    assert "3 replicas of StatefulSet default/kafka: one per node (untried)" in cures(decision)


def test_the_anti_affinity_of_others() -> None:
    """Their pods are not deleted: they would be pending instead."""
    owner = ("apps/v1", "ReplicaSet", "db")
    cluster = make_cluster(
        [make_node("a")], [make_pod("db", node="a", affinity=apart("web", HOSTNAME_LABEL), owner=owner)]
    )
    decision = decide(make_pod(labels={"app": "web"}), cluster)
    (found,) = diagnose(decision)
    assert found.cause == "a has a pod of ReplicaSet default/db, whose own anti-affinity keeps the pod away"
    assert cures(decision) == [
        "add a node like a",
        "correct the required anti-affinity of ReplicaSet default/db, if it is not meant for this pod (untried)",
    ]


def test_a_pod_of_another_workload_blocks_a_zone() -> None:
    """Its controller would recreate it in vain: this pod keeps it out of the zone."""
    nodes = [make_node(name, zone="x") for name in ("a", "b")]
    pods = [make_pod("batch-1", node="a", labels={"app": "batch"}, owner=("apps/v1", "ReplicaSet", "batch"))]
    decision = decide(make_pod(labels={"app": "web"}, affinity=apart("batch", ZONE)), make_cluster(nodes, pods))
    (found,) = diagnose(decision)
    assert found.cause == (
        f"all 2 nodes are in a {ZONE} (x) with a pod of ReplicaSet default/batch (default/batch-1 on a), from which "
        "anti-affinity keeps the pod apart"
    )
    assert cures(decision) == [
        f"anti-affinity by {HOSTNAME} instead of {ZONE}",
        f"prefer instead of require the pod anti-affinity by {ZONE}",
        f"drop the required pod anti-affinity by {ZONE}",
    ]


def test_a_pod_that_ends_is_waited_for() -> None:
    ending = make_pod("batch-1", node="a", labels={"app": "batch"}, terminating=True)
    decision = decide(make_pod(affinity=apart("batch", HOSTNAME)), make_cluster([make_node("a")], [ending]))
    assert [one.cause for one in diagnose(decision)] == [
        "a has a pod of Pod default/batch-1 (on a, which is being deleted), from which anti-affinity "
        "keeps the pod apart"
    ]
    assert cures(decision)[0] == "wait until default/batch-1 has ended on a"


def test_a_term_copied_from_another_namespace_means_the_own_replicas() -> None:
    affinity = near(app="web")
    affinity["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]["namespaces"] = ["prod"]
    cluster = make_cluster([make_node("a")], [], make_namespace("default"), make_namespace("prod"))
    decision = decide(make_pod(labels={"app": "web"}, affinity=affinity), cluster)
    assert "namespace prod, and no node runs one; the pod has these labels itself" in diagnose(decision)[0].cause
    assert suggest(decision).ranked[0].summary == "namespaces [default] instead of [prod] in the pod affinity"


def test_nodes_without_a_wanted_pod_are_not_counted_as_nodes_with_one_to_be_kept_apart() -> None:
    own: dict[str, Any] = {"labels": {"app": "cache"}, "owner": ("apps/v1", "ReplicaSet", "cache")}
    apart = {**near(app="web"), "podAntiAffinity": near(app="cache")["podAffinity"]}
    pods = [make_pod(f"cache-{node}", node=node, **own) for node in "ab"]
    pods += [
        make_pod(f"w-{node}", node=node, labels={"app": "web"}, owner=("apps/v1", "ReplicaSet", "w")) for node in "ab"
    ]
    decision = decide(make_pod("new", affinity=apart, **own), make_cluster([make_node(name) for name in "abc"], pods))
    causes = [one.cause for one in diagnose(decision)]
    apart_words = "2 nodes have a pod of ReplicaSet default/cache, from which anti-affinity keeps the pod apart"
    assert apart_words in causes[0]
    assert not any("all 3 nodes have a pod" in cause for cause in causes)
    first = suggest(decision).ranked[0].summary
    assert first == "one more replica of ReplicaSet default/w, on a node where this pod may run too"
