"""The start of a watch: a context becomes a cluster that is watched."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.common.errors import ClusterError, InputError
from kschedctl.common.findings import Location
from kschedctl.objects.kinds import KINDS, PERMISSIONS_PAGE
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.sources.live.api_server import Connection
from kschedctl.sources.live.discovery import served_kinds, server_version
from kschedctl.sources.live.failures import ForbiddenError
from kschedctl.sources.live.kubeconfig import LiveContext
from kschedctl.sources.live.limits import READING_FACTOR
from kschedctl.sources.live.reflector import ReflectorSettings
from kschedctl.sources.snapshot.decoding import build_decoders
from kschedctl.sources.snapshot.load import Snapshot
from kschedctl.sources.snapshot.summary import ReadSummary
from kschedctl.trials.completeness import permitted
from kschedctl.watch.cache import LeftOut, unversioned
from kschedctl.watch.feed import NOT_WATCHED, Feed, FeedChanges

#: The kinds without which no pod can be decided for.
_NEEDED: Final = ("Node", "Pod")


@dataclass(frozen=True, slots=True)
class Watched:
    """A cluster as first listed, and the source of its changes.

    Attributes
    ----------
    name : str
        The name of the context.
    host : str
        The server's address.
    left_out : dict
        The invalid objects that the snapshot does not contain, as in `Cache`.
    """

    name: str
    host: str
    snapshot: Snapshot
    feed: Feed
    left_out: LeftOut


def start(
    live: LiveContext,
    settings: ReflectorSettings | None = None,
    *,
    not_watched: Collection[type[ApiObject]] = NOT_WATCHED,
) -> Watched:
    """List a cluster and start watching it.

    Parameters
    ----------
    not_watched : collection of type
        The kinds that are left out.

    Raises
    ------
    InputError
        If the context cannot be used.
    ClusterError
        If the cluster cannot be reached, nodes or pods are not allowed to be listed.
    """
    build_decoders(KINDS.values())
    connection = Connection(live)
    connection.limits.begin()
    version = server_version(connection)
    kinds = [served for served in served_kinds(connection) if served.type_ not in not_watched]
    feed = Feed(connection, kinds, settings or ReflectorSettings(page_size=live.page_size))
    feed.start()
    try:
        seconds = live.request_seconds * READING_FACTOR or None
        if not feed.first(seconds):
            raise ClusterError(f"{connection.host} did not list all kinds within {seconds:g} s")
        watched = {kind: "" for (_, kind), type_ in KINDS.items() if type_ not in not_watched}
        summary = ReadSummary(git_version=version, listed=watched)
        for served in kinds:
            error = feed.refused.get(served.kind)
            if served.kind in _NEEDED and error is not None:
                hint = f"permission is required: kubectl auth can-i list {permitted(served.kind)}; {PERMISSIONS_PAGE}"
                problem = f"nothing can be answered without the {served.plural}: {error.summary}"
                raise ClusterError(problem, hint=hint)
            if isinstance(error, ForbiddenError):
                summary.not_listed.add(served.kind)
                del summary.listed[served.kind]
        left_out: LeftOut = {}
        snapshot = _snapshot(feed.take(0), summary, connection.name, left_out)
        return Watched(connection.name, connection.host, snapshot, feed, left_out)
    except BaseException:
        feed.stop()
        raise


def _snapshot(changes: FeedChanges, summary: ReadSummary, name: str, left_out: LeftOut) -> Snapshot:
    builder = ClusterBuilder()
    for kind, objects in changes.lists.items():
        place = Location(f"context {name}, {kind.__name__}")
        for obj in objects.values():
            try:
                builder.add(_kept(obj), place)
            except InputError as error:
                problem = error.findings[0]
                left_out[type(obj), (obj.namespace, obj.name)] = f"{obj.ref}: {problem.field}: {problem.problem}"
        summary.n_of_kind[kind.__name__] = len(objects)
    builder.listed.update(summary.listed)
    builder.not_listed.update(summary.not_listed)
    cluster = builder.build(server_version=summary.git_version, taken_at=datetime.now(UTC))
    return Snapshot(cluster=cluster, paths=(f"context {name}",), scheduler_config=None, left_out={}, summary=summary)


def _kept(obj: ApiObject) -> ApiObject:
    return obj if isinstance(obj, Pod) else unversioned(obj)
