"""The changes in a running cluster since they were last taken, one entry per object."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Condition, Event, Thread
from time import monotonic
from typing import Final

from kschedctl.common.errors import KschedctlError
from kschedctl.objects.coordination import Lease, LeaseCandidate
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod_group import Workload
from kschedctl.objects.policies import ResourceQuota
from kschedctl.objects.workload import CronJob, DaemonSet, Deployment, Job, PodTemplate
from kschedctl.sources.live.api_server import Connection
from kschedctl.sources.live.discovery import Served
from kschedctl.sources.live.reflector import Reflector, ReflectorSettings

Name = tuple[str, str]
#: The kinds that no answer for a pod of the cluster depends on: workloads, quotas, and Leases of elections.
NOT_WATCHED: Final[frozenset[type[ApiObject]]] = frozenset(
    {Deployment, DaemonSet, Job, CronJob, PodTemplate, Workload, ResourceQuota, Lease, LeaseCandidate}
)
#: The number of invalid objects that are remembered for each kind.
_MOST_UNREADABLE: Final = 20


@dataclass(slots=True)
class FeedChanges:
    """Changes in a cluster."""

    #: Kinds that were listed, each with all its objects by namespace and name; all other objects are gone.
    lists: dict[type[ApiObject], dict[Name, ApiObject]] = field(default_factory=dict)
    #: For other kinds, the changed objects by namespace and name; ``None`` for deleted ones.
    objects: dict[type[ApiObject], dict[Name, ApiObject | None]] = field(default_factory=dict)
    #: The time of the first change, by ``time.monotonic``.
    since: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.lists or self.objects)


@dataclass(slots=True)
class KindStatus:
    """The status of the watch of a kind."""

    #: The time up to which all changes are known, by ``time.monotonic``.
    heard_at: float
    listed: int = 0
    failures: int = 0
    #: The current problem; empty if there is none.
    problem: str = ""
    #: The problem without the path of the kind, which is the same for all kinds in an outage.
    cause: str = ""
    #: The time of the last failure, by ``time.monotonic``.
    failed_at: float = 0.0


class Feed:
    """Watches of the kinds of a running cluster, each in a thread of its own, with the changes until they are taken.

    Only the last state of an object is kept, so that the collected changes are never larger than the cluster itself.

    Args:
        settings: The settings of the watches; by default those of `ReflectorSettings`.
    """

    def __init__(
        self, connection: Connection, kinds: Sequence[Served], settings: ReflectorSettings | None = None
    ) -> None:
        self._connection = connection
        self._kinds = tuple(kinds)
        self._settings = settings or ReflectorSettings()
        self._changed = Condition()
        self._changes = FeedChanges()
        self._stopped = Event()
        self._woken = False
        self._reach = {served.kind: KindStatus(monotonic()) for served in kinds}
        self._open = {served.kind for served in kinds}
        self._unreadable: dict[str, set[str]] = {}
        self._refused: dict[str, KschedctlError] = {}
        self._failed: dict[str, KschedctlError] = {}
        self._bug: BaseException | None = None
        self._threads: list[Thread] = []

    def start(self) -> None:
        """Start all watches."""
        for served in self._kinds:
            reflector = Reflector(self._connection, served, self, self._settings, self._stopped)
            thread = Thread(target=self._run, args=(reflector,), name=f"watch {served.plural}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Stop all watches."""
        self._stopped.set()
        self._connection.close()
        self.wake()

    def wake(self) -> None:
        """Make `take` return early."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def first(self, seconds: float | None) -> bool:
        """Wait until every kind has been listed once or refused; return false if this takes longer than ``seconds``.

        Raises KschedctlError if a kind cannot be listed.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._woken or not self._open or self._failed or self._bug, seconds)
            self._woken = False
            self._raise_bug()
            for error in self._failed.values():
                raise error
            return not self._open

    def take(self, seconds: float, settle: float = 0.0) -> FeedChanges:
        """Return the changes since the last call; empty if there are none.

        Args:
            seconds: The longest time to wait for a first change, in seconds.
            settle: The time to wait for further changes after it, in seconds.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._woken or bool(self._changes) or self._bug, seconds)
            self._raise_bug()
            if self._changes and settle and not self._woken:
                self._changed.wait_for(lambda: self._woken or self._bug, settle)
            self._woken = False
            taken, self._changes = self._changes, FeedChanges()
            return taken

    @property
    def refused(self) -> Mapping[str, KschedctlError]:
        """The kinds that are not allowed to be listed, or do not exist on the server, with the error of each."""
        return dict(self._refused)

    @property
    def unreadable(self) -> set[str]:
        """The problems of objects that are not valid for their kinds, at most 20 for each kind."""
        return {problem for problems in tuple(self._unreadable.values()) for problem in tuple(problems)}

    @property
    def reach(self) -> Mapping[str, KindStatus]:
        """The status of the watch of each kind that is not refused."""
        return {kind: reach for kind, reach in self._reach.items() if kind not in self._refused}

    @property
    def age(self) -> float:
        """The time since the stalest kind was last up to date, in seconds."""
        return monotonic() - min((reach.heard_at for reach in self.reach.values()), default=monotonic())

    @property
    def trouble(self) -> KindStatus | None:
        """The status of the kind whose watch failed last, if it has not recovered since; ``None`` if no kind fails."""
        failing = [reach for reach in self.reach.values() if reach.problem]
        return max(failing, key=lambda reach: reach.failed_at, default=None)

    # The methods below are called by the reflectors.

    def listed(self, served: Served, objects: Sequence[ApiObject]) -> None:
        """Take all objects of a kind."""
        with self._changed:
            self._note()
            self._changes.objects.pop(served.type_, None)
            self._changes.lists[served.type_] = {(obj.namespace, obj.name): obj for obj in objects}
            self._reach[served.kind].listed += 1
            self._unreadable.pop(served.kind, None)
            self._open.discard(served.kind)
            self._changed.notify_all()

    def changed(self, served: Served, obj: ApiObject) -> None:
        """Take an object that was added or modified."""
        self._put(served, obj, obj)

    def gone(self, served: Served, obj: ApiObject) -> None:
        """Take the deletion of an object."""
        self._put(served, obj, None)

    def unreadable_object(self, served: Served, problem: str) -> None:
        """Take the problem of an object that is not valid for its kind."""
        problems = self._unreadable.setdefault(served.kind, set())
        if len(problems) < _MOST_UNREADABLE:
            problems.add(problem)

    def heard(self, served: Served) -> None:
        """Record that all changes of a kind are known up to this moment."""
        reach = self._reach[served.kind]
        reach.heard_at = monotonic()
        reach.problem = ""

    def failed(self, served: Served, error: KschedctlError) -> None:
        """Record a failure that is retried."""
        with self._changed:
            reach = self._reach[served.kind]
            reach.failures += 1
            reach.problem = error.summary
            reach.cause = error.summary.replace(served.path, "")
            reach.failed_at = monotonic()
            if served.kind in self._open:
                self._failed[served.kind] = error
                self._changed.notify_all()

    def forbidden(self, served: Served, error: KschedctlError) -> None:
        """Record that a kind is not allowed to be listed, or does not exist; it is not retried."""
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
