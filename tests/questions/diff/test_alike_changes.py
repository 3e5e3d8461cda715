"""Alike pods compared together have the changes that they have when each is decided for and compared alone."""

from collections.abc import Sequence
from typing import Any

import pytest

from kschedctl import Cordon, LabelNode, TaintNode
from kschedctl.questions.diff import alike_changes, sides
from kschedctl.questions.diff.alike_changes import AlikeChange, AlikeChanges
from kschedctl.questions.diff.pod_change import Summary
from kschedctl.questions.diff.sides import Key
from kschedctl.questions.loading import loaded_cluster
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from kschedctl.sources.snapshot.load import Snapshot
from kschedctl.trials.whatif.edit import Edit
from tests.builders import ZONE, make_cluster, make_node, make_pod

N_NODES, N_PODS = 12, 60
TOLERATIONS = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("not-ready", "unreachable")
]


def loaded(*edits: Edit) -> SchedulingCluster:
    """A cluster with five workloads: two of their pods are alike if they are of one; some nodes are full."""
    nodes = [make_node(f"n{i}", zone=f"z{i % 3}", cpu="8", pods=5 if i % 3 else 20) for i in range(N_NODES)]
    pods = []
    for i in range(N_PODS):
        labels = {"app": f"a{i % 5}"}
        spec: dict[str, Any] = {"priority": 0, "tolerations": TOLERATIONS}
        term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": labels}}
        if i % 5 == 1:
            spec["topologySpreadConstraints"] = [{**term, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]
        elif i % 5 == 2:
            weighted = [{"weight": 5, "podAffinityTerm": term}]
            spec["affinity"] = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": weighted}}
        elif i % 5 == 3:
            spec["nodeSelector"] = {ZONE: "z1"}
        requests = {"cpu": f"{100 + 100 * (i % 5)}m"}
        pods.append(make_pod(f"p{i:02}", labels=labels, requests=requests, node=f"n{i % N_NODES}", **spec))
    snapshot = Snapshot(cluster=make_cluster(nodes, pods), paths=(), scheduler_config=None, left_out={})
    return SchedulingCluster(loaded_cluster(snapshot, edits=edits))


EDITS = {
    "a node is cordoned": [Cordon("n0")],
    "a node gets a taint": [TaintNode.parse("n3:a=b:NoSchedule")],
    "a node is in another zone": [LabelNode.parse(f"n6:{ZONE}=z1")],
    "a zone is cordoned": [Cordon(f"n{i}") for i in range(1, N_NODES, 3)],
    "nothing": [],
}


@pytest.mark.parametrize("n_pods", [N_PODS, 40], ids=["many pods", "few pods, with all their nodes"])
@pytest.mark.parametrize("edits", EDITS.values(), ids=EDITS)
def test_they_change_as_if_alone(edits: Sequence[Edit], n_pods: int, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [pod.key for pod in loaded().pods][:n_pods]
    taken = []
    take = AlikeChanges.take

    def counted(changes: AlikeChanges, key: Key, seen: set[Summary] | None) -> AlikeChange | None:
        found = take(changes, key, seen)
        taken.append(found is not None)
        return found

    monkeypatch.setattr(AlikeChanges, "take", counted)
    together = loaded().diff(loaded(*edits), names)
    assert sum(taken) >= n_pods // 2
    monkeypatch.setattr(alike_changes, "_MOST_CELLS", 3 * N_NODES)
    assert loaded().diff(loaded(*edits), names) == together
    taken.clear()
    monkeypatch.setattr(sides, "_FEW_NODES", N_NODES + 1)
    assert loaded().diff(loaded(*edits), names) == together
    assert not any(taken)
