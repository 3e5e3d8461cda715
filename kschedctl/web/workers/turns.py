"""A semaphore whose places users get in turn, so that nobody waits for all tasks of another user."""

from __future__ import annotations

import asyncio
from collections import deque


class Turns:
    """A semaphore whose places users get in turn; the tasks of one user get theirs in the order of their requests.

    Parameters
    ----------
    places : int
        The number of places.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        #: The tasks that wait, by user; the user whose turn is next comes first.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    def locked(self) -> bool:
        """Report whether a task would have to wait."""
        return not self._free

    async def acquire(self, user: str = "") -> None:
        """Wait for a place."""
        if self._free:
            self._free -= 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(user, deque()).append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.release()
            raise

    def release(self) -> None:
        """Give a place back: the first task of the next user gets it."""
        while self._waiting:
            user, tasks = next(iter(self._waiting.items()))
            place = tasks.popleft()
            del self._waiting[user]
            if tasks:
                self._waiting[user] = tasks
            if not place.done():
                place.set_result(None)
                return
        self._free += 1
