"""The Events that the copies of ``watch`` have written, by pod, as the API server holds them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlencode

import msgspec

from kschedctl.common.errors import ClusterError
from kschedctl.sources.live.api_server import ObjectClient

#: The ``reportingController`` of the Events.
CONTROLLER: Final = "kschedctl"
_PAGE: Final = 500
#: The most pages that are read of one namespace; Events expire after an hour by default.
_MOST_PAGES: Final = 200


@dataclass(slots=True)
class PodEvents:
    """The Events on one pod.

    Attributes
    ----------
    counts : dict of str to int
        The names of the Events, with the number of times that each was observed.
    newest : str
        The name of the Event that was observed last; empty if there is none.
    newest_at : str
        The time of that observation, as the API writes it.
    """

    counts: dict[str, int] = field(default_factory=dict)
    newest: str = ""
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

    Parameters
    ----------
    client : ObjectClient
        The API server.
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

        Parameters
        ----------
        until : float
            The time by which the answer is needed, by ``time.monotonic``.

        Raises
        ------
        ClusterError
            If the Events of the namespace cannot be listed.
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
