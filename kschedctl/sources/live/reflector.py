"""A reflector: lists the objects of a kind and watches their changes until stopped (client-go's ``Reflector``).

The reflector lists the kind and starts a watch at the resource version of the list. When the watch ends or breaks off,
another watch starts at the last resource version seen. The kind is listed again only if that resource version has
expired on the server (410 Gone).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from threading import Event
from time import monotonic
from typing import Final, Protocol

from kschedctl.common.errors import ClusterError, KschedctlError
from kschedctl.objects.meta import ApiObject
from kschedctl.sources.live.connection import Connection
from kschedctl.sources.live.discovery import Served
from kschedctl.sources.live.error_responses import ForbiddenError, GoneError, NotServedError
from kschedctl.sources.live.lists import list_objects
from kschedctl.sources.live.watching import open_watch

#: The time after which a working watch resets the pauses between retries, in seconds.
_GOOD_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectorSettings:
    """The parameters of a reflector.

    Attributes
    ----------
    page_size : int
        The number of objects per page of a list request.
    watch_seconds : int
        The duration of a watch, in seconds. A random time of up to the same length is added, so that not all watches
        end at once.
    idle_seconds : float
        The longest time without an event, in seconds. The server sends a bookmark about every minute.
    first_pause, longest_pause : float
        The first and the longest pause before a retry after a failure, in seconds. The pause doubles with each retry,
        and a random time of up to the same length is added.
    """

    page_size: int = 500
    watch_seconds: int = 300
    idle_seconds: float = 150.0
    first_pause: float = 0.25
    longest_pause: float = 20.0


class Listener(Protocol):
    """The callbacks of a reflector. They run in the reflectors' threads; calls for one kind do not overlap."""

    def listed(self, served: Served, objects: Sequence[ApiObject]) -> None:
        """Handle a list of all objects of a kind."""

    def changed(self, served: Served, obj: ApiObject) -> None:
        """Handle an object that was created or modified."""

    def gone(self, served: Served, obj: ApiObject) -> None:
        """Handle an object that was deleted or does not match the field selector any more."""

    def unreadable_object(self, served: Served, problem: str) -> None:
        """Handle an object that is not valid for its kind; a list clears the problems of its kind first."""

    def heard(self, served: Served) -> None:
        """Handle a sign of life of the server: all changes of the kind up to the moment of the call were reported."""

    def failed(self, served: Served, error: KschedctlError) -> None:
        """Handle an error after which the reflector retries."""

    def forbidden(self, served: Served, error: KschedctlError) -> None:
        """Handle the end of the reflector: the user is not allowed to list the kind, or it is not served."""


class Reflector:
    """A reflector of one kind.

    Parameters
    ----------
    connection : Connection
        The connection to the server.
    served : Served
        The kind.
    listener : Listener
        The callbacks.
    settings : ReflectorSettings
        The parameters.
    stopped : Event
        The event that stops the reflector.
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
        #: The last resource version seen; empty means that the kind must be listed again.
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
                    # As in client-go, a watch that ends within 1 s counts as failed.
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
        problems: list[str] = []
        listing = list_objects(
            self._connection,
            self._served,
            page_size=self._settings.page_size,
            listed=lambda so_far, to_come: None,
            unreadable=problems.append,
        )
        if not listing.resource_version:
            raise ClusterError(
                f"{self._connection.host}{self._served.path} does not report the resource version of its list"
            )
        self._version = listing.resource_version
        self._was_listed = True
        self._listener.listed(self._served, [obj for obj, _ in listing.objects])
        for problem in problems:
            self._listener.unreadable_object(self._served, problem)

    def _watch(self) -> None:
        settings, served, listener = self._settings, self._served, self._listener
        seconds = round(settings.watch_seconds * (1 + self._random.random()))
        began = monotonic()
        with open_watch(
            self._connection, served, self._version, seconds=seconds, idle_seconds=settings.idle_seconds
        ) as events:
            listener.heard(served)
            for event in events:
                if self._stopped.is_set():
                    return
                if event.obj is not None:
                    (listener.gone if event.deleted else listener.changed)(served, event.obj)
                if event.problem:
                    listener.unreadable_object(served, event.problem)
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
