"""A server over the snapshot of the shop, in the process of the tests; its workers are processes."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from litestar.testing import TestClient

from kschedctl.questions.cluster_request import ClusterRequest, ClusterSource
from kschedctl.web.app import create_app
from kschedctl.web.served import SnapshotSource
from kschedctl.web.settings import Limits, ServeSettings
from tests.paths import ROOT

SHOP = ROOT / "fixtures" / "shop" / "cluster"
ADDRESS = "http://127.0.0.1:8080"
LIMITS = Limits(workers=1, body_bytes=100_000)


def snapshot(path: Path = SHOP) -> SnapshotSource:
    return SnapshotSource(ClusterRequest(source=ClusterSource(paths=(str(path),))))


@pytest.fixture(scope="session")
def shop() -> Iterator[TestClient[Any]]:
    """The server over the shop, with one worker, on loopback."""
    settings = ServeSettings(limits=LIMITS, compare=(ClusterRequest(source=ClusterSource(paths=(str(SHOP),))),))
    with TestClient(create_app(snapshot(), settings), base_url=ADDRESS) as client:
        yield client


def ended(client: TestClient[Any], response: Any) -> Any:
    """Return the job that a response has begun, once it has ended."""
    while True:
        job = client.get(response.headers["Location"]).json()
        if job["state"] not in ("waiting", "running"):
            return job
        time.sleep(0.05)
