"""The cheapest nodes to buy, compared with all other purchases."""

from __future__ import annotations

from itertools import product
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import DaemonSet
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.optimum.catalog import Catalog, NodeKind
from kschedctl.trials.optimum.purchase import buy, with_nodes
from kschedctl.trials.optimum.question import no_evictions, pose
from kschedctl.trials.optimum.search import best
from tests.builders import ZONE, make_cluster, make_node, make_pod
from tests.example_counts import scaled


def kind(name: str, price: str, cpu: str, most: int | None = None, **labels: str) -> NodeKind:
    offers = {"cpu": cpu, "memory": "64Gi", "pods": "20"}
    return NodeKind(name=name, price=price, most=most, allocatable=offers, labels=labels)


def waiting(*cpus: str, **spec: Any) -> list[Pod]:
    return [make_pod(f"w{i}", requests={"cpu": cpu}, **spec) for i, cpu in enumerate(cpus)]


def bought(cluster: Cluster, *kinds: NodeKind) -> tuple[list[str], int, int]:
    """Return the node kinds of the best purchase, their cost, and the number of steps in its proof."""
    found = buy(Scheduler(cluster), Catalog(kinds=kinds), seconds=600)
    assert found.best.proven
    assert found.proof is not None
    return sorted(each.name for each, _ in found.nodes), found.cost, len(found.proof.steps)


def test_one_large_node_is_cheaper_than_two_small_ones() -> None:
    cluster = make_cluster([make_node("full", cpu="0")], waiting("2", "2"))
    small, large = kind("small", "1", "2"), kind("large", "1.5", "4")
    assert bought(cluster, small, large) == (["large"], 1_500_000, 2)
    assert bought(cluster, small, kind("large", "2.5", "4")) == (["small", "small"], 2_000_000, 2)


def test_what_is_free_already_is_not_bought() -> None:
    cluster = make_cluster([make_node("free", cpu="2")], waiting("2", "1"))
    assert bought(cluster, kind("small", "1", "2")) == (["small"], 1_000_000, 2)
    assert bought(make_cluster([make_node("free", cpu="4")], waiting("2", "1")), kind("small", "1", "2")) == ([], 0, 2)


def test_there_are_no_more_than_the_catalog_says() -> None:
    cluster = make_cluster([make_node("full", cpu="0")], waiting("2", "2", "2"))
    assert bought(cluster, kind("small", "1", "2", most=2)) == (["small", "small"], 2_000_000, 2)


def test_labels_that_a_pod_wants() -> None:
    cluster = make_cluster([make_node("full", cpu="0")], waiting("1", nodeSelector={"disk": "ssd"}))
    plain, ssd = kind("plain", "0.1", "8"), kind("ssd", "0.9", "8", disk="ssd")
    assert bought(cluster, plain, ssd) == (["ssd"], 900_000, 1)
    assert bought(cluster, plain) == ([], 0, 0)


def test_pods_of_daemon_sets_take_their_part_of_a_new_node() -> None:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "500m"}}}
    labels = {"app": "agent"}
    spec = {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
    }
    agent = msgspec.convert({"metadata": {"name": "agent", "namespace": "default"}, "spec": spec}, DaemonSet)
    cluster = make_cluster([make_node("full", cpu="0")], waiting("2"), agent)
    assert bought(cluster, kind("small", "1", "2"), kind("large", "3", "4")) == (["large"], 3_000_000, 1)


_CPUS = st.sampled_from(["500m", "1", "1500m", "2", "3"])


@st.composite
def shops(draw: st.DrawFn) -> tuple[Cluster, tuple[NodeKind, ...]]:
    """Draw two or three pending pods, one small node, and two kinds of nodes to buy."""
    apart = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "topologyKey": draw(st.sampled_from([ZONE, "kubernetes.io/hostname"])),
                    "labelSelector": {"matchLabels": {"app": "a"}},
                }
            ]
        }
    }
    pods = [
        make_pod(
            f"w{i}", labels={"app": "a"}, requests={"cpu": draw(_CPUS)}, affinity=draw(st.sampled_from([{}, {}, apart]))
        )
        for i in range(draw(st.integers(2, 3)))
    ]
    kinds = tuple(
        kind(
            name,
            str(draw(st.sampled_from([1, 2, 2.5, 4]))),
            draw(_CPUS),
            draw(st.sampled_from([None, 1])),
            **{ZONE: draw(st.sampled_from(["z1", "z2"]))},
        )
        for name in ("one", "two")
    )
    return make_cluster([make_node("there", cpu="1", zone="z1")], pods), kinds


def cheapest(cluster: Cluster, kinds: tuple[NodeKind, ...]) -> tuple[int, int]:
    """Return the maximum number of placed pods and its minimum cost, over all possible purchases."""
    n = pose(Scheduler(cluster), no_evictions).n_waiting
    out = []
    for counts in product(*(range((n if each.most is None else min(each.most, n)) + 1) for each in kinds)):
        nodes = [each.node(i + 1) for each, count in zip(kinds, counts, strict=True) for i in range(count)]
        found = best(pose(Scheduler(with_nodes(cluster, nodes)), no_evictions), seconds=600)
        cost = sum(each.cost * count for each, count in zip(kinds, counts, strict=True))
        out.append((sum(found.placement.placed.values()), -cost))
    placed, cost = max(out)
    return placed, -cost


@settings(max_examples=scaled(25), deadline=None)
@given(shops())
def test_nothing_cheaper_places_as_many(shop: tuple[Cluster, tuple[NodeKind, ...]]) -> None:
    cluster, kinds = shop
    _, cost, placed = bought(cluster, *kinds)
    assert (placed, cost) == cheapest(cluster, kinds)
