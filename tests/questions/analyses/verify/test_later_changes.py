"""Rejections of a running pod that a later change explains."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.questions.analyses.handle import AnalysisHandle
from kschedctl.questions.analyses.verify.later_changes import deciding_refusal
from kschedctl.questions.analyses.verify.running_pods import check_bound_pods
from kschedctl.questions.answers.verify import Standing
from kschedctl.scheduler.cycle.scheduler import Scheduler
from tests.builders import HOSTNAME, ZONE, make_claim, make_cluster, make_node, make_pod, make_volume, mount

CORDON = "node.kubernetes.io/unschedulable:NoSchedule"
PORT = [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]
DATA = (
    make_volume("v", claim="default/data", modes=["ReadWriteOncePod"]),
    make_claim("data", bound="v", modes=["ReadWriteOncePod"]),
)


def required(**term: Any) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [term]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def beside(kind: str, app: str) -> dict[str, Any]:
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": app}}}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def spread(key: str) -> dict[str, Any]:
    selector = {"matchLabels": {"app": "web"}}
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return {"topologySpreadConstraints": [constraint]}


def on_b(operator: str = "In") -> dict[str, Any]:
    return required(matchFields=[{"key": "metadata.name", "operator": operator, "values": ["b"]}])


A, B = make_node("a", zone="y"), make_node("b", zone="z")
CASES: dict[str, tuple[Node, list[Pod], Standing, str]] = {
    "a cordoned node": (
        make_node("a", unschedulable=True),
        [make_pod("p", node="a")],
        Standing.CORDONED,
        "NodeUnschedulable",
    ),
    "the taint that a cordon brings": (
        make_node("a", unschedulable=True, taints=[CORDON]),
        [make_pod("p", node="a")],
        Standing.CORDONED,
        "NodeUnschedulable",
    ),
    "that taint where the cordon itself is tolerated by none": (
        make_node("a", taints=[CORDON]),
        [make_pod("p", node="a")],
        Standing.CORDONED,
        "TaintToleration",
    ),
    "a cordoned node with another taint": (
        make_node("a", unschedulable=True, taints=[CORDON, "x=y:NoSchedule"]),
        [make_pod("p", node="a")],
        Standing.CHANGED,
        "TaintToleration",
    ),
    "a taint": (
        make_node("a", taints=["x=y:NoSchedule"]),
        [make_pod("p", node="a")],
        Standing.CHANGED,
        "TaintToleration",
    ),
    "a label": (A, [make_pod("p", node="a", nodeSelector={"disk": "ssd"})], Standing.CHANGED, "NodeAffinity"),
    "the name of another node": (A, [make_pod("p", node="a", affinity=on_b())], Standing.DIFFERENT, "NodeAffinity"),
    "not this node's name or a label": (
        A,
        [make_pod("p", node="a", affinity=required(matchExpressions=[{"key": "disk", "operator": "Exists"}]))],
        Standing.CHANGED,
        "NodeAffinity",
    ),
    "resources": (
        make_node("a", cpu="1"),
        [make_pod("p", node="a", requests={"cpu": "2"})],
        Standing.CHANGED,
        "NodeResourcesFit",
    ),
    "spreading": (
        A,
        [make_pod(n, node="a", labels={"app": "web"}, **spread(ZONE)) for n in ("p", "q", "r")],
        Standing.CHANGED,
        "PodTopologySpread",
    ),
    "affinity to a pod that has gone": (
        A,
        [make_pod("p", node="a", affinity=beside("podAffinity", "db"))],
        Standing.CHANGED,
        "InterPodAffinity",
    ),
    "a pod that it excludes": (
        A,
        [
            make_pod("p", node="a", affinity=beside("podAntiAffinity", "db")),
            make_pod("q", node="a", labels={"app": "db"}),
        ],
        Standing.CHANGED,
        "InterPodAffinity",
    ),
    "one host port twice": (
        A,
        [make_pod("p", node="a", containers=PORT), make_pod("q", node="a", containers=PORT)],
        Standing.DIFFERENT,
        "NodePorts",
    ),
    "one host port twice, and a cordon": (
        make_node("a", unschedulable=True, taints=[CORDON]),
        [make_pod("p", node="a", containers=PORT), make_pod("q", node="a", containers=PORT)],
        Standing.DIFFERENT,
        "NodePorts",
    ),
    "one claim for two that only one may have": (
        A,
        [make_pod("p", node="a", volumes=mount("data")), make_pod("q", node="a", volumes=mount("data"))],
        Standing.DIFFERENT,
        "VolumeRestrictions",
    ),
    "a claim that has gone": (
        A,
        [make_pod("p", node="a", volumes=mount("lost"))],
        Standing.CHANGED,
        "VolumeRestrictions",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_refusal_comes_to(name: str) -> None:
    node, pods, standing, plugin = CASES[name]
    cluster = make_cluster([node, B], pods, *DATA)
    every = check_bound_pods(Scheduler(cluster), AnalysisHandle()).misplaced
    found = next(each for each in every if cluster.pods.key(each.pod) == "default/p")
    status, judgement = deciding_refusal(cluster, found)
    assert (judgement.standing, status.plugin) == (standing, plugin)
