"""An answer under an overlay equals the answer on a snapshot in which the pods were really removed or added."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.objects.meta import LabelSelector
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import RELEASES
from kschedctl.scheduler.framework.interface import Plugin
from kschedctl.scheduler.framework.status import Code
from kschedctl.scheduler.plugins.inter_pod_affinity.plugin import InterPodAffinity
from kschedctl.scheduler.plugins.node_ports import NodePorts
from kschedctl.scheduler.plugins.node_resources.fit import NodeResourcesFit
from kschedctl.scheduler.plugins.pod_topology_spread.plugin import PodTopologySpread
from kschedctl.testing.contract import plugin_checks
from kschedctl.testing.samples import Sample, SampleObjects
from tests.builders import ZONE, decide, make_cluster, make_node, make_pod, said
from tests.strategies import pods, uses_ports_once, worlds


@pytest.mark.parametrize(
    ("plugin", "aspect", "of_nodes"),
    [
        pytest.param(NodeResourcesFit, "requests", ("offers",), id="resources"),
        pytest.param(NodePorts, "ports", ("labels",), id="ports"),
        pytest.param(PodTopologySpread, "spread", ("labels",), id="spread"),
        pytest.param(PodTopologySpread, "spread", ("labels", "taints"), id="spread over tainted nodes"),
        pytest.param(InterPodAffinity, "podAffinity", ("labels",), id="pod affinity"),
    ],
)
@given(data=st.data())
def test_overlay_equals_really_changing(
    plugin: type[Plugin], aspect: str, of_nodes: tuple[str, ...], data: st.DataObject
) -> None:
    world = data.draw(worlds(aspect, of_nodes=of_nodes, pending=2).filter(lambda world: uses_ports_once(world.pods)))
    pod = data.draw(pods(aspect, "nodeSelector", "tolerations").filter(_selects_something))
    sample = Sample("drawn", pod, SampleObjects((*world.nodes, *world.pods, *world.namespaces)))
    checks = {check.clause.__name__: check for check in plugin_checks(plugin, samples=[sample])}
    checks["overlay_equals_really_changing"]()


def _selects_something(pod: Pod) -> bool:
    """Leave out what the scheduler itself counts differently; see the table below."""
    constraints = pod.spec.topology_spread_constraints
    return all(constraint.label_selector != LabelSelector() for constraint in constraints)


WEB = {"app": "web"}
NODES = [make_node("a", zone="a", taints=["closed:NoSchedule"]), make_node("b", zone="b")]


def spread_by(selector: dict[str, object], *, priority: int = 0) -> Pod:
    constraint = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return make_pod(labels=WEB, priority=priority, topologySpreadConstraints=[constraint])


@pytest.mark.parametrize(
    ("terminating", "nominated"),
    [
        # One pod in zone a, two that count in zone b.
        pytest.param([], ("b",), id="a victim that counts: 2 + 1 - 1 = 2, without it 1 + 1 - 1"),
        pytest.param(["victim"], ("b",), id="a terminating one does not count, yet it is taken off: 1 + 1 - 1 = 1"),
    ],
)
def test_spreading_takes_off_what_it_did_not_count(terminating: list[str], nominated: tuple[str, ...]) -> None:
    running = [
        make_pod("a1", node="a", labels=WEB, priority=9),
        make_pod("b1", node="b", labels=WEB, priority=9),
        *([make_pod("b2", node="b", labels=WEB, priority=9)] if terminating else []),
        make_pod("victim", node="b", labels=WEB, terminating=bool(terminating)),
    ]
    decision = decide(spread_by({"matchLabels": WEB}, priority=5), make_cluster(NODES, running))
    assert said(decision, "PodTopologySpread", "b").code is Code.UNSCHEDULABLE
    assert decision.post_filter is not None
    assert decision.post_filter.nominated == nominated


def test_spreading_by_an_empty_selector_counts_only_what_is_added() -> None:
    running = [make_pod(f"b{i}", node="b", labels=WEB) for i in range(3)]
    assert decide(spread_by({}), make_cluster(NODES, running)).best == ("b",)
    waiting = make_pod("waiting", labels=WEB, nominated="b")
    assert decide(spread_by({}), make_cluster(NODES, [*running, waiting])).best == ()


def port_80(name: str, priority: int, node: str = "") -> Pod:
    container = {"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}
    return make_pod(name, node=node, priority=priority, containers=[container])


def test_a_victim_frees_its_port_although_another_pod_has_the_same() -> None:
    running = [port_80("low", 0, "a"), port_80("high", 9, "a")]
    decision = decide(port_80("pod", 5), make_cluster([make_node("a")], running))
    assert decision.post_filter is not None
    assert decision.post_filter.nominated == ("a",)


def test_a_nominated_pod_holds_its_port_whoever_is_removed() -> None:
    waiting = make_pod("waiting", nominated="a", priority=9, containers=[{"name": "c", "ports": [{"hostPort": 80}]}])
    decision = decide(port_80("pod", 5), make_cluster([make_node("a")], [port_80("low", 0, "a"), waiting]))
    assert decision.post_filter is not None
    assert decision.post_filter.nominated == ()


@pytest.mark.parametrize(("version", "best"), [("1.36", ("a",)), ("1.37", ())])
def test_a_pod_that_waits_at_a_gate_holds_room_on_the_node_it_is_nominated_to_from_1_37_on(
    version: str, best: tuple[str, ...]
) -> None:
    gated = make_pod("gated", nominated="a", requests={"cpu": "4"}, schedulingGates=[{"name": "quota"}])
    cluster = make_cluster([make_node("a", cpu="4")], [gated])
    assert decide(make_pod(requests={"cpu": "1"}), cluster, release=RELEASES[version]).best == best
