"""Server-sent events: each stream has the latest event of each kind that it has not sent yet, and nothing else."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

import msgspec

from kschedctl.web.errors import BusyError


@dataclass(frozen=True, slots=True)
class Event:
    """An event."""

    #: Its kind: ``cluster`` or ``job``.
    kind: str
    #: Its data; the ``id`` is that of the job.
    data: Mapping[str, Any]
    #: True if the job has ended, so that it has no further events.
    is_last: bool = False

    @property
    def encoded(self) -> bytes:
        """The event as a stream sends it."""
        return b"event: " + self.kind.encode() + b"\ndata: " + msgspec.json.encode(self.data) + b"\n\n"


class _Stream:
    """The events that a stream has not sent yet, by subject."""

    def __init__(self, job: str) -> None:
        self.job = job
        self.open: dict[str, Event] = {}
        self.woken = asyncio.Event()

    def add(self, event: Event) -> None:
        """Add an event, in place of an earlier one of its subject; one of another job is ignored."""
        id_ = event.data.get("id", "")
        if event.kind != "job" or self.job in ("*", id_):
            self.open[f"{event.kind} {id_}"] = event
            self.woken.set()


class Events:
    """The open streams of events.

    Args:
        most: The number of streams that may be open.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        # A response that is never sent does not iterate its stream: nothing but the iterator holds a stream.
        self._streams: WeakSet[_Stream] = WeakSet()
        self._closed = False

    def __len__(self) -> int:
        return len(self._streams)

    def publish(self, event: Event) -> None:
        """Send an event to all streams that want it; a slow client gets only the latest one of its subject."""
        for stream in self._streams:
            stream.add(event)

    def stream(self, first: Event, *, job: str = "*") -> AsyncIterator[bytes]:
        """Open a stream, which gets every event from this call on.

        Args:
            first: The current state, which it begins with.
            job: The only job whose events are wanted; the stream ends with the job. By default, those of all are.

        Raises BusyError if too many streams are open.
        """
        if len(self._streams) >= self._most:
            raise BusyError("too many streams of events are open")
        stream = _Stream(job)
        stream.add(first)
        self._streams.add(stream)
        return self._events(stream)

    async def _events(self, stream: _Stream) -> AsyncIterator[bytes]:
        try:
            while not self._closed:
                await stream.woken.wait()
                stream.woken.clear()
                events, stream.open = stream.open, {}
                for event in events.values():
                    yield event.encoded
                    if event.is_last and stream.job != "*":
                        return
        finally:
            self._streams.discard(stream)

    def close(self) -> None:
        """End all streams."""
        self._closed = True
        for stream in self._streams:
            stream.woken.set()
