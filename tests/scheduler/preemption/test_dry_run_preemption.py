"""The dry run over all nodes together equals the slow one, node by node on clusters without the victims."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.scheduler.framework.status import Code
from tests.builders import HOSTNAME, ZONE, decide, make_cluster, make_node, make_object, make_pod
from tests.example_counts import scaled
from tests.reference.preemption import victims_on_node

NODES = ("a", "b", "c", "d")
APPS = ("web", "db")
STARTS = ("2026-01-01T08:00:00Z", "2026-01-01T09:00:00Z", "2026-01-01T10:00:00Z")

apps = st.sampled_from(APPS)


def _selector(app: str) -> dict[str, Any]:
    return {"matchLabels": {"app": app}}


@st.composite
def anti_affinity(draw: st.DrawFn) -> dict[str, Any]:
    term = {"topologyKey": draw(st.sampled_from((HOSTNAME, ZONE))), "labelSelector": _selector(draw(apps))}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


@st.composite
def running_pods(draw: st.DrawFn) -> list[Pod]:
    pods = []
    for i in range(draw(st.integers(1, 10))):
        spec: dict[str, Any] = {"affinity": draw(anti_affinity())} if draw(st.booleans()) else {}
        pods.append(
            make_pod(
                f"pod-{i}",
                node=draw(st.sampled_from(NODES)),
                labels={"app": draw(apps)},
                requests={"cpu": draw(st.sampled_from(("500m", "1", "2")))},
                priority=draw(st.sampled_from((0, 5, 10, 100))),
                status={"startTime": draw(st.sampled_from(STARTS))},
                **spec,
            )
        )
    return pods


@st.composite
def waiting_pods(draw: st.DrawFn) -> list[Pod]:
    """Pods nominated to nodes; those of a priority from 50 on count there."""
    return [
        make_pod(
            f"waiting-{i}",
            nominated=draw(st.sampled_from(NODES)),
            labels={"app": draw(apps)},
            requests={"cpu": draw(st.sampled_from(("500m", "1")))},
            priority=draw(st.sampled_from((5, 50, 100))),
        )
        for i in range(draw(st.integers(0, 3)))
    ]


@st.composite
def preemptors(draw: st.DrawFn) -> Pod:
    spec: dict[str, Any] = {}
    if draw(st.booleans()):
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": draw(st.integers(1, 2)),
                "topologyKey": draw(st.sampled_from((HOSTNAME, ZONE))),
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": _selector(draw(apps)),
            }
        ]
    if draw(st.booleans()):
        spec["affinity"] = draw(anti_affinity())
    requests = {"cpu": draw(st.sampled_from(("1", "2", "4")))}
    return make_pod("preemptor", labels={"app": draw(apps)}, requests=requests, priority=50, **spec)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    nodes = [make_node(name, cpu="4", pods=draw(st.integers(2, 5)), zone=f"z{i % 2}") for i, name in enumerate(NODES)]
    budgets = [
        make_object(
            PodDisruptionBudget,
            app,
            namespace="default",
            spec={"selector": _selector(app)},
            status={"disruptionsAllowed": draw(st.integers(0, 2))},
        )
        for app in draw(st.sets(apps))
    ]
    return make_cluster(nodes, [*draw(running_pods()), *draw(waiting_pods())], *budgets)


@settings(max_examples=scaled(120), deadline=None)
@given(clusters(), preemptors())
def test_victims_are_those_of_the_slow_way(cluster: Cluster, pod: Pod) -> None:
    decision = decide(pod, cluster)
    if decision.preemption is None:
        return
    statuses = decision.statuses
    assert statuses is not None
    expected = {}
    for row, node in enumerate(cluster.nodes.names):
        if statuses.code[row] == Code.UNSCHEDULABLE:
            found = victims_on_node(cluster, pod, node)
            if found is not None:
                expected[node] = found
    actual = {c.node: ([v.pod for v in c.victims], c.n_violations) for c in decision.preemption.candidates}
    assert actual == expected


@settings(max_examples=scaled(60), deadline=None)
@given(clusters(), preemptors())
def test_the_choice_is_minimal_in_the_order_of_the_criteria(cluster: Cluster, pod: Pod) -> None:
    found = decide(pod, cluster).preemption
    if found is None or not found.candidates:
        return
    pods = cluster.pods

    def rank(victims: list[int]) -> tuple[int, ...]:
        highest = max(int(pods.priority[i]) for i in victims)
        total = sum(int(pods.priority[i]) + 2**31 for i in victims)
        earliest = min(int(pods.start_time[i]) for i in victims if pods.priority[i] == highest)
        return highest, total, len(victims), -earliest

    ranks = {c.node: (c.n_violations, *rank([v.pod for v in c.victims])) for c in found.candidates}
    best = min(ranks.values())
    assert found.nominated == tuple(sorted(node for node, value in ranks.items() if value == best))
    assert all(pods.priority[v.pod] < 50 for c in found.candidates for v in c.victims)
