"""The moment that a snapshot shows: what is in it tells that better than its files."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kschedctl.snapshot.load import load_snapshot

LATER, EARLIER = "2026-03-01T12:00:05Z", "2026-02-28T23:00:00Z"


def node(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "creationTimestamp": LATER}, **fields}


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
    ],
)
def test_the_newest_time_that_something_was_seen_at(tmp_path: Path, objects: list[dict[str, Any]]) -> None:
    file = tmp_path / "cluster.json"
    file.write_bytes(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": objects}))
    assert load_snapshot([file]).cluster.taken_at == datetime(2026, 3, 1, 12, 0, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="when it was made"),
        pytest.param({"metadata": {"name": "a", "deletionTimestamp": LATER}}, id="when it will be gone"),
        pytest.param({"metadata": {"name": "a", "annotations": {"x": f'{{"time":"{LATER}"}}'}}}, id="in an annotation"),
    ],
)
def test_other_times_tell_nothing(tmp_path: Path, fields: dict[str, Any]) -> None:
    file = tmp_path / "cluster.json"
    file.write_bytes(msgspec.json.encode({**node(), **fields}))
    written = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    assert load_snapshot([file]).cluster.taken_at == written
