"""Pods that do not start because their volume is attached to another node."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.diagnosis.attached_volumes import attached_elsewhere
from kschedctl.objects.pod import Pod
from kschedctl.objects.volume import VolumeAttachment
from tests.builders import make_claim, make_cluster, make_node, make_object, make_pod, make_volume, mount

UNREACHABLE = ["node.kubernetes.io/unreachable:NoExecute"]
NODES = [make_node("a"), make_node("b"), make_node("lost", taints=UNREACHABLE)]
START = "volume pv of its claim data is ReadWriteOnce and attached to "
OLD = ("apps/v1", "StatefulSet", "old")


def attached(node: str) -> VolumeAttachment:
    spec = {"attacher": "csi.example.com", "nodeName": node, "source": {"persistentVolumeName": "pv"}}
    return make_object(VolumeAttachment, "va", spec=spec)


def user(node: str, **own: Any) -> Pod:
    return make_pod("user", node=node, volumes=mount("data"), **own)


@pytest.mark.parametrize(
    ("node", "pods", "modes", "cause", "cures"),
    [
        pytest.param(
            "lost",
            [user("lost")],
            ["ReadWriteOnce"],
            START + "lost, which is unreachable: taint node.kubernetes.io/unreachable; pod default/user there uses it",
            [
                "get lost back; its kubelet then ends the old pods, and pv is detached",
                "once the machine of lost is certainly off: taint it as out of service, which detaches pv",
            ],
            id="the other node is unreachable",
        ),
        pytest.param(
            "gone",
            [],
            ["ReadWriteOnce"],
            START + "gone, which no longer exists",
            ["delete VolumeAttachment va, as its node gone no longer exists"],
            id="the other node is gone",
        ),
        pytest.param(
            "b",
            [user("b", owner=OLD)],
            ["ReadWriteOnce"],
            START + "b; pod default/user there uses it",
            ["if both pods need the data: run them on b, or move it to a claim with ReadWriteMany"],
            id="another workload uses it",
        ),
        pytest.param(
            "b",
            [],
            ["ReadWriteOnce"],
            START + "b",
            ["look at the log of CSI driver csi.example.com, which has not detached pv"],
            id="not detached",
        ),
        pytest.param("a", [], ["ReadWriteOnce"], None, [], id="attached to the pod's node"),
        pytest.param("b", [], ["ReadWriteMany"], None, [], id="several nodes can use it"),
    ],
)
def test_cause(node: str, pods: list[Pod], modes: list[str], cause: str | None, cures: list[str]) -> None:
    pod = make_pod("new", node="a", volumes=mount("data"), status={"phase": "Pending"})
    volume = make_volume(claim="default/data", modes=modes)
    cluster = make_cluster(NODES, [pod, *pods], make_claim(bound="pv"), volume, attached(node))
    found = list(attached_elsewhere(cluster, pod, "a"))
    assert [one.cause for one in found] == ([cause] if cause else [])
    assert [advice.summary for one in found for advice in one.advice] == cures
