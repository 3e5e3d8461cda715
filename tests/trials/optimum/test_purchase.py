"""Catalogs: valid content, and problems with their lines."""

from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import InputError
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import DaemonSet
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.optimum.purchase import Catalog, NodeKind, buy, read_catalog
from kschedctl.trials.optimum.question import no_evictions, pose
from kschedctl.trials.optimum.search import best
from kschedctl.trials.simulate.world import with_more_nodes
from tests.builders import ZONE, make_cluster, make_node, make_pod
from tests.example_counts import scaled
from tests.paths import ROOT

GOOD = """\
kinds:
- name: general
  price: 0.192
  most: 3
  allocatable: {cpu: 4, memory: 14Gi, pods: 58}
  labels: {zone: a}
  taints: [{key: dedicated, effect: NoSchedule}]
- {name: large, price: "1", allocatable: {cpu: 8, memory: 30Gi, pods: 58}}
"""


def read(tmp_path: Path, text: str) -> tuple[str, ...]:
    """Return the problems of a catalog, each with line and column."""
    path = tmp_path / "catalog.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_catalog(str(path))
    return tuple(str(f).replace(f"{path}:", "").splitlines()[0] for f in error.value.findings)


def test_kinds_are_read_with_prices_in_millionths(tmp_path: Path) -> None:
    path = tmp_path / "catalog.yaml"
    path.write_text(GOOD)
    general, large = read_catalog(str(path)).kinds
    assert (general.cost, general.most, large.cost, large.most) == (192_000, 3, 1_000_000, None)
    node = general.node(2)
    assert node.name == "general-new-2"
    assert node.metadata.labels == {"zone": "a", "kubernetes.io/hostname": "general-new-2"}
    assert node.status.allocatable == {"cpu": "4", "memory": "14Gi", "pods": "58"}
    assert [taint.key for taint in node.spec.taints] == ["dedicated"]


def test_the_offerings_of_instance_types_are_kinds() -> None:
    kinds = {each.name: each for each in read_catalog(str(ROOT / "fixtures/pools/instance-types.yaml")).kinds}
    kind = kinds["m7g.large-eu-west-1a-on-demand"]
    assert (kind.cost, kind.most, kind.allocatable["cpu"]) == (81_600, None, "1930m")
    labels = kind.node(1).metadata.labels
    assert labels["topology.kubernetes.io/zone"] == "eu-west-1a"
    assert labels["node.kubernetes.io/instance-type"] == "m7g.large"


def test_instance_types_without_prices_are_no_catalog(tmp_path: Path) -> None:
    (said,) = read(tmp_path, "instanceTypes:\n- {name: a, offerings: [{zone: z, capacityType: on-demand}]}\n")
    assert "its instance types have no prices" in said


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ("name: general", "name: General", "2:9: kinds[0].name: a lowercase RFC 1123 subdomain must consist"),
        ("name: general", "title: general", "2:10: kinds[0].title: unknown field"),
        ("name: large", "name: general", '8:10: kinds[1].name: "general" is defined twice'),
        ("price: 0.192", "price: cheap", '3:10: kinds[0].price: "cheap" is not a price'),
        ("price: 0.192", "price: -1", '3:10: kinds[0].price: "-1" is not a price'),
        ("price: 0.192", "price: 0.1234567", '3:10: kinds[0].price: "0.1234567" is not a price'),
        ("price: 0.192", "price: [1]", "3:10: kinds[0].price: expected string, got array"),
        ("most: 3", "most: -3", "4:9: kinds[0].most: must not be negative"),
        ("cpu: 4,", "cpu: 4z,", '5:22: kinds[0].allocatable[cpu]: "4z": quantities must match'),
        ("cpu: 4,", "cpu: -4,", "5:22: kinds[0].allocatable[cpu]: must not be negative"),
        ("cpu: 4, ", "", "5:16: kinds[0].allocatable: cpu is missing"),
        ("zone: a", "zone: '-'", "6:18: kinds[0].labels[zone]: a valid label must be an empty string"),
        ("effect: NoSchedule", "effect: Never", '7:37: kinds[0].taints[0].effect: "Never" is not a taint effect'),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_column(was: str, now: str, said: str, tmp_path: Path) -> None:
    assert was in GOOD
    assert any(each.startswith(said) for each in read(tmp_path, GOOD.replace(was, now, 1)))


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "is not an object"), ("- 1", "is not an object"), ("kinds: []", "kinds: no kind of node is defined")],
)
def test_what_is_no_catalog(text: str, said: str, tmp_path: Path) -> None:
    assert any(said in each for each in read(tmp_path, text))


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(InputError, match="cannot be read: No such file or directory"):
        read_catalog("nowhere.yaml")


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
        found = best(pose(Scheduler(with_more_nodes(cluster, nodes)), no_evictions), seconds=600)
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
