"""A cluster after pods are bound one after another: each pod takes the devices of its claims."""

from io import BytesIO
from typing import Any

import msgspec
import pytest

from kschedctl.objects.core import Node
from kschedctl.objects.device import DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.devices.inventory import Inventory
from kschedctl.trials.loaded_cluster import LoadedCluster
from tests.builders import GPU, load_engine, make_container, make_node, make_object, make_pod
from tests.scheduler.devices.builders import claiming_pod, make_claim, make_class, make_device, make_slice, request

A_GPU = make_container(resources={"requests": {GPU: "1"}, "limits": {GPU: "1"}})
TWO = [make_device("x"), make_device("y")]
SHARED = make_device("x", "8Gi", allowMultipleAllocations=True)
DEVICES = "resource.k8s.io/v1"
KINDS: dict[Any, tuple[str, str]] = {
    Node: ("v1", "Node"),
    Pod: ("v1", "Pod"),
    DeviceClass: (DEVICES, "DeviceClass"),
    ResourceClaim: (DEVICES, "ResourceClaim"),
    ResourceSlice: (DEVICES, "ResourceSlice"),
    ResourceClaimTemplate: (DEVICES, "ResourceClaimTemplate"),
}


def loaded(*objects: Any) -> LoadedCluster:
    nodes = [make_node("a"), make_node("b")]
    given = [
        {"apiVersion": KINDS[type(obj)][0], "kind": KINDS[type(obj)][1], **msgspec.to_builtins(obj)}
        for obj in (*nodes, make_class(), *objects)
    ]
    text = b"\n".join(map(msgspec.json.encode, given))
    return load_engine("-", stdin=BytesIO(text), kubernetes_version="1.36")


def placed(cluster: LoadedCluster, *pods: Pod) -> list[str]:
    """Return the nodes of pods that are placed one after another; empty for a pod that fits nowhere."""
    out = []
    for pod in pods:
        decision = cluster.decide(pod)
        out.append(decision.best[0] if decision.best else "")
        if decision.best:
            cluster = cluster.with_bound(decision, decision.best[0])
            # What is kept of the devices is what would be found anew.
            for rules, kept in cluster.cluster.kept(Inventory):
                fresh = Inventory(cluster.cluster, kept.rules)
                assert kept.usage == fresh.usage
                assert kept.in_use.tolist() == fresh.in_use.tolist()
                assert kept.shares.tolist() == fresh.shares.tolist()
                assert rules == kept.rules
    return out


def named(name: str, *claims: str) -> Pod:
    return msgspec.structs.replace(
        claiming_pod(*claims), metadata=msgspec.structs.replace(make_pod().metadata, name=name, uid=f"uid-{name}")
    )


@pytest.mark.parametrize(
    ("objects", "pods", "nodes"),
    [
        pytest.param(
            [make_slice("s", *TWO, node="b"), *(make_claim(name) for name in "cde")],
            [named("p", "c"), named("q", "d"), named("r", "e")],
            ["b", "b", ""],
            id="two devices are for two claims",
        ),
        pytest.param(
            [make_slice("s", node="b"), make_claim("c")],
            [named("p", "c"), named("q", "c"), named("r", "c")],
            ["b", "b", "b"],
            id="a claim that all use",
        ),
        pytest.param(
            [
                make_slice("s", SHARED, node="b"),
                *(make_claim(name, request("r", 1, capacity={"memory": "3Gi"})) for name in "cde"),
            ],
            [named("p", "c"), named("q", "d"), named("r", "e")],
            ["b", "b", ""],
            id="shares, as long as there is capacity",
        ),
        pytest.param(
            [make_slice("s", *TWO, node="b"), make_class("nvidia", resource=GPU)],
            [make_pod(name, containers=[A_GPU]) for name in "pqr"],
            ["b", "b", ""],
            id="an extended resource that a class stands for",
        ),
    ],
)
def test_pods_one_after_another(objects: list[Any], pods: list[Pod], nodes: list[str]) -> None:
    assert placed(loaded(*objects), *pods) == nodes


def test_a_replica_has_claims_of_its_own() -> None:
    template = make_object(
        ResourceClaimTemplate, "gpus", namespace="default", spec={"spec": {"devices": {"requests": [request()]}}}
    )
    entry = {"name": "gpu", "resourceClaimTemplateName": "gpus"}
    cluster = loaded(make_slice("s", *TWO, node="b"), template)
    (made,) = cluster.pods_of(make_pod("web", resourceClaims=[entry]))
    cluster = cluster.with_made([made])
    fitting = []
    for name in ("web", "web-1", "web-2"):
        cluster, pod = cluster.with_replica(made.pod, name)
        assert [status.resource_claim_name for status in pod.status.resource_claim_statuses] == [f"{name}-gpu"]
        decision = cluster.decide(cluster.admit(pod).pod)
        fitting.append(decision.schedulable)
        if decision.schedulable:
            cluster = cluster.with_bound(decision, "b")
    assert fitting == [True, True, False]
