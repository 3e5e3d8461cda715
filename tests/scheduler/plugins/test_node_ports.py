from typing import Any

import pytest

from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.plugins.node_ports import HostPort, PortInUse, PortOfNominatedPod
from tests.builders import decide, make_cluster, make_container, make_node, make_pod, reason, said, told

PLUGIN = "NodePorts"
TAKEN = Status(Code.UNSCHEDULABLE, ("node(s) didn't have free ports for the requested pod ports",))


def port(host_port: int, **fields: Any) -> dict[str, Any]:
    return {"containerPort": 80, "hostPort": host_port, **fields}


def pod_with(*ports: dict[str, Any], name: str = "pod", node: str = "") -> Any:
    return make_pod(name, node=node, containers=[make_container(ports=list(ports))])


@pytest.mark.parametrize(
    ("wanted", "used", "expected"),
    [
        pytest.param([port(8080)], [], Status(), id="a free node"),
        pytest.param([port(8080)], [port(8080)], TAKEN, id="the same port"),
        pytest.param([port(8080)], [port(8081)], Status(), id="another port"),
        pytest.param([port(8081), port(8080)], [port(8080)], TAKEN, id="one of several"),
        pytest.param([port(8080, protocol="UDP")], [port(8080)], Status(), id="TCP is the default, UDP is another"),
        pytest.param([port(8080, protocol="TCP")], [port(8080)], TAKEN, id="TCP is the default"),
        pytest.param(
            [port(8080, hostIP="127.0.0.1")], [port(8080, hostIP="127.0.0.2")], Status(), id="different addresses"
        ),
        pytest.param([port(8080, hostIP="127.0.0.1")], [port(8080, hostIP="127.0.0.1")], TAKEN, id="same address"),
        pytest.param([port(8080)], [port(8080, hostIP="127.0.0.1")], TAKEN, id="no address means every address"),
        pytest.param([port(8080, hostIP="127.0.0.1")], [port(8080, hostIP="0.0.0.0")], TAKEN, id="so does 0.0.0.0"),
        pytest.param([{"containerPort": 80}], [port(80)], Status(), id="container ports alone do not matter"),
    ],
)
def test_host_ports(wanted: list[dict[str, Any]], used: list[dict[str, Any]], expected: Status) -> None:
    cluster = make_cluster([make_node()], [pod_with(*used, name="web", node="node")])
    assert said(decide(pod_with(*wanted), cluster), PLUGIN) == expected


@pytest.mark.parametrize(
    ("used_by", "expected"),
    [
        pytest.param({"initContainers": [make_container(ports=[port(80)])]}, Status(), id="init containers are over"),
        pytest.param(
            {"initContainers": [make_container(ports=[port(80)], restartPolicy="Always")]}, TAKEN, id="sidecars stay"
        ),
        pytest.param(
            {"hostNetwork": True, "containers": [make_container(ports=[{"containerPort": 80}])]},
            TAKEN,
            id="on the host network container ports are host ports",
        ),
    ],
)
def test_who_uses_ports(used_by: dict[str, Any], expected: Status) -> None:
    cluster = make_cluster([make_node()], [make_pod("web", node="node", **used_by)])
    assert said(decide(pod_with(port(80)), cluster), PLUGIN) == expected


def test_detail_names_the_port_and_who_uses_it() -> None:
    cluster = make_cluster([make_node()], [pod_with(port(8080, hostIP="127.0.0.1"), name="web", node="node")])
    found = reason(decide(pod_with(port(1), port(8080)), cluster), PLUGIN)
    assert found.detail == "host port 8080/TCP is used by default/web"
    assert found.data == {"port": "8080/TCP", "pod": "default/web"}


def test_a_port_of_a_nominated_pod() -> None:
    web = make_pod("web", nominated="node", containers=[make_container(ports=[port(8080)])])
    verdict = decide(pod_with(port(8080)), make_cluster([make_node()], [web])).node("node")
    assert verdict.status == Status(Code.UNSCHEDULABLE, TAKEN.reasons, PLUGIN)
    ((_, (found,)),) = verdict.reasons
    assert found.detail == "host port is used by a pod nominated to the node"


def test_a_pod_without_host_ports_skips_the_filter() -> None:
    assert PLUGIN in decide(make_pod(), make_cluster([make_node()])).state.skip_filter_plugins


@pytest.mark.parametrize(
    ("operands", "words", "data"),
    [
        pytest.param(
            PortInUse(HostPort("0.0.0.0", "TCP", 80), "shop/web"),
            "host port 80/TCP is used by shop/web",
            {"port": "80/TCP", "pod": "shop/web"},
            id="any address",
        ),
        pytest.param(
            PortInUse(HostPort("10.0.0.1", "UDP", 53), "default/dns"),
            "host port 10.0.0.1:53/UDP is used by default/dns",
            {"port": "10.0.0.1:53/UDP", "pod": "default/dns"},
            id="one address",
        ),
        pytest.param(PortOfNominatedPod(), "host port is used by a pod nominated to the node", {}, id="nominated"),
    ],
)
def test_operands(operands: Operands, words: str, data: dict[str, Any]) -> None:
    assert told(operands) == (words, data)
