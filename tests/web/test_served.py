"""A running cluster as the source: its version never runs ahead of the answers."""

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

from litestar import Litestar

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
