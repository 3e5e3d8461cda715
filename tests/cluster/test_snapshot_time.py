"""The time of a snapshot: times within it, else the time of its files unless they are copies."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.cluster.snapshot_time import taken_at
from tests.builders import make_pod

POD = "2026-11-19T09:00:00Z"
LATER = datetime(2026, 11, 19, 12, tzinfo=UTC)
DAYS_LATER = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("pods", "taken", "dated_by_files", "expected"),
    [
        pytest.param(1, DAYS_LATER, False, DAYS_LATER, id="a heartbeat, and pods that are days old"),
        pytest.param(0, DAYS_LATER, False, DAYS_LATER, id="a heartbeat, and no pod"),
        pytest.param(1, LATER, True, LATER, id="files of the same day"),
        pytest.param(1, DAYS_LATER, True, None, id="copied files"),
        pytest.param(0, LATER, True, None, id="files without a pod"),
        pytest.param(
            1, datetime(1970, 1, 1, tzinfo=UTC), True, datetime(2026, 11, 19, 9, tzinfo=UTC), id="older files"
        ),
        pytest.param(1, None, False, None, id="standard input without times"),
    ],
)
def test_taken_at(pods: int, taken: datetime | None, dated_by_files: bool, expected: datetime | None) -> None:
    builder = ClusterBuilder()
    for number in range(pods):
        builder.add(make_pod(f"p{number}", node="a", status={"phase": "Running", "startTime": POD}))
    assert taken_at(builder.build(taken_at=taken, dated_by_files=dated_by_files)) == expected
