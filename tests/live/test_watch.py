"""``kschedctl watch`` on a real control plane: changes, restarts, cut connections, two replicas, and many pods."""

import json
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from kschedctl.sources.live.api_server import ObjectClient
from kschedctl.sources.live.kubeconfig import LiveContext
from tests.live.cable import Cable
from tests.live.conftest import node, pod
from tests.live.control_plane import ControlPlane, missing_assets
from tests.live.watching import Watching, explained, wait_for
from tests.paths import ROOT

pytestmark = pytest.mark.live

METRICS: Final = ("--metrics", "127.0.0.1:0")
TIMES: Final = ("--lease-duration", "4s", "--renew-deadline", "1.5s", "--retry-period", "500ms")
HUGE: Final = "64"
NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "operator": "Exists"}

Object = dict[str, Any]


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Start a separate etcd and API server, as tests restart it; the test acts as the scheduler."""
    missing = missing_assets()
    if missing:
        pytest.skip(f"no control plane to test against: {missing}")
    plane = ControlPlane(tmp_path_factory.mktemp("watched"))
    try:
        plane.start()
        plane.create([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}])
        yield plane
    finally:
        plane.stop()


@pytest.fixture
def nodes(plane: ControlPlane) -> Iterator[ControlPlane]:
    """Return a cluster with two nodes, and remove all other objects afterwards."""
    plane.create_nodes([node("red-1", zone="red", cpu="2"), node("blue-1", zone="blue", cpu="4")])
    yield plane
    plane.kubectl("delete", "pods,nodes", "--all", "-A", "--force", "--grace-period=0")
    plane.kubectl("delete", "events", "--all", "-n", "shop")


#: Starts a watch with the kubeconfig, options and a name.
Start = Callable[..., Watching]


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts watches; all of them end with the test."""
    started: list[Watching] = []

    def start(kubeconfig: Path, *options: str, name: str = "watch") -> Watching:
        started.append(Watching(kubeconfig, tmp_path, *options, name=name))
        return started[-1]

    yield start
    for watch in started:
        watch.kill()


def bind(plane: ControlPlane, name: str, to: str) -> None:
    """Bind a pod to a node like the scheduler."""
    target = {"apiVersion": "v1", "kind": "Node", "name": to}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, "namespace": "shop"}, "target": target}
    plane.kubectl("create", "--raw", f"/api/v1/namespaces/shop/pods/{name}/binding", "-f", "-", given=binding)


def agree(watch: Watching, plane: ControlPlane) -> None:
    """Check that the last answers equal those of a new snapshot, once the cluster is idle."""

    def same() -> bool:
        fresh = explained(plane.kubeconfig)
        last = {pod: answer for pod, answer in watch.last().items() if answer.outcome != "scheduled"}
        return fresh == last

    wait_for(same, "the last answers to be those of a fresh explain")


def events(plane: ControlPlane) -> list[tuple[str, str, str]]:
    """Return kschedctl's Events: pod, reason and note."""
    return [
        (event["regarding"]["name"], event["reason"], event["note"])
        for event in plane.get("events.v1.events.k8s.io")
        if event.get("reportingController") == "kschedctl"
    ]


def test_answers_follow_the_cluster_and_are_told_once(nodes: ControlPlane, watching: Start) -> None:
    nodes.create([pod("fits", cpu="1"), pod("waits", cpu="6"), pod("gated", schedulingGates=[{"name": "x.com/y"}])])
    watch = watching(nodes.kubeconfig, *METRICS)
    wait_for(lambda: watch.said("shop/gated"), "the first answers")
    first = watch.of("shop/waits")[0]
    assert (first["result"], first["groups"]) == (
        "unschedulable",
        [{"nodes": 2, "plugin": "NodeResourcesFit", "reasons": ["Insufficient cpu"]}],
    )
    assert first["closest"] == "no node could hold the pod even if empty: the largest has 4 cpu"
    assert watch.lines[0][1]["kind"] == "WatchBegun"
    bind(nodes, "fits", "red-1")
    nodes.create([pod("later", cpu="7")])
    wait_for(lambda: watch.said("shop/later"), "the answer of a new pod")
    nodes.create_nodes([node("green-1", zone="green", cpu="6500m")])
    wait_for(lambda: "scheduled" in watch.said("shop/waits"), "a pod that fits by now")
    bind(nodes, "waits", "green-1")
    nodes.kubectl("delete", "pod", "-n", "shop", "gated", "--force", "--grace-period=0")
    wait_for(lambda: "PodGone" in watch.said("shop/gated"), "a pod that is gone")
    wait_for(lambda: "PodPlaced" in watch.said("shop/waits"), "a pod that is placed")
    assert not watch.said("shop/fits"), "what is placed at once is not told of"
    assert watch.said("shop/gated") == ["gated", "PodGone"]
    agree(watch, nodes)
    told = [json.dumps({**said, "at": ""}) for _, said in watch.lines]
    assert all(one != other for one, other in pairwise(told))
    assert (watch.get("/healthz"), watch.get("/readyz")) == ((200, "ok"), (200, "ok"))
    assert watch.get("/other")[0] == 404
    metrics = watch.metrics()
    assert metrics["kschedctl_watch_pods_waiting NodeResourcesFit"] == len(watch.last())
    assert metrics["kschedctl_watch_answers_total gated"] == metrics["kschedctl_watch_leading"] == 1
    assert metrics["kschedctl_watch_cache_age_seconds"] < 90
    assert watch.end(signal.SIGINT) == 0
    assert "Traceback" not in watch.errors


def test_restart_of_the_api_server_is_got_over(nodes: ControlPlane, watching: Start) -> None:
    """etcd's history is compacted meanwhile: old watches are rejected with 410, and the kinds are listed again."""
    nodes.create([pod("waits", cpu="6"), pod("goes", cpu=HUGE)])
    watch = watching(nodes.kubeconfig, *METRICS)
    wait_for(lambda: len(watch.last()) == 2, "the first answers")
    before = len(watch.lines)
    # The server goes on in versions that we are not told of.
    nodes.kubectl("create", "configmap", "unwatched", "-n", "shop")
    nodes.stop("kube-apiserver")
    nodes.compact()
    wait_for(lambda: "warning: the cluster state is" in watch.errors, "word of a server that is gone")
    nodes.start_again()
    # While nothing is watched yet, or shortly after.
    nodes.kubectl("delete", "pod", "-n", "shop", "goes", "--force", "--grace-period=0")
    nodes.create([pod("new", cpu=HUGE)])
    nodes.kubectl("taint", "node", "blue-1", "team=db:NoSchedule")
    wait_for(lambda: "PodGone" in watch.said("shop/goes", before), "what happened meanwhile")
    wait_for(lambda: watch.said("shop/new", before) and watch.said("shop/waits", before), "answers as before", 60)
    wait_for(lambda: "answers again" in watch.errors, "word of a server that is back")
    agree(watch, nodes)
    kinds = [said["kind"] for _, said in watch.lines if said["kind"].startswith("Watch")]
    assert (kinds[0], kinds[1], kinds[-1]) == ("WatchBegun", "WatchStale", "WatchCurrent")
    assert len(kinds) <= 4, "an outage is one line for each cause, and its end"
    metrics = watch.metrics()
    lists = {name: number for name, number in metrics.items() if name.startswith("kschedctl_watch_lists_total")}
    # Of a kind that it was told of at the last moment it may know all.
    assert max(lists.values()) > 1, "the server no longer knows what happened since"
    assert watch.get("/readyz")[0] == 200
    nodes.kubectl("taint", "node", "blue-1", "team=db:NoSchedule-")
    agree(watch, nodes)
    assert watch.end() == 0
    assert "Traceback" not in watch.errors


def test_connections_that_break_off_are_begun_again_where_they_were(
    nodes: ControlPlane, tmp_path: Path, watching: Start
) -> None:
    cable = Cable(nodes.kubeconfig, tmp_path / "kubeconfig")
    nodes.create([pod("waits", cpu="6")])
    watch = watching(tmp_path / "kubeconfig", *METRICS)
    wait_for(lambda: watch.last(), "the first answer")
    before = len(watch.lines)
    cable.drop()
    nodes.create([pod("new", cpu=HUGE)])
    wait_for(lambda: watch.said("shop/new"), "an answer after all connections were ended")
    agree(watch, nodes)
    assert not watch.said("shop/waits", before), "an answer that is the same is not told again"
    lists = {name: number for name, number in watch.metrics().items() if name.startswith("kschedctl_watch_lists_total")}
    assert set(lists.values()) == {1.0}, "nothing had to be listed anew"
    assert watch.end() == 0
    cable.close()


def test_two_copies_write_each_answer_once_whoever_dies(nodes: ControlPlane, watching: Start) -> None:
    options = ("--events", "--leader-elect", "--lease", "kube-system/watch", *TIMES, *METRICS)
    nodes.create([pod("waits", cpu="6")])
    copies = [watching(nodes.kubeconfig, *options, "--identity", f"copy-{i}", name=f"copy-{i}") for i in range(2)]
    wait_for(lambda: any(copy.last() for copy in copies), "somebody to lead")
    leader, other = sorted(copies, key=lambda copy: -len(copy.last()))
    wait_for(lambda: "nothing is reported until" in other.errors, "the other to say that it stands by")
    nodes.create([pod(f"more-{i}", cpu=HUGE) for i in range(3)])
    wait_for(lambda: len(events(nodes)) == 4, "an Event per answer")
    assert not other.last()
    assert (leader.metrics()["kschedctl_watch_leading"], other.metrics()["kschedctl_watch_leading"]) == (1, 0)
    assert other.get("/healthz")[0] == 200
    leader.kill()
    nodes.create([pod("orphan", cpu=HUGE)])
    wait_for(lambda: "shop/orphan" in other.last(), "the other to take over")
    wait_for(lambda: len(events(nodes)) == 5, "the Event that nobody wrote meanwhile")
    # Every answer is another now, and then the first one again.
    nodes.kubectl("taint", "node", "blue-1", "team=db:NoSchedule")
    wait_for(lambda: len(events(nodes)) == 10, "Events of other answers")
    nodes.kubectl("taint", "node", "blue-1", "team=db:NoSchedule-")
    wait_for(lambda: observations(nodes) == 15, "further observations of the first answers")
    agree(other, nodes)
    assert set(Counter(pod for pod, _, _ in events(nodes)).values()) == {2}, "an Event per answer"
    # A copy that begins to lead writes only what is not the newest Event already.
    heir = watching(nodes.kubeconfig, *options, "--identity", "heir", name="heir")
    wait_for(lambda: "nothing is reported until" in heir.errors, "the heir to stand by")
    other.kill()
    wait_for(lambda: len(heir.last()) == 5, "the heir to take over")
    time.sleep(2)
    assert observations(nodes) == 15
    assert heir.metrics()["kschedctl_watch_events_total known"] == 5
    other = heir
    assert {reason for _, reason, _ in events(nodes)} == {"Unschedulable"}
    too_small = "no node could hold the pod even if empty"
    assert any("Insufficient cpu" in note and too_small in note for _, _, note in events(nodes))
    assert other.end() == 0
    (lease,) = [lease for lease in nodes.get("leases") if lease["metadata"]["name"] == "watch"]
    assert not lease["spec"].get("holderIdentity"), "it is given up"


def test_rights_of_the_manifests_suffice(nodes: ControlPlane, tmp_path: Path, watching: Start) -> None:
    nodes.kubectl("apply", "-f", str(ROOT / "deploy" / "watch" / "watch.yaml"))
    token = nodes.kubectl("create", "token", "kschedctl-watch", "-n", "kschedctl").strip()
    config = json.loads(nodes.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    config["contexts"][0]["context"]["namespace"] = "kschedctl"
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps(config))
    nodes.create([pod("waits", cpu="6")])
    watch = watching(kubeconfig, "--events", "--leader-elect")
    wait_for(lambda: [event for event in events(nodes) if event[0] == "waits"], "an Event")
    assert watch.lines[0][1]["warnings"] == []
    assert watch.end() == 0
    assert "kschedctl/kschedctl-watch is held by this replica" in watch.errors
    assert not [line for line in watch.errors.splitlines() if "forbidden" in line or "cannot" in line]
    mays = ("create pods", "update pods", "get secrets", "delete events", "update leases -n kube-system", "list leases")
    for may in mays:
        answer = nodes.kubectl_fails("auth", "can-i", *may.split(), f"--token={token}")
        assert answer.strip().endswith("no"), may


def observations(plane: ControlPlane) -> int:
    """Return the number of times that Events of ``watch`` were observed."""
    return sum(
        (event.get("series") or {}).get("count", 1)
        for event in plane.get("events.v1.events.k8s.io")
        if event.get("reportingController") == "kschedctl"
    )


N_NODES, N_RUNNING, N_WAITING, N_CHANGES = 1000, 4800, 200, 2000


class Load:
    """Many objects, created and changed over a few connections."""

    def __init__(self, plane: ControlPlane) -> None:
        self._clients = [ObjectClient(LiveContext(kubeconfig=str(plane.kubeconfig))) for _ in range(6)]
        self._pool = ThreadPoolExecutor(len(self._clients))
        self._random = Random(1)

    def all(self, method: str, paths: list[tuple[str, Object | None]]) -> None:
        """Send all requests, several at a time."""

        def part(at: int) -> None:
            for path, body in paths[at :: len(self._clients)]:
                self.ask(method, path, body, at)

        for done in [self._pool.submit(part, at) for at in range(len(self._clients))]:
            done.result()

    def ask(self, method: str, path: str, body: Object | None, client: int = 0) -> None:
        self._clients[client].request(method, path, None if body is None else json.dumps(body).encode(), 30.0)

    def running(self, number: int) -> Object:
        """Return a pod on some node."""
        on = f"node-{self._random.randrange(N_NODES):04}"
        return pod(f"run-{number}", cpu="500m", labels={"app": f"a{number % 40}"}, nodeName=on, tolerations=[NOT_READY])

    def churn(self, number: int) -> None:
        """Delete one pod and create another: two changes."""
        self.ask("DELETE", f"{PODS}/run-{number}", {"gracePeriodSeconds": 0})
        self.ask("POST", PODS, self.running(number))


def seconds_until(watch: Watching, name: str) -> float:
    """Return the seconds from the call until the answer about a new pod arrived."""
    done = time.time()
    wait_for(lambda: watch.said(f"shop/{name}"), "the answer of a new pod")
    return next(at for at, said in watch.lines if said.get("name") == name) - done


PODS: Final = "/api/v1/namespaces/shop/pods"


@pytest.mark.slow
def test_many_pods_cost_bounded_memory_and_each_is_answered(
    plane: ControlPlane, tmp_path: Path, watching: Start
) -> None:
    load = Load(plane)
    load.all("POST", [("/api/v1/nodes", node(f"node-{i:04}", zone=f"z{i % 3}", cpu="4")) for i in range(N_NODES)])
    load.all("POST", [(PODS, load.running(i)) for i in range(N_RUNNING)])
    waiting = [
        pod(f"wait-{i}", cpu=f"{5 + i % 8}", labels={"app": f"w{i % 8}"}, tolerations=[NOT_READY])
        for i in range(N_WAITING)
    ]
    load.all("POST", [(PODS, one) for one in waiting])
    watch = watching(plane.kubeconfig, *METRICS)
    wait_for(lambda: len(watch.last()) == N_WAITING, "the first answers", 60)
    first = watch.resident_mib
    after, memory = [], []
    for i in range(N_CHANGES // 2):
        load.churn(i)
        if i % 50 == 49:
            load.ask("POST", PODS, pod(f"probe-{i}", cpu=HUGE, tolerations=[NOT_READY]))
            after.append(seconds_until(watch, f"probe-{i}"))
            memory.append(watch.resident_mib)
    before = len(watch.lines)
    load.ask("POST", "/api/v1/nodes", node("one-more", zone="z0", cpu="4"))
    done = time.time()
    wait_for(lambda: len(watch.lines) >= before + N_WAITING, "another answer for all pods that wait")
    all_after = max(at for at, _ in watch.lines) - done
    metrics = watch.metrics()
    per_round, own_delay = (
        metrics[f"kschedctl_watch_{name}_seconds_sum"] / metrics[f"kschedctl_watch_{name}_seconds_count"]
        for name in ("round", "answered_after")
    )
    print(
        f"first {first:.0f} MiB, then {memory[0]:.0f} to {max(memory):.0f}, last {memory[-1]:.0f} MiB; "
        f"answers after {sorted(after)[len(after) // 2]:.2f} s, at most {max(after):.2f} s; "
        f"all {N_WAITING} after {all_after:.2f} s; "
        f"{per_round:.3f} s per round, told {own_delay:.3f} s after changes came"
    )
    agree(watch, plane)
    assert watch.end() == 0
    assert max(memory) < first * 1.2 + 10
    assert memory[-1] < memory[len(memory) // 2] + 5, "it does not go on growing"
