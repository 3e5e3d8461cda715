"""Leases, and what elections had before them, go into a captured snapshot; who holds them is still told apart."""

import json
from pathlib import Path
from typing import Any

import pytest

from kschedctl.objects.coordination import LEADER_ANNOTATION, ConfigMap, Lease, LeaseCandidate, lock_record
from kschedctl.objects.core import Node
from kschedctl.sources.snapshot.anonymize import anonymized
from kschedctl.sources.snapshot.capture import Capture, capture, write_capture
from kschedctl.sources.snapshot.load import SnapshotReader

UID = "6f1d4c1e-9c3b-4b43-8b5e-0f6f8d3a7d52"
RECORD = {"holderIdentity": f"cp-1_{UID}", "leaseDurationSeconds": 15, "leaderTransitions": 2, "secret": "s3cret"}


def lease(name: str, namespace: str = "kube-system", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


def config_map(name: str, **annotations: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "kube-system", "annotations": annotations}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"password": "s3cret"}}


OBJECTS = [
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "cp-1"}},
    lease("kube-scheduler", holderIdentity=f"cp-1_{UID}", renewTime="2026-05-04T12:00:00.123456Z"),
    lease("operator", "tools", holderIdentity="operator-0"),
    lease("cp-1", "kube-node-lease", holderIdentity="cp-1"),
    {
        "apiVersion": "coordination.k8s.io/v1beta1",
        "kind": "LeaseCandidate",
        "metadata": {"name": "cp-1", "namespace": "kube-system"},
        "spec": {"leaseName": "kube-scheduler", "binaryVersion": "1.36.0", "strategy": "OldestEmulationVersion"},
    },
    config_map("settings"),
    config_map("old-lock", **{LEADER_ANNOTATION: json.dumps(RECORD)}),
]


def captured(folder: Path) -> Capture:
    path = folder / "all.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": OBJECTS}))
    return capture(SnapshotReader([path]))


def written(folder: Path, capture: Capture) -> tuple[str, Capture]:
    write_capture(capture, folder / "out")
    text = "".join(path.read_text() for path in (folder / "out").iterdir())
    return text, captured_again(folder / "out")


def captured_again(folder: Path) -> Capture:
    return capture(SnapshotReader([folder]))


def test_elections_are_captured_and_heartbeats_are_not(tmp_path: Path) -> None:
    text, again = written(tmp_path, captured(tmp_path))
    assert [one.name for one in again.objects[Lease]] == ["kube-scheduler", "operator"]
    assert [one.name for one in again.objects[LeaseCandidate]] == ["cp-1"]
    assert "password" not in text


def test_of_config_maps_only_those_with_a_record_are_read(tmp_path: Path) -> None:
    captured(tmp_path)
    reader = SnapshotReader([tmp_path / "all.json"])
    assert [obj.name for obj, _ in reader if isinstance(obj, ConfigMap)] == ["old-lock"]
    assert reader.summary.left_out == {"ConfigMap": 1}


def test_pseudonyms_keep_who_leads_where(tmp_path: Path) -> None:
    text, again = written(tmp_path, anonymized(captured(tmp_path)))
    (node,), leases, (candidate,) = again.objects[Node], again.objects[Lease], again.objects[LeaseCandidate]
    scheduler = next(one for one in leases if one.name == "kube-scheduler")
    host, _, unique = scheduler.spec.holder_identity.partition("_")  # type: ignore[attr-defined]
    assert host == node.name != "cp-1"
    assert candidate.spec.lease_name == "kube-scheduler"  # type: ignore[attr-defined]
    (lock,) = again.objects[ConfigMap]
    record = lock_record(lock.metadata.annotations[LEADER_ANNOTATION])
    assert record is not None
    assert record.holder_identity == scheduler.spec.holder_identity  # type: ignore[attr-defined]
    assert record.leader_transitions == 2
    for told in ("cp-1", UID, "operator", "old-lock", "s3cret", "tools"):
        assert told not in text
    assert unique


@pytest.mark.parametrize("text", ["", "cp-1", "[]", "1", '{"leaseDurationSeconds": "x"}', "{" * 10_000])
def test_what_is_no_record(text: str) -> None:
    assert lock_record(text) is None
