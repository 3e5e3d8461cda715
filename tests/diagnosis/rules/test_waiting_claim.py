"""Waiting claims that get a volume on no selected node: stale nodes, static classes, topologies, storage capacity."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.core import Node
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.volume import CSIDriver, CSIStorageCapacity
from kschedctl.objects.workload import StatefulSet
from tests.builders import (
    HOSTNAME,
    ZONE,
    decide,
    make_claim,
    make_cluster,
    make_node,
    make_object,
    make_pod,
    make_storage_class,
    make_volume,
    mount,
)
from tests.diagnosis.rules.cures import cures

SELECTED = "volume.kubernetes.io/selected-node"
STATIC = make_storage_class("local", provisioner="kubernetes.io/no-provisioner")
LOCAL: dict[str, Any] = {"storage_class": "local"}
WANTS_LOCAL = "claim data wants a volume of class local, which has no provisioner, and "
TEMPLATES = {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]}
N1, N2 = make_node("n1", zone="a"), make_node("n2", zone="b")


def on(node: str, **fields: Any) -> ApiObject:
    """Return a local volume of a node."""
    return make_volume(f"pv-{node}", storage_class="local", affinity={HOSTNAME: [node]}, **fields)


def allowed(zone: str) -> ApiObject:
    """Return a class that provisions in one zone only."""
    terms = [{"matchLabelExpressions": [{"key": ZONE, "values": [zone]}]}]
    return make_storage_class("zonal", allowedTopologies=terms)


def capacity(zone: str, size: str) -> ApiObject:
    """Return the storage that a driver has left in a zone."""
    topology = {"matchLabels": {ZONE: zone}}
    return make_object(
        CSIStorageCapacity, f"in-{zone}", namespace="s", nodeTopology=topology, storageClassName="late", capacity=size
    )


@pytest.mark.parametrize(
    ("pod", "nodes", "objects", "cause", "expected"),
    [
        pytest.param(
            make_pod(volumes=mount("data")),
            [N1, N2],
            [make_claim(annotations={SELECTED: "n9"}), make_storage_class()],
            f"claim data waits for its volume on node n9, which is gone (annotation {SELECTED})",
            [f"remove annotation {SELECTED} of claim data"],
            id="stale annotation",
        ),
        pytest.param(
            make_pod(volumes=mount("data"), nodeSelector={ZONE: "a"}),
            [N1, N2],
            [make_claim(annotations={SELECTED: "n2"}), make_storage_class()],
            f"claim data waits for its volume on node n2, which nodeSelector {ZONE}=a excludes (annotation {SELECTED})",
            None,
            id="the selector has changed since",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            [N1, N2],
            [make_claim(**LOCAL), STATIC],
            f"{WANTS_LOCAL}the cluster has no volume",
            ["create a volume of 1Gi with class local for claim data on n1"],
            id="no local volume at all",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            [N1, N2],
            [make_claim(**LOCAL, size="10Gi"), STATIC, on("n1", size="5Gi"), on("n2", size="20Gi", claim="default/x")],
            f"{WANTS_LOCAL}no volume of class local matches it: pv-n1 has 5Gi of the 10Gi; pv-n2 is bound to claim "
            "default/x",
            ["create a volume of 10Gi with class local for claim data on n1"],
            id="no local volume matches",
        ),
        pytest.param(
            make_pod(volumes=mount("data"), nodeSelector={ZONE: "a"}),
            [N1, N2],
            [make_claim(**LOCAL), STATIC, on("n2")],
            f"{WANTS_LOCAL}the free volumes are on n2, which nodeSelector {ZONE}=a excludes",
            None,
            id="free volumes elsewhere",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            [N1, N2],
            [make_claim(**LOCAL), STATIC, on("n9")],
            f"{WANTS_LOCAL}no node that is left can use pv-n9, which would match",
            None,
            id="free volume of a lost node",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            [N1, N2],
            [
                make_claim(**LOCAL),
                STATIC,
                on("n1", phase="Released", claimRef={"namespace": "default", "name": "data", "uid": "old"}),
            ],
            f"{WANTS_LOCAL}no volume of class local matches it: pv-n1 is Released: it still names a deleted claim of "
            "the same name",
            ["free volume pv-n1 for claim data: remove the uid of the deleted claim from its claimRef"],
            id="volume of the deleted claim of that name",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            [N1, N2],
            [make_claim(**LOCAL, selector={"matchLabels": {"disk": "fast"}}), STATIC, on("n1")],
            f"{WANTS_LOCAL}no volume of class local matches it: pv-n1 does not match the claim's selector disk=fast",
            ["if volume pv-n1 is meant for claim data: give it the label disk=fast (untried)"],
            id="a volume without the label of the selector",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            [N1, N2],
            [make_claim(storage_class="zonal"), allowed("c")],
            f"class zonal provisions the volume of claim data only for {ZONE}=c, and no node has that",
            [
                "recreate claim data with a class that provisions where the nodes are (untried)",
                f"add a node with {ZONE}=c (untried)",
            ],
            id="allowed topologies without nodes",
        ),
        pytest.param(
            make_pod(volumes=mount("data-db-0")),
            [N1, N2],
            [
                make_claim("data-db-0", storage_class="zonal"),
                allowed("c"),
                make_object(StatefulSet, "db", namespace="default", spec=TEMPLATES),
            ],
            f"class zonal provisions the volume of claim data-db-0 only for {ZONE}=c, and no node has that",
            [
                "change volumeClaimTemplates of StatefulSet default/db (recreate it with --cascade=orphan), then "
                "recreate claim data-db-0 with a class that provisions where the nodes are (untried)",
            ],
            id="allowed topologies without nodes, for a claim of a StatefulSet",
        ),
        pytest.param(
            make_pod(volumes=mount("data"), nodeSelector={ZONE: "a"}),
            [N1, N2],
            [make_claim(storage_class="zonal"), allowed("b")],
            f"class zonal provisions the volume of claim data only for {ZONE}=b, and nodeSelector {ZONE}=a excludes n2",
            None,
            id="allowed topologies against the selector",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            [N1, N2],
            [
                make_claim(size="100Gi"),
                make_storage_class(),
                make_object(CSIDriver, "csi.example.com", spec={"storageCapacity": True}),
                capacity("a", "40Gi"),
                capacity("b", "20Gi"),
            ],
            "claim data wants 100Gi, class late can provision at most 40Gi anywhere, and no node has as much",
            None,
            id="storage capacity",
        ),
    ],
)
def test_cause(pod: Pod, nodes: list[Node], objects: list[ApiObject], cause: str, expected: list[str] | None) -> None:
    decision = decide(pod, make_cluster(nodes, (), *objects))
    assert [one.cause for one in diagnose(decision)] == [cause]
    if expected is not None:
        assert cures(decision)[: len(expected)] == expected


def test_a_free_volume_on_a_full_node_is_a_matter_of_the_node() -> None:
    pods = [make_pod("x", node="n1", requests={"cpu": "3"})]
    cluster = make_cluster([N1, N2], pods, make_claim(**LOCAL), STATIC, on("n1"))
    (found,) = diagnose(decide(make_pod(volumes=mount("data"), requests={"cpu": "2"}), cluster))
    assert found.rule == "obstacles"
    assert found.cause == "n1 where its volumes can be used has 1 of 4 cpu free, the pod wants 2 cpu"
