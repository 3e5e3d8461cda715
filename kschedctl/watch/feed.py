"""What has changed in a running cluster since somebody last looked, an entry per object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Condition, Event, Thread
from time import monotonic
from typing import Final

from kschedctl.api.coordination import Lease, LeaseCandidate
from kschedctl.api.limits import ResourceQuota
from kschedctl.api.meta import ApiObject
from kschedctl.api.workload import CronJob, DaemonSet, Deployment, Job, PodTemplate
from kschedctl.errors import KschedctlError
from kschedctl.live.connection import Connection
from kschedctl.live.discovery import Served
from kschedctl.live.reflector import Reflector, ReflectorSettings

Name = tuple[str, str]
#: Kinds that no answer for a pod of the cluster goes by: what makes pods, what refuses new ones, and who leads.
NOT_WATCHED: Final[frozenset[type[ApiObject]]] = frozenset(
    {Deployment, DaemonSet, Job, CronJob, PodTemplate, ResourceQuota, Lease, LeaseCandidate}
)


@dataclass(slots=True)
class Changes:
    """What has changed.

    Attributes
    ----------
    lists : dict of type to dict
        Kinds that were listed, each with all its objects by namespace and name: what is not among them is gone.
    objects : dict of type to dict
        Of other kinds, objects by namespace and name as they are now; ``None`` for those that are gone.
    since : float
        When the first of it came, as ``time.monotonic`` tells it.
    """

    lists: dict[type[ApiObject], dict[Name, ApiObject]] = field(default_factory=dict)
    objects: dict[type[ApiObject], dict[Name, ApiObject | None]] = field(default_factory=dict)
    since: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.lists or self.objects)


@dataclass(slots=True)
class Reach:
    """How the watch of a kind is doing.

    Attributes
    ----------
    heard_at : float
        When everything was known up to, as ``time.monotonic`` tells it.
    listed : int
        How often it was listed.
    failures : int
        How often something went wrong.
    problem : str
        What is wrong now; empty where nothing is.
    """

    heard_at: float
    listed: int = 0
    failures: int = 0
    problem: str = ""


class Feed:
    """Watches kinds of a running cluster, each in a thread of its own, and keeps what changes until it is taken.

    Of an object only the last state is kept, so that what waits to be taken is never more than the cluster itself.

    Parameters
    ----------
    connection : Connection
        The server.
    kinds : sequence of Served
        What is watched.
    settings : ReflectorSettings
        How.
    """

    def __init__(
        self, connection: Connection, kinds: Sequence[Served], settings: ReflectorSettings | None = None
    ) -> None:
        self._connection = connection
        self._kinds = tuple(kinds)
        self._settings = settings or ReflectorSettings()
        self._changed = Condition()
        self._changes = Changes()
        self._stopped = Event()
        self._woken = False
        self._reach = {served.kind: Reach(monotonic()) for served in kinds}
        self._open = {served.kind for served in kinds}
        self._refused: dict[str, KschedctlError] = {}
        self._failed: dict[str, KschedctlError] = {}
        self._bug: BaseException | None = None
        self._threads: list[Thread] = []

    def start(self) -> None:
        """Begin."""
        for served in self._kinds:
            reflector = Reflector(self._connection, served, self, self._settings, self._stopped)
            thread = Thread(target=self._run, args=(reflector,), name=f"watch {served.plural}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """End all watches."""
        self._stopped.set()
        self._connection.close()
        self.wake()

    def wake(self) -> None:
        """Let `take` return early."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def first(self, seconds: float | None) -> bool:
        """Wait until every kind has been listed once, or is refused; false where it takes longer than so many seconds.

        Raises
        ------
        KschedctlError
            Where a kind cannot be listed.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._woken or not self._open or self._failed or self._bug, seconds)
            self._woken = False
            self._raise_bug()
            for error in self._failed.values():
                raise error
            return not self._open

    def take(self, seconds: float, settle: float = 0.0) -> Changes:
        """What has changed since the last time; nothing where nothing does.

        Parameters
        ----------
        seconds : float
            How long is waited for something.
        settle : float
            How long is waited for more that belongs to it, in seconds.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._woken or bool(self._changes) or self._bug, seconds)
            self._raise_bug()
            if self._changes and settle and not self._woken:
                self._changed.wait_for(lambda: self._woken or self._bug, settle)
            self._woken = False
            taken, self._changes = self._changes, Changes()
            return taken

    @property
    def refused(self) -> Mapping[str, KschedctlError]:
        """The kinds that may not be listed, or are not there."""
        return dict(self._refused)

    @property
    def reach(self) -> Mapping[str, Reach]:
        """How the watch of each kind is doing."""
        return {kind: reach for kind, reach in self._reach.items() if kind not in self._refused}

    @property
    def age(self) -> float:
        """How long ago everything of the kind was known that was last heard of longest ago, in seconds."""
        return monotonic() - min((reach.heard_at for reach in self.reach.values()), default=monotonic())

    # What the reflectors tell.

    def listed(self, served: Served, objects: Sequence[ApiObject]) -> None:
        """These are all objects of a kind."""
        with self._changed:
            self._note()
            self._changes.objects.pop(served.type_, None)
            self._changes.lists[served.type_] = {(obj.namespace, obj.name): obj for obj in objects}
            self._reach[served.kind].listed += 1
            self._open.discard(served.kind)
            self._changed.notify_all()

    def changed(self, served: Served, obj: ApiObject) -> None:
        """An object is there, or is another by now."""
        self._put(served, obj, obj)

    def gone(self, served: Served, obj: ApiObject) -> None:
        """An object is gone."""
        self._put(served, obj, None)

    def heard(self, served: Served) -> None:
        """The server has told everything about a kind up to now."""
        reach = self._reach[served.kind]
        reach.heard_at = monotonic()
        reach.problem = ""

    def failed(self, served: Served, error: KschedctlError) -> None:
        """Something is wrong; it is tried again."""
        with self._changed:
            reach = self._reach[served.kind]
            reach.failures += 1
            reach.problem = str(error)
            if served.kind in self._open:
                self._failed[served.kind] = error
                self._changed.notify_all()

    def forbidden(self, served: Served, error: KschedctlError) -> None:
        """The kind may not be listed, or is not there; it is not tried again."""
        with self._changed:
            self._refused[served.kind] = error
            self._open.discard(served.kind)
            self._changed.notify_all()

    def _put(self, served: Served, obj: ApiObject, now: ApiObject | None) -> None:
        name = obj.namespace, obj.name
        with self._changed:
            self._note()
            listed = self._changes.lists.get(served.type_)
            if listed is None:
                self._changes.objects.setdefault(served.type_, {})[name] = now
            elif now is None:
                listed.pop(name, None)
            else:
                listed[name] = now
            self._changed.notify_all()

    def _note(self) -> None:
        if not self._changes:
            self._changes.since = monotonic()

    def _run(self, reflector: Reflector) -> None:
        try:
            reflector.run()
        except BaseException as bug:
            with self._changed:
                self._bug = bug
                self._changed.notify_all()

    def _raise_bug(self) -> None:
        if self._bug is not None:
            raise self._bug
