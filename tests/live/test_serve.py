"""``kschedctl serve`` on a real control plane: answers follow the cluster, and outages are reported."""

import http.client
import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.live.conftest import node, pod
from tests.live.control_plane import ControlPlane, missing_assets
from tests.web.running import Running, running

pytestmark = pytest.mark.live

_SECONDS = 60.0


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Start a separate etcd and API server, as a test stops it."""
    missing = missing_assets()
    if missing:
        pytest.skip(f"no control plane to test against: {missing}")
    plane = ControlPlane(tmp_path_factory.mktemp("served"))
    try:
        plane.start()
        plane.create([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}])
        plane.create_nodes([node("red-1", zone="red", cpu="2")])
        plane.create([pod("waits", cpu="3")])
        yield plane
    finally:
        plane.stop()


@pytest.fixture
def server(plane: ControlPlane) -> Iterator[Running]:
    with running("--kubeconfig", str(plane.kubeconfig), "--workers", "1") as server:
        yield server


def get(server: Running, path: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    with closing(connection):
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read()
        return response.status, json.loads(body) if body.startswith(b"{") else body.decode()


def wait_for(condition: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + _SECONDS
    while not condition():
        assert time.monotonic() < until, f"waited for {what}"
        time.sleep(0.1)


def nodes_of_the_pod(server: Running) -> list[str]:
    status, answer = get(server, "/api/v1/pods/shop/waits/explain")
    assert status == 200, answer
    found: list[str] = answer["verdict"]["nodes"]
    return found


def test_answers_and_events_follow_the_cluster(plane: ControlPlane, server: Running) -> None:
    assert nodes_of_the_pod(server) == []
    with server.open() as connection:
        connection.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        received = b""
        while b"\n\n" not in received:
            received += connection.recv(4096)
        assert b'"live":true' in received
        before = get(server, "/api/v1/cluster")[1]
        plane.create_nodes([node("blue-1", zone="blue", cpu="4")])
        while received.count(b"event: cluster") < 2:
            received += connection.recv(4096)
    wait_for(lambda: nodes_of_the_pod(server) == ["blue-1"], "the new node")
    after = get(server, "/api/v1/cluster")[1]
    assert (before["nodes"], after["nodes"]) == (1, 2)
    assert after["snapshot"]["writtenAt"] > before["snapshot"]["writtenAt"]
    plane.kubectl("delete", "node", "blue-1")
    wait_for(lambda: nodes_of_the_pod(server) == [], "the end of the node")
    # A what-if about the moving cluster.
    assert get(server, "/api/v1/pods/shop/waits/explain?set-request=cpu%3D1")[1]["verdict"]["nodes"] == ["red-1"]


def test_workloads_and_leases_are_followed_too(plane: ControlPlane, server: Running) -> None:
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "kube-scheduler", "namespace": "kube-system"},
        "spec": {"holderIdentity": "one", "leaseDurationSeconds": 15, "renewTime": "2026-05-04T10:00:00.000000Z"},
    }
    plane.create([lease])
    wait_for(lambda: "one" in json.dumps(get(server, "/api/v1/leader")[1]["elections"]), "the Lease")
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    spec = {"selector": {"matchLabels": {"app": "a"}}, "template": template}
    metadata = {"name": "a", "namespace": "shop"}
    plane.create([{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}])
    wait_for(lambda: get(server, "/api/v1/workloads/Deployment/shop/a")[0] == 200, "the Deployment")


def test_an_outage_is_reported_and_ends(plane: ControlPlane, server: Running) -> None:
    wait_for(lambda: get(server, "/readyz")[0] == 200, "a process with the cluster")
    plane.stop("kube-apiserver")
    try:
        wait_for(lambda: get(server, "/readyz")[0] == 500, "the report of the outage")
        assert "[-]cluster failed: reason withheld" in get(server, "/readyz")[1]
        # Answers are those of the last state.
        assert nodes_of_the_pod(server) == []
    finally:
        plane.start_again()
    wait_for(lambda: get(server, "/readyz")[0] == 200, "the end of the outage")
