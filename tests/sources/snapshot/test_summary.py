"""The time of a snapshot's state: the newest past time in its objects, whatever is done with its files."""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kschedctl.sources.snapshot.cache import load_cached
from kschedctl.sources.snapshot.capture import capture, write_capture
from kschedctl.sources.snapshot.load import SnapshotReader, load_snapshot

NOON = datetime(2026, 3, 1, 12, 0, 5, tzinfo=UTC)
LATER, EARLIER = "2026-03-01T12:00:05Z", "2026-02-28T23:00:00Z"


def node(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "creationTimestamp": EARLIER}, **fields}


POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "status": {"startTime": LATER}}
LEASE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}}


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param(
            [
                node(
                    status={
                        "conditions": [{"type": "Ready", "lastHeartbeatTime": LATER, "lastTransitionTime": EARLIER}]
                    }
                )
            ],
            id="a condition",
        ),
        pytest.param([node(), {**LEASE, "spec": {"renewTime": "2026-03-01T12:00:05.123456Z"}}], id="a lease"),
        pytest.param([{**node(), "metadata": {"name": "a", "managedFields": [{"time": LATER}]}}], id="managed fields"),
        pytest.param(
            [node(), {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "lastTimestamp": LATER}],
            id="an event",
        ),
        pytest.param([node(), {**node(), "metadata": {"name": "b", "creationTimestamp": LATER}}], id="a creation"),
        pytest.param([POD], id="the start of a pod without other times"),
        pytest.param(
            [{**node(), "metadata": {"name": "a", "creationTimestamp": "2026-03-01T14:00:05+02:00"}}, POD],
            id="only times that are not in UTC as API servers write them",
        ),
    ],
)
def test_the_newest_time_that_something_was_seen_at(tmp_path: Path, objects: list[dict[str, Any]]) -> None:
    file = tmp_path / "cluster.json"
    file.write_bytes(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": objects}))
    assert load_snapshot([file]).cluster.taken_at == NOON


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"metadata": {"name": "a", "deletionTimestamp": LATER}}, id="the time at which it will be gone"),
        pytest.param({"metadata": {"name": "a", "annotations": {"x": f'{{"time":"{LATER}"}}'}}}, id="in an annotation"),
    ],
)
def test_other_times_tell_nothing(tmp_path: Path, fields: dict[str, Any]) -> None:
    file = tmp_path / "cluster.json"
    file.write_bytes(msgspec.json.encode({**node(), "metadata": {"name": "a"}, **fields}))
    assert load_snapshot([file]).cluster.taken_at is None


def test_copies_archives_and_captures_have_the_time_of_the_original(tmp_path: Path) -> None:
    lease = {**LEASE, "metadata": {"name": "a", "namespace": "kube-node-lease"}, "spec": {"renewTime": LATER}}
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "lastTimestamp": EARLIER}
    file = tmp_path / "cluster.json"
    file.write_bytes(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": [node(), lease, event]}))
    os.utime(shutil.copy(file, tmp_path / "copy.json"), (1000, 1000))
    for form in ("tar", "gztar", "zip"):
        shutil.make_archive(str(tmp_path / "a"), form, tmp_path, "cluster.json")
    # A capture leaves out what scheduling does not read, such as the heartbeats of nodes.
    write_capture(capture(SnapshotReader([file])), tmp_path / "captured")
    write_capture(capture(SnapshotReader([tmp_path / "captured"])), tmp_path / "twice.tar.gz")
    for name in ("cluster.json", "copy.json", "a.tar", "a.tar.gz", "a.zip", "captured", "twice.tar.gz"):
        assert load_snapshot([tmp_path / name]).cluster.taken_at == NOON, name
    assert load_cached([file]).cluster.taken_at == load_cached([file]).cluster.taken_at == NOON
