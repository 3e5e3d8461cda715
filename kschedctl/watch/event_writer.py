"""Answers written as Events on their pods; nothing else is written to a cluster.

The name of an Event is derived from the pod's uid and the answer, so that there is one Event per answer of a pod. An
answer that returns after another one becomes the next observation of its Event: ``series`` has the count and the time
of the last one. The Event of the current answer is therefore always the newest one, and a replica that begins to lead,
or is restarted, writes nothing for an answer whose Event is the newest already.

If a pod's answers change faster than they are written, only the last one is written. The pause between two Events of a
pod doubles while its answer keeps changing.
"""

import json
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from threading import Condition, Thread
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from kschedctl.common.errors import ClusterError, KschedctlError
from kschedctl.leaderelection.elector import Outage
from kschedctl.scheduler.cycle.outcome import Outcome
from kschedctl.sources.live.api_server import ObjectClient
from kschedctl.sources.live.failures import ConflictingError, ForbiddenError, NotServedError
from kschedctl.sources.live.http import JSON
from kschedctl.watch.pod_answers import PendingReport

# The Events that the copies of ``watch`` have written, by pod, as the API server holds them.

#: The ``reportingController`` of the Events.
CONTROLLER: Final = "kschedctl"
_PAGE: Final = 500
#: The most pages that are read of one namespace; Events expire after an hour by default.
_MOST_PAGES: Final = 200


@dataclass(slots=True)
class PodEvents:
    """The Events on one pod."""

    #: The names of the Events, with the number of times that each was observed.
    counts: dict[str, int] = field(default_factory=dict)
    #: The name of the Event that was observed last; empty if there is none.
    newest: str = ""
    #: The time of that observation, as the API writes it.
    newest_at: str = ""

    def note(self, name: str, count: int, at: str) -> None:
        """Record a listed Event with the time of its last observation."""
        self.counts[name] = count
        if at >= self.newest_at:
            self.newest, self.newest_at = name, at

    def wrote(self, name: str, count: int, at: str) -> None:
        """Record an observation by this process: the newest one, even if another replica's clock is ahead."""
        self.note(name, count, max(at, self.newest_at))


class EventHistory:
    """The Events of all pods of the namespaces that were queried.

    A namespace is listed once, when it is first needed; what this process writes is then noted. So the history is right
    while no other copy writes: `forget` it when this process begins to lead.
    """

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        self._namespaces: dict[str, dict[str, PodEvents]] = {}

    def forget(self) -> None:
        """Forget everything, so that the namespaces are listed again."""
        self._namespaces.clear()

    def drop(self, uid: str) -> None:
        """Forget the Events on a pod that is not pending any more."""
        for pods in tuple(self._namespaces.values()):
            pods.pop(uid, None)

    def of(self, namespace: str, uid: str, until: float) -> PodEvents:
        """Return the Events on a pod.

        Args:
            until: The time by which the answer is needed, by ``time.monotonic``.

        Raises ClusterError if the Events of the namespace cannot be listed.
        """
        pods = self._namespaces.get(namespace)
        if pods is None:
            pods = self._namespaces[namespace] = self._listed(namespace, until)
        return pods.setdefault(uid, PodEvents())

    def _listed(self, namespace: str, until: float) -> dict[str, PodEvents]:
        pods: dict[str, PodEvents] = {}
        query = {"fieldSelector": f"reportingController={CONTROLLER}", "limit": str(_PAGE)}
        path = events_path(namespace)
        for _ in range(_MOST_PAGES):
            answer = self._client.request("GET", path, None, until - time.monotonic(), query=f"?{urlencode(query)}")
            try:
                page = _PAGES.decode(answer)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise ClusterError(f"{self._client.host}{path} does not respond with a list: {error}") from None
            for each in page.items or ():
                series = each.series or _Series()
                at = series.last_observed_time or each.event_time or ""
                pods.setdefault(each.regarding.uid, PodEvents()).note(each.metadata.name, max(series.count, 1), at)
            if not page.metadata.next_page:
                break
            query["continue"] = page.metadata.next_page
        return pods


def events_path(namespace: str) -> str:
    """Return the path of the Events of a namespace."""
    return f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    next_page: str = msgspec.field(default="", name="continue")


class _Series(msgspec.Struct, rename="camel"):
    count: int = 0
    last_observed_time: str | None = None


class _Regarding(msgspec.Struct):
    uid: str = ""


class _Event(msgspec.Struct, rename="camel"):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    regarding: _Regarding = msgspec.field(default_factory=_Regarding)
    event_time: str | None = None
    series: _Series | None = None


class _Page(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    items: list[_Event] | None = None


#: The decoder of pages, created before threads use it.
_PAGES: Final = msgspec.json.Decoder(_Page)


_MERGE_PATCH: Final = "application/merge-patch+json"
#: The limits of the API server (``ValidateEventCreate``): bytes of a note, characters of an instance.
_MOST_NOTE: Final = 1024
_MOST_INSTANCE: Final = 128
#: At most 200 characters of the pod's name are part of an Event's name.
_MOST_NAME: Final = 200
#: The rate limit: a burst of 100 Events, refilled at 10 per second.
_BURST, _PER_SECOND = 100, 10.0
#: A pod gets at most one Event per 5 seconds; while its answer keeps changing, down to one per 5 minutes.
_PAUSE, _LONGEST_PAUSE = 5.0, 300.0
#: The pause of a pod is forgotten 15 minutes after its last Event.
_QUIET: Final = 900.0
_REQUEST_SECONDS: Final = 5.0
#: With less than 0.5 seconds left to lead, nothing is written.
_LEAST_SECONDS: Final = 0.5
_TRIES: Final = 5
_REASONS: Final = {
    Outcome.UNSCHEDULABLE: "Unschedulable",
    Outcome.GATED: "SchedulingGated",
    Outcome.ERROR: "SchedulerError",
    Outcome.SCHEDULED: "Schedulable",
}


@dataclass(frozen=True, slots=True)
class _Written:
    """An answer that is to be written."""

    namespace: str
    name: str
    uid: str
    outcome: Outcome
    note: str
    digest: str
    tries: int = 0


@dataclass(frozen=True, slots=True)
class _Pace:
    """The time of a pod's last Event, and the pause after it."""

    at: float
    pause: float

    def after(self, now: float) -> "_Pace":
        """Return the pace after another Event: a longer pause if the last one has only just ended, else a shorter."""
        hurried = now < self.at + 2 * self.pause
        return _Pace(now, min(self.pause * 2, _LONGEST_PAUSE) if hurried else max(self.pause / 2, _PAUSE))


class EventWriter:
    """A writer of Events, in a thread of its own.

    outcomes: The number of Events that were written or observed again (``repeated``), were the newest already
        (``known``), failed, or were dropped as this replica lost the lead.

    Args:
        left: Returns the number of seconds for which this replica is allowed to write.
        tell: Receives messages about failures.
    """

    def __init__(
        self, client: ObjectClient, instance: str, left: Callable[[], float], tell: Callable[[str], None]
    ) -> None:
        self._client = client
        self._instance = instance[:_MOST_INSTANCE]
        self._left = left
        self.outcomes: Counter[str] = Counter()
        self._waiting: OrderedDict[str, _Written] = OrderedDict()
        self._changed = Condition()
        self._stopped = False
        self._failures = Outage(tell)
        self._bug: BaseException | None = None
        self._tokens, self._counted_at = float(_BURST), time.monotonic()
        #: The paces of the pods with an Event in the last 15 minutes, by the time of the last one.
        self._paces: OrderedDict[str, _Pace] = OrderedDict()
        self._history = EventHistory(client)
        self._term_began = False
        self._thread = Thread(target=self._run, name="events", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def begin_term(self) -> None:
        """Take note that this replica begins to lead: others may have written Events before."""
        self._term_began = True

    def put(self, waits: PendingReport, detail: str) -> None:
        """Queue an answer to be written as soon as the rate limit allows.

        Args:
            detail: The text after the scheduler's message.
        """
        pod, answer = waits.pod, waits.answer
        text = "The pod fits now: kube-scheduler retries it soon." if answer.outcome is Outcome.SCHEDULED else ""
        message = answer.message or text
        note = f"{message}{' ' if message.endswith('.') else '; '}{detail}" if detail else message
        digest = sha256(repr((pod.metadata.uid, answer)).encode()).hexdigest()[:16]
        if len(note.encode()) > _MOST_NOTE:
            note = f"{note.encode()[: _MOST_NOTE - 3].decode(errors='ignore')}..."
        written = _Written(pod.namespace, pod.name, pod.metadata.uid, answer.outcome, note, digest)
        with self._changed:
            if self._bug is not None:
                raise self._bug
            self._waiting[written.uid] = written
            self._changed.notify()

    def forget(self, uid: str) -> None:
        """Drop the queued answer of a pod."""
        with self._changed:
            self._waiting.pop(uid, None)
        self._history.drop(uid)

    def stop(self) -> None:
        """Stop writing, and wait for the current request."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join(_REQUEST_SECONDS + 1)

    def _run(self) -> None:
        try:
            while (written := self._next()) is not None:
                left = self._left()
                if left < _LEAST_SECONDS:
                    # The next leader reports it.
                    self.outcomes["dropped"] += 1
                    continue
                try:
                    outcome = self._write(written, min(left, _REQUEST_SECONDS))
                except (ForbiddenError, NotServedError) as error:
                    # The namespace is being deleted, or the user is not allowed to write; a retry does not help.
                    outcome = self._failed(error)
                except KschedctlError as error:
                    outcome = self._failed(error)
                    if written.tries + 1 < _TRIES:
                        again = replace(written, tries=written.tries + 1)
                        with self._changed:
                            # A newer answer takes precedence.
                            self._waiting.setdefault(written.uid, again)
                else:
                    self._failures.ended("Events are written again")
                self.outcomes[outcome] += 1
        except BaseException as bug:
            # The next call of ``put`` raises it.
            self._bug = bug

    def _write(self, written: _Written, seconds: float) -> str:
        until = time.monotonic() + seconds
        if self._term_began:
            self._term_began = False
            self._history.forget()
        of_pod = self._history.of(written.namespace, written.uid, until)
        name = f"{written.name[:_MOST_NAME].rstrip('.-')}.{written.digest}"
        now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
        if of_pod.newest == name:
            return "known"
        if name in of_pod.counts:
            try:
                self._repeat(written, name, of_pod.counts[name] + 1, now, until)
            except NotServedError:
                # The Event has expired.
                del of_pod.counts[name]
            else:
                of_pod.wrote(name, of_pod.counts[name] + 1, now)
                return "repeated"
        try:
            self._send("POST", events_path(written.namespace), event(written, name, self._instance, now), until)
        except ConflictingError:
            # Another replica has written it since the Events were listed, and a lost response looks the same.
            self._repeat(written, name, 2, now, until)
            of_pod.wrote(name, 2, now)
            return "repeated"
        of_pod.wrote(name, 1, now)
        return "written"

    def _repeat(self, written: _Written, name: str, count: int, now: str, until: float) -> None:
        patch = {"series": {"count": count, "lastObservedTime": now}}
        self._send("PATCH", f"{events_path(written.namespace)}/{name}", patch, until, _MERGE_PATCH)

    def _send(self, method: str, path: str, body: dict[str, Any], until: float, content_type: str = JSON) -> None:
        seconds = until - time.monotonic()
        if seconds <= 0:
            raise KschedctlError("no time left to write an Event")
        self._client.request(method, path, json.dumps(body).encode(), seconds, content_type=content_type)

    def _failed(self, error: KschedctlError) -> str:
        self._failures.failed(f"an Event cannot be written: {error.summary}")
        return "failed"

    def _next(self) -> _Written | None:
        """Wait for the next answer that the limits allow, and return it; ``None`` once the writer is stopped."""
        with self._changed:
            while not self._stopped:
                now = time.monotonic()
                while self._paces and next(iter(self._paces.values())).at + _QUIET <= now:
                    self._paces.popitem(last=False)
                self._tokens = min(_BURST, self._tokens + (now - self._counted_at) * _PER_SECOND)
                self._counted_at = now
                ready = next((uid for uid in self._waiting if self._free_at(uid) <= now), None)
                if ready is not None and self._tokens >= 1:
                    self._tokens -= 1
                    pace = self._paces.pop(ready, None)
                    self._paces[ready] = pace.after(now) if pace is not None else _Pace(now, _PAUSE)
                    return self._waiting.pop(ready)
                if not self._waiting:
                    self._changed.wait()
                elif ready is not None:
                    self._changed.wait((1 - self._tokens) / _PER_SECOND)
                else:
                    self._changed.wait(min(map(self._free_at, self._waiting)) - now)
            return None

    def _free_at(self, uid: str) -> float:
        """Return the time from which a pod may get an Event."""
        pace = self._paces.get(uid)
        return pace.at + pace.pause if pace is not None else 0.0


def event(written: _Written, name: str, instance: str, at: str) -> dict[str, Any]:
    """Return an Event as a manifest (``events.k8s.io/v1``)."""
    regarding = {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": written.namespace,
        "name": written.name,
        "uid": written.uid,
    }
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": written.namespace},
        "eventTime": at,
        "reportingController": CONTROLLER,
        "reportingInstance": instance,
        "action": "Explaining",
        "reason": _REASONS[written.outcome],
        "regarding": regarding,
        "note": written.note,
        "type": "Normal" if written.outcome is Outcome.SCHEDULED else "Warning",
    }
