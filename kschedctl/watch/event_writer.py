"""Answers written as Events on their pods, each answer once; nothing else is written to a cluster.

The name of an Event is derived from the pod's uid and the answer. So a replica that begins to lead, or is restarted,
does not write an existing Event again: the API server refuses it. Only an answer that returns after another one gets a
name of its own. If a pod's answers change faster than they are written, only the last one is written.
"""

from __future__ import annotations

import json
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from threading import Condition, Thread
from typing import Any, Final

from kschedctl.errors import KschedctlError
from kschedctl.live.error_responses import ConflictingError, ForbiddenError, NotServedError
from kschedctl.live.object_client import ObjectClient
from kschedctl.scheduler.outcome import Outcome
from kschedctl.watch.pod_answers import PendingReport

CONTROLLER: Final = "kschedctl"
#: The limits of the API server (``ValidateEventCreate``): bytes of a note, characters of an instance.
_MOST_NOTE: Final = 1024
_MOST_INSTANCE: Final = 128
#: At most 200 characters of the pod's name are part of an Event's name.
_MOST_NAME: Final = 200
#: The rate limit: a burst of 100 Events, refilled at 10 per second.
_BURST, _PER_SECOND = 100, 10.0
#: A pod gets at most one Event per 5 seconds.
_PAUSE: Final = 5.0
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
    again: bool
    tries: int = 0


class EventWriter:
    """A writer of Events, in a thread of its own.

    Parameters
    ----------
    client : ObjectClient
        The API server.
    instance : str
        The identity of this replica.
    left : callable
        Returns the number of seconds for which this replica is allowed to write.
    tell : callable
        Receives messages about failures.

    Attributes
    ----------
    outcomes : Counter
        The number of Events that were written, existed already (``known``), failed, or were dropped as this replica
        lost the lead.
    """

    def __init__(
        self, client: ObjectClient, instance: str, left: Callable[[], float], tell: Callable[[str], None]
    ) -> None:
        self._client = client
        self._instance = instance[:_MOST_INSTANCE]
        self._left = left
        self._tell = tell
        self.outcomes: Counter[str] = Counter()
        self._waiting: OrderedDict[str, _Written] = OrderedDict()
        self._changed = Condition()
        self._stopped = False
        self._told = ""
        self._bug: BaseException | None = None
        self._tokens, self._counted_at = float(_BURST), time.monotonic()
        #: The times of the pods' last Events, as far as these are less than 5 seconds ago.
        self._last: OrderedDict[str, float] = OrderedDict()
        self._thread = Thread(target=self._run, name="events", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def put(self, waits: PendingReport, detail: str) -> None:
        """Queue an answer to be written as soon as the rate limit allows.

        Parameters
        ----------
        detail : str
            The text after the scheduler's message.
        """
        pod, answer = waits.pod, waits.answer
        text = "The pod fits now: kube-scheduler retries it soon." if answer.outcome is Outcome.SCHEDULED else ""
        message = answer.message or text
        note = f"{message}{' ' if message.endswith('.') else '; '}{detail}" if detail else message
        digest = sha256(repr((pod.metadata.uid, answer)).encode()).hexdigest()[:16]
        written = _Written(
            pod.namespace, pod.name, pod.metadata.uid, answer.outcome, _shortened(note), digest, waits.again
        )
        with self._changed:
            if self._bug is not None:
                raise self._bug
            self._waiting[written.uid] = written
            self._changed.notify()

    def forget(self, uid: str) -> None:
        """Drop the queued answer of a pod."""
        with self._changed:
            self._waiting.pop(uid, None)

    def stop(self) -> None:
        """Stop writing, and wait for the current request."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join(_REQUEST_SECONDS + 1)

    def _run(self) -> None:
        try:
            self._write_all()
        except BaseException as bug:
            # The next call of ``put`` raises it.
            self._bug = bug

    def _write_all(self) -> None:
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
                self._put_back(written)
            self.outcomes[outcome] += 1

    def _write(self, written: _Written, seconds: float) -> str:
        until = time.monotonic() + seconds
        try:
            self._post(written, _event_name(written), seconds)
        except ConflictingError:
            if not written.again:
                return "known"
            self._post(written, f"{_event_name(written)}.{time.time_ns():x}", until - time.monotonic())
        return "written"

    def _post(self, written: _Written, name: str, seconds: float) -> None:
        if seconds <= 0:
            raise KschedctlError("no time left to write an Event")
        body = json.dumps(event(written, name, self._instance)).encode()
        path = f"/apis/events.k8s.io/v1/namespaces/{written.namespace}/events"
        self._client.request("POST", path, body, seconds)

    def _failed(self, error: KschedctlError) -> str:
        if str(error) != self._told:
            self._told = str(error)
            self._tell(f"an Event cannot be written: {error}")
        return "failed"

    def _put_back(self, written: _Written) -> None:
        if written.tries + 1 < _TRIES:
            again = replace(written, tries=written.tries + 1)
            with self._changed:
                # A newer answer takes precedence.
                self._waiting.setdefault(written.uid, again)

    def _next(self) -> _Written | None:
        """Wait for the next answer that the limits allow, and return it; ``None`` once the writer is stopped."""
        with self._changed:
            while not self._stopped:
                now = time.monotonic()
                while self._last and next(iter(self._last.values())) + _PAUSE <= now:
                    self._last.popitem(last=False)
                self._tokens = min(_BURST, self._tokens + (now - self._counted_at) * _PER_SECOND)
                self._counted_at = now
                ready = next((uid for uid in self._waiting if uid not in self._last), None)
                if ready is not None and self._tokens >= 1:
                    self._tokens -= 1
                    self._last[ready] = now
                    return self._waiting.pop(ready)
                if not self._waiting:
                    self._changed.wait()
                elif ready is not None:
                    self._changed.wait((1 - self._tokens) / _PER_SECOND)
                else:
                    self._changed.wait(next(iter(self._last.values())) + _PAUSE - now)
            return None


def event(written: _Written, name: str, instance: str) -> dict[str, Any]:
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
        "eventTime": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
        "reportingController": CONTROLLER,
        "reportingInstance": instance,
        "action": "Explaining",
        "reason": _REASONS[written.outcome],
        "regarding": regarding,
        "note": written.note,
        "type": "Normal" if written.outcome is Outcome.SCHEDULED else "Warning",
    }


def _event_name(written: _Written) -> str:
    return f"{written.name[:_MOST_NAME].rstrip('.-')}.{written.digest}"


def _shortened(note: str) -> str:
    """Return a note cut to the 1,024 bytes that an Event may have."""
    if len(note.encode()) <= _MOST_NOTE:
        return note
    return f"{note.encode()[: _MOST_NOTE - 3].decode(errors='ignore')}..."
