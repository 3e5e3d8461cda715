"""Clusters with Karpenter: its objects are listed and watched where the API server serves them, and only read."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

import kschedctl
from tests.cli.in_process import run
from tests.live.conftest import node, pod
from tests.live.control_plane import ControlPlane, missing_assets
from tests.live.watching import Watching, wait_for

pytestmark = pytest.mark.live

GROUP: Final = "karpenter.sh"
READY: Final = {"type": "Ready", "status": "True", "reason": "Ready", "lastTransitionTime": "2026-11-01T00:00:00Z"}

Object = dict[str, Any]


def definition(kind: str) -> Object:
    """Return the definition of a kind of Karpenter that admits any object, as far as a client that reads sees it."""
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [served],
        },
    }


def pool(limit: str) -> Object:
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    on_demand = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}
    spec = {"nodeClassRef": reference, "requirements": [on_demand]}
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "NodePool",
        "metadata": {"name": "general"},
        "spec": {"limits": {"cpu": limit}, "template": {"spec": spec}},
        "status": {"conditions": [READY]},
    }


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Start a separate control plane: other tests expect an API server without other kinds."""
    missing = missing_assets()
    if missing:
        pytest.skip(f"no control plane to test against: {missing}")
    plane = ControlPlane(tmp_path_factory.mktemp("karpenter"))
    try:
        plane.start()
        plane.create([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}])
        plane.create([definition("NodePool"), definition("NodeClaim")])
        for name in ("nodepools", "nodeclaims"):
            plane.kubectl("wait", "--for=condition=Established", f"crd/{name}.{GROUP}", "--timeout=60s")
        plane.create([pool("4")])
        made = node("general-1", zone="red", cpu="4")
        made["metadata"]["labels"] |= {
            "karpenter.sh/nodepool": "general",
            "karpenter.sh/registered": "true",
            "karpenter.sh/initialized": "true",
            "karpenter.sh/capacity-type": "on-demand",
            "node.kubernetes.io/instance-type": "m7g.xlarge",
        }
        made["spec"]["providerID"] = "aws:///red/i-1"
        plane.create_nodes([made])
        plane.create([pod("holds", cpu="3", nodeName="general-1"), pod("waits", cpu="3")])
        yield plane
    finally:
        plane.stop()


def asked(plane: ControlPlane, *words: str) -> str:
    printed = run(*words, "--kubeconfig", str(plane.kubeconfig))
    assert "Traceback" not in printed.err
    return " ".join((printed.out + printed.err).split())


def test_a_running_cluster_is_answered_as_its_snapshot(plane: ControlPlane, tmp_path: Path) -> None:
    said = "Karpenter adds no node: NodePool general is at its limit of 4 cpu (4 used)"
    assert said in asked(plane, "explain", "waits", "-n", "shop")
    assert "raise the limit of NodePool general for cpu from 4 to 8 or more" in asked(plane, "pending", "-A")
    assert "Karpenter would launch no node for 1 pending pod" in asked(plane, "provision")
    assert "general-1 general keep" in asked(plane, "consolidate", "general-1")
    path = tmp_path / "snapshot.tar.gz"
    asked(plane, "snapshot", "-o", str(path))
    assert said in " ".join(kschedctl.load(str(path)).explain("shop/waits").to_text().split())


def test_a_user_who_may_not_list_them_is_told_so_in_one_line(plane: ControlPlane, tmp_path: Path) -> None:
    plane.kubectl("create", "serviceaccount", "reader", "-n", "shop")
    plane.kubectl("create", "clusterrole", "reader", "--verb=list,get", "--resource=nodes,pods")
    plane.kubectl("create", "clusterrolebinding", "reader", "--clusterrole=reader", "--serviceaccount=shop:reader")
    config = json.loads(plane.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": plane.kubectl("create", "token", "reader", "-n", "shop").strip()}
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps(config))
    printed = run("provision", "--kubeconfig", str(kubeconfig))
    assert printed.code == 3
    assert "nodepools.karpenter.sh cannot be listed by this user" in printed.err
    assert "Karpenter" not in run("explain", "waits", "-n", "shop", "--kubeconfig", str(kubeconfig)).out.splitlines()[0]


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[Callable[[Path], Watching]]:
    started: list[Watching] = []

    def start(kubeconfig: Path) -> Watching:
        started.append(Watching(kubeconfig, tmp_path))
        return started[-1]

    yield start
    for watch in started:
        watch.kill()


def test_watch_follows_node_pools(plane: ControlPlane, watching: Callable[[Path], Watching]) -> None:
    def told() -> str:
        return json.dumps(watch.of("shop/waits"))

    watch = watching(plane.kubeconfig)
    wait_for(lambda: "NodePool general is at its limit" in told(), "the limit of the NodePool")
    plane.kubectl("apply", "-f", "-", given=pool("64"))
    wait_for(lambda: "Karpenter would add a node of NodePool general" in told(), "the answer of the larger NodePool")
    assert watch.end() == 0
