"""A running cluster as the source: its version never runs ahead of the answers; the probes and metrics."""

import asyncio
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

from litestar import Litestar
from litestar.testing import TestClient

from kschedctl.questions.cluster_request import ClusterRequest, ClusterSource
from kschedctl.web.served import LiveSource, Served
from kschedctl.web.settings import ServeSettings
from tests.live.plain_server import page, serving
from tests.web.conftest import LIMITS
from tests.web.workers import tasks


def test_a_version_is_published_once_the_workers_get_it(tmp_path: Path) -> None:
    changing, ended = Event(), Event()

    def events() -> Iterator[bytes]:
        while not changing.wait(0.02):
            yield b""
        new = {"metadata": {"name": "b", "resourceVersion": "11"}}
        yield json.dumps({"type": "ADDED", "object": new}).encode() + b"\n"
        while not ended.wait(0.02):
            yield b""

    def answer(path: str, query: dict[str, str]) -> tuple[int, Any]:
        if not path.endswith("/nodes"):
            return 0, None
        return 200, events() if query.get("watch") else page("a")

    async def test(source: LiveSource) -> None:
        served = Served(source, ServeSettings(limits=LIMITS))
        async with served.lifespan(Litestar()):
            reply = await served.reply(tasks.size)
            assert (reply.value, reply.version) == (1, 1)
            changing.set()
            # The loop does not run meanwhile, so that the changes are on their way to the workers.
            until = time.monotonic() + 300
            while len(source.cluster.nodes) < 2:
                assert time.monotonic() < until
                time.sleep(0.01)
            time.sleep(0.1)
            assert source.version == 1
            while source.version == 1:
                await asyncio.sleep(0.01)
            reply = await served.reply(tasks.size)
            assert (reply.value, reply.version) == (2, 2)

    with serving(answer, tmp_path) as (live, _):
        try:
            asyncio.run(test(LiveSource(ClusterRequest(source=ClusterSource(kubeconfig=live.kubeconfig)))))
        finally:
            changing.set()
            ended.set()


def test_healthz(shop: TestClient[Any]) -> None:
    assert shop.get("/healthz").text == "ok"


def test_readyz_is_ready_once_a_process_has_the_cluster(shop: TestClient[Any]) -> None:
    shop.get("/api/v1/cluster")
    assert (shop.get("/readyz").status_code, shop.get("/readyz").text) == (200, "ok")


def test_readyz_names_what_fails_and_not_why(shop: TestClient[Any], monkeypatch: Any) -> None:
    served: Served = shop.app.state.served
    monkeypatch.setattr(type(served.source), "problem", "https://10.0.0.1: connection refused")
    response = shop.get("/readyz")
    assert response.status_code == 500
    assert response.text == "[-]cluster failed: reason withheld\n[+]workers ok\nreadyz check failed\n"


def test_metrics_count_responses(shop: TestClient[Any]) -> None:
    def number() -> float:
        found = re.search(r'kschedctl_serve_responses_total\{status="404"\} ([0-9.]+)', shop.get("/metrics").text)
        return float(found[1]) if found else 0.0

    before = number()
    shop.get("/nope")
    assert number() == before + 1
    text = shop.get("/metrics").text
    assert 'kschedctl_serve_cluster_objects{kind="Node"} 15.0' in text
    assert "process_resident_memory_bytes" in text
