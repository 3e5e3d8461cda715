"""From files to a cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kschedctl.common.errors import SnapshotError
from kschedctl.common.findings import Location
from kschedctl.objects.core import Node
from kschedctl.objects.meta import ObjectMeta
from kschedctl.objects.policies import PriorityClass
from kschedctl.sources.snapshot.load import load_snapshot

NODE = '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}'
SERVICE_ACCOUNT = '{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}}'
VERSION = '{"serverVersion": {"gitVersion": "v1.35.2"}}'


def write(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        path = folder / f"{name}.json"
        path.write_text(text)
    return folder


def test_cluster_knows_its_version(tmp_path: Path) -> None:
    snapshot = load_snapshot([write(tmp_path, nodes=NODE, version=VERSION, other=SERVICE_ACCOUNT)])
    assert snapshot.cluster.nodes.names == ("a",)
    assert snapshot.cluster.server_version == "v1.35.2"
    assert snapshot.left_out == {"ServiceAccount": 1}
    assert snapshot.paths == (str(tmp_path),)


def test_later_object_counts_with_a_warning(tmp_path: Path) -> None:
    other = json.dumps({**json.loads(NODE), "spec": {"unschedulable": True}})
    snapshot = load_snapshot([write(tmp_path, first=NODE, second=other)])
    assert snapshot.cluster.nodes.objects[0].spec.unschedulable
    (warning,) = snapshot.cluster.warnings
    assert "first.json, document 1 and again in" in warning


def test_more_objects_join_the_cluster(tmp_path: Path) -> None:
    more = [
        (PriorityClass(metadata=ObjectMeta(name="high"), value=7), Location("pod.yaml")),
        (Node(metadata=ObjectMeta(name="b")), Location("pod.yaml", 2)),
    ]
    cluster = load_snapshot([write(tmp_path, nodes=NODE)], more=more).cluster
    assert cluster.nodes.names == ("a", "b")
    assert cluster.get(PriorityClass, "high") is not None


def test_configuration_of_a_simulator_comes_along(tmp_path: Path) -> None:
    config = {"kind": "KubeSchedulerConfiguration", "apiVersion": "kubescheduler.config.k8s.io/v1"}
    export = json.dumps({"nodes": [json.loads(NODE)], "schedulerConfig": config})
    assert load_snapshot([write(tmp_path, export=export)]).scheduler_config == config


def test_problems_are_told_together(tmp_path: Path) -> None:
    bad = json.dumps({**json.loads(NODE), "status": {"allocatable": {"cpu": "two"}}})
    with pytest.raises(SnapshotError, match=r'status\.allocatable\.cpu: "two" is not a quantity'):
        load_snapshot([write(tmp_path, nodes=bad)])
