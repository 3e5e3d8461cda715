"""Streams of events: what a stream sends, when it ends, and the limit on their number."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from litestar.testing import TestClient

from kschedctl.web.errors import BusyError
from kschedctl.web.events import Event, Events

CLUSTER = Event("cluster", {"version": 1})


def job(id_: str, state: str) -> Event:
    return Event("job", {"id": id_, "state": state}, is_last=state == "done")


def value(sent: bytes) -> Any:
    """Return the last value of the data of an event."""
    return list(msgspec.json.decode(sent.partition(b"data: ")[2]).values())[-1]


async def taken(stream: AsyncIterator[bytes]) -> list[Any]:
    """Return the values of all events, until the stream ends."""
    async with asyncio.timeout(60):
        return [value(sent) async for sent in stream]


@pytest.mark.parametrize(
    ("first", "published"),
    [
        pytest.param("done", [], id="a job that has ended"),
        pytest.param("waiting", [job("a", "running"), job("a", "done")], id="a job that ends before the first read"),
        pytest.param("running", [job("b", "done"), CLUSTER, job("a", "done")], id="events about something else"),
    ],
)
def test_the_stream_of_a_job_misses_no_end_and_ends_with_it(first: str, published: list[Event]) -> None:
    async def test() -> None:
        events = Events(1)
        stream = events.stream(job("a", first), job="a")
        for event in published:
            events.publish(event)
        assert await taken(stream) == ["done"]
        assert len(events) == 0

    asyncio.run(test())


def test_the_stream_of_all_events_goes_on_after_the_end_of_a_job() -> None:
    async def test() -> None:
        events = Events(1)
        stream = events.stream(CLUSTER)
        assert value(await anext(stream)) == 1
        for event in (job("a", "running"), job("a", "done")):
            events.publish(event)
        assert value(await anext(stream)) == "done"
        events.publish(job("b", "running"))
        assert value(await anext(stream)) == "running"
        events.close()
        assert await taken(stream) == []

    asyncio.run(test())


def test_streams_count_from_their_opening_until_nobody_can_read_them() -> None:
    events = Events(1)
    stream = events.stream(CLUSTER)
    with pytest.raises(BusyError):
        events.stream(CLUSTER)
    del stream
    assert len(events) == 0
    events.stream(CLUSTER)


def test_the_stream_of_a_job_ends_with_the_job(shop: TestClient[Any]) -> None:
    started = shop.post("/api/v1/drain", params={"node": "node-8"})
    address = f"{started.headers['Location']}/events"
    # Each response is complete only when its stream has ended; the second one begins after the end of the job.
    for _ in range(2):
        assert '"state":"done"' in shop.get(address).text.rpartition("event: job")[2]
