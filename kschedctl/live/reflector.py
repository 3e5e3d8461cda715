"""All objects of a kind and what becomes of them, for as long as somebody wants to know (client-go's ``Reflector``).

A list, then a watch from its version on; after the watch has ended, or broken off, another from where it was. Only
where the server does not know any more what happened since (410 Gone) the kind is listed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from threading import Event
from time import monotonic
from typing import Final, Protocol

from kschedctl.api.meta import ApiObject
from kschedctl.errors import ClusterError, KschedctlError
from kschedctl.live.connection import Connection
from kschedctl.live.discovery import Served
from kschedctl.live.lists import list_objects
from kschedctl.live.refusals import ForbiddenError, GoneError, NotServedError
from kschedctl.live.watching import watching

#: A watch that was good for so long begins the pauses anew.
_GOOD_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectorSettings:
    """How a kind is watched.

    Attributes
    ----------
    page_size : int
        How many objects are listed at a time.
    watch_seconds : int
        How long a watch goes on before the next one; up to as long again, by chance, so that not all end at once.
    idle_seconds : float
        How long the server may tell nothing. It sends a bookmark about every minute.
    first_pause, longest_pause : float
        How long is waited before asking again after a failure, in seconds: twice as long each time.
    """

    page_size: int = 500
    watch_seconds: int = 300
    idle_seconds: float = 150.0
    first_pause: float = 0.25
    longest_pause: float = 20.0


class Listener(Protocol):
    """Who is told; from the reflectors' threads, for a kind one call after the other."""

    def listed(self, served: Served, objects: Sequence[ApiObject]) -> None:
        """These are all objects of a kind."""

    def changed(self, served: Served, obj: ApiObject) -> None:
        """An object is there, or is another by now."""

    def gone(self, served: Served, obj: ApiObject) -> None:
        """An object is gone."""

    def heard(self, served: Served) -> None:
        """The server has told everything about a kind up to now."""

    def failed(self, served: Served, error: KschedctlError) -> None:
        """Something is wrong; it is tried again."""

    def forbidden(self, served: Served, error: KschedctlError) -> None:
        """The kind may not be listed, or is not there; it is not tried again."""


class Reflector:
    """One kind, watched.

    Parameters
    ----------
    connection : Connection
        The server.
    served : Served
        The kind.
    listener : Listener
        Who is told.
    settings : ReflectorSettings
        How it is watched.
    stopped : Event
        Is set once nobody wants to know any more.
    """

    def __init__(
        self,
        connection: Connection,
        served: Served,
        listener: Listener,
        settings: ReflectorSettings,
        stopped: Event,
    ) -> None:
        self._connection = connection
        self._served = served
        self._listener = listener
        self._settings = settings
        self._stopped = stopped
        self._random = Random()
        #: Up to which state of the server everything is known; empty where it has to be listed.
        self._version = ""
        self._was_listed = False
        self._pause = settings.first_pause

    def run(self) -> None:
        """Watch until stopped."""
        while not self._stopped.is_set():
            began = monotonic()
            try:
                if not self._version:
                    self._list()
                self._watch()
                if monotonic() - began < 1.0:
                    # As client-go has it, a watch that ends at once has failed.
                    self._wait()
            except GoneError:
                self._version = ""
                if monotonic() - began < 1.0:
                    self._wait()
            except (ForbiddenError, NotServedError) as error:
                if not self._was_listed:
                    self._listener.forbidden(self._served, error)
                    return
                self._failed(error)
            except KschedctlError as error:
                self._failed(error)

    def _list(self) -> None:
        self._connection.limits.begin()
        listing = list_objects(
            self._connection, self._served, page_size=self._settings.page_size, listed=lambda so_far, to_come: None
        )
        if not listing.resource_version:
            raise ClusterError(f"{self._connection.host}{self._served.path} does not tell of which version its list is")
        self._version = listing.resource_version
        self._was_listed = True
        self._listener.listed(self._served, [obj for obj, _ in listing.objects])

    def _watch(self) -> None:
        settings, served, listener = self._settings, self._served, self._listener
        seconds = round(settings.watch_seconds * (1 + self._random.random()))
        began = monotonic()
        with watching(
            self._connection, served, self._version, seconds=seconds, idle_seconds=settings.idle_seconds
        ) as events:
            listener.heard(served)
            for event in events:
                if self._stopped.is_set():
                    return
                if event.obj is not None:
                    (listener.gone if event.deleted else listener.changed)(served, event.obj)
                if event.resource_version:
                    self._version = event.resource_version
                listener.heard(served)
                if monotonic() - began > _GOOD_SECONDS:
                    self._pause = settings.first_pause

    def _failed(self, error: KschedctlError) -> None:
        if not self._stopped.is_set():
            self._listener.failed(self._served, error)
            self._wait()

    def _wait(self) -> None:
        self._stopped.wait(self._pause * (1 + self._random.random()))
        self._pause = min(2 * self._pause, self._settings.longest_pause)
