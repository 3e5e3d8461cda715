"""The analysis behind ``watch``: the answers for pending pods of a running cluster, once per change of an answer."""

import dataclasses
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.common.errors import ClusterError, InputError
from kschedctl.common.extras import install_command
from kschedctl.common.findings import Location
from kschedctl.leaderelection.locks import LeaseLock, lease_name, own_identity
from kschedctl.leaderelection.settings import ElectionSettings
from kschedctl.objects.karpenter import NodeClaim, NodePool
from kschedctl.objects.kinds import KINDS, LISTED_KINDS, PERMISSIONS_PAGE
from kschedctl.objects.meta import ApiObject, ObjectMeta
from kschedctl.objects.pod import Pod
from kschedctl.objects.selectors import matches, parse_label_query
from kschedctl.questions.cluster_request import ClusterRequest
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.pod_selection import NamespaceScope
from kschedctl.questions.provenance import provenance
from kschedctl.questions.watch.answer import Line, PodWaits
from kschedctl.sources.live.api_server import Connection, ObjectClient
from kschedctl.sources.live.discovery import served_kinds, server_version
from kschedctl.sources.live.failures import ForbiddenError
from kschedctl.sources.live.kubeconfig import LiveContext
from kschedctl.sources.live.limits import READING_FACTOR
from kschedctl.sources.live.reflector import ReflectorSettings
from kschedctl.sources.snapshot.decoding import build_decoders
from kschedctl.sources.snapshot.load import Snapshot
from kschedctl.sources.snapshot.summary import ReadSummary
from kschedctl.trials.completeness import missing_for_any, permitted
from kschedctl.watch.answer_lines import Lines, begun, standstill_line
from kschedctl.watch.cache import LeftOut, unversioned
from kschedctl.watch.event_writer import EventWriter
from kschedctl.watch.feed import NOT_WATCHED, Feed, FeedChanges
from kschedctl.watch.leadership import Alone, Elected, Leadership
from kschedctl.watch.loop import Loop, LoopStatus
from kschedctl.watch.pod_answers import PendingReport, PodAnswers, PodReport
from kschedctl.watch.server import Server, address

# The start of a watch: a context becomes a cluster that is watched.

#: The kinds without which no pod can be decided for.
_NEEDED: Final = ("Node", "Pod")
#: The objects of Karpenter, which the answer for a pending pod depends on where they exist.
_OF_KARPENTER: Final[frozenset[type[ApiObject]]] = frozenset((NodePool, NodeClaim))


@dataclass(frozen=True, slots=True)
class Watched:
    """A cluster as first listed, and the source of its changes."""

    #: The name of the context.
    name: str
    #: The server's address.
    host: str
    snapshot: Snapshot
    feed: Feed
    #: The invalid objects that the snapshot does not contain, as in `Cache`.
    left_out: LeftOut


def start(
    live: LiveContext,
    settings: ReflectorSettings | None = None,
    *,
    not_watched: Collection[type[ApiObject]] = NOT_WATCHED,
) -> Watched:
    """List a cluster and start watching it.

    Args:
        not_watched: The kinds that are left out.

    Raises InputError if the context cannot be used.
    Raises ClusterError if the cluster cannot be reached, nodes or pods are not allowed to be listed.
    """
    build_decoders((*KINDS.values(), *_OF_KARPENTER))
    connection = Connection(live)
    connection.limits.begin()
    version = server_version(connection)
    types = (set(KINDS.values()) - set(not_watched)) | _OF_KARPENTER
    kinds = [served for served in served_kinds(connection) if served.type_ in types]
    feed = Feed(connection, kinds, settings or ReflectorSettings(page_size=live.page_size))
    feed.start()
    try:
        seconds = live.request_seconds * READING_FACTOR or None
        if not feed.first(seconds):
            raise ClusterError(f"{connection.host} did not list all kinds within {seconds:g} s")
        watched = {kind: "" for (_, kind), type_ in LISTED_KINDS.items() if type_ in types}
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
                builder.add(obj if isinstance(obj, Pod) else unversioned(obj), place)
            except InputError as error:
                problem = error.findings[0]
                left_out[type(obj), (obj.namespace, obj.name)] = f"{obj.ref}: {problem.field}: {problem.problem}"
        summary.n_of_kind[kind.__name__] = len(objects)
    builder.listed.update(summary.listed)
    builder.not_listed.update(summary.not_listed)
    cluster = builder.build(server_version=summary.git_version, taken_at=datetime.now(UTC))
    return Snapshot(cluster=cluster, paths=(f"context {name}",), scheduler_config=None, left_out={}, summary=summary)


_LEASE: Final = "kschedctl-watch"


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRequest:
    """A cluster and the pods to watch in it."""

    #: The cluster, and the rules that apply to it.
    cluster: ClusterRequest = field(default_factory=ClusterRequest)
    #: The namespace and the label selector of the pods; empty for the context's namespace, and for all labels.
    namespace: str = ""
    #: True for the pods of all namespaces.
    all_namespaces: bool = False
    #: The namespace and the label selector of the pods; empty for the context's namespace, and for all labels.
    selector: str = ""
    #: True to write each answer as an Event on its pod.
    events: bool = False
    #: The address at which metrics and health checks are served; empty for none.
    metrics: str = ""
    #: The times of the election among several replicas; ``None`` if this is the only one.
    election: ElectionSettings | None = None
    #: The Lease of that election, as namespace/name; empty for ``kschedctl-watch`` in the context's namespace.
    lease: str = ""
    #: The identity of this replica; empty for the host's name and a unique suffix.
    identity: str = ""

    @property
    def scope(self) -> NamespaceScope:
        """The namespaces in scope."""
        return NamespaceScope.of(self.namespace, self.cluster.source, everywhere=self.all_namespaces)

    def selection(self) -> tuple[str, Callable[[ObjectMeta], bool]]:
        """Return the watched pods as text, and a test of a pod's metadata."""
        scope = self.scope
        namespace = scope.namespace
        query = parse_label_query(self.selector) if self.selector else None

        def is_selected(metadata: ObjectMeta) -> bool:
            own = namespace is None or metadata.namespace == namespace
            return own and (query is None or matches(query, metadata.labels))

        return f"{scope}, with {self.selector}" if query is not None else str(scope), is_selected


def watch(
    request: WatchRequest, handle: AnalysisHandle, ended: Callable[[], bool], tell: Callable[[str], None]
) -> Iterator[Sequence[Line]]:
    """Watch a cluster, and yield the new answers of each moment together; the first line describes the cluster.

    Args:
        tell: Receives messages about the watch itself.

    Raises InputError if something in the request is wrong.
    Raises ClusterError if the cluster cannot be reached at the start; later failures are retried without end.
    """
    with ExitStack() as stack:
        pods, is_selected = request.selection()
        live = dataclasses.replace(request.cluster.source.live(handle), snapshot_would_do=False)
        where = address(request.metrics) if request.metrics else None
        exposition = _exposition() if where is not None else None
        identity = request.identity or own_identity()
        leadership = _leadership(request, identity, tell)
        writer = EventWriter(ObjectClient(live), identity, lambda: leadership.left, tell) if request.events else None
        watched = start(live)
        stack.callback(watched.feed.stop)
        cluster = request.cluster.over(watched.snapshot, handle)
        said: list[PodReport] = []
        led = writer.begin_term if writer is not None else lambda: None
        news: list[Line] = []
        loop = Loop(
            cluster,
            watched.feed,
            PodAnswers(is_selected),
            leadership,
            say=said.extend,
            tell=tell,
            led=led,
            left_out=watched.left_out,
            stand_still=lambda each: news.append(standstill_line(each, datetime.now(UTC))),
        )
        if writer is not None:
            loop.status.written = writer.outcomes.copy
        if where is not None and exposition is not None:
            _serve(where, exposition, loop.status, stack, tell)
        rests_on = provenance(cluster, missing_for_any(cluster.cluster, preempts=True))
        yield (begun(cluster.cluster, rests_on, watched.name, pods, datetime.now(UTC)),)
        leadership.start()
        stack.callback(leadership.stop)
        if writer is not None:
            writer.start()
            # The stack stops the writer before it releases the Lease.
            stack.callback(writer.stop)
        while not ended():
            loop.turn()
            if news:
                yield tuple(news)
                news.clear()
            if said:
                made = list(Lines(datetime.now(UTC)).lines(said))
                for reports, line in made if writer is not None else ():
                    assert writer is not None
                    for one in reports:
                        if isinstance(one, PendingReport) and isinstance(line, PodWaits):
                            writer.put(one, "; ".join((*line.causes[:1], *line.hints)))
                        else:
                            writer.forget(one.uid)
                yield [line for _, line in made]
                said.clear()


def _leadership(request: WatchRequest, identity: str, tell: Callable[[str], None]) -> Leadership:
    if request.election is None:
        return Alone()
    source = request.cluster.source
    namespace, name = lease_name(request.lease) if request.lease else (source.namespace, _LEASE)
    live = dataclasses.replace(source, request_seconds=request.election.request_timeout).live(AnalysisHandle())
    client = ObjectClient(live)
    return Elected(lambda clock: LeaseLock(client, namespace, name, identity, clock), request.election, tell)


def _exposition() -> Callable[[LoopStatus], bytes]:
    try:
        from kschedctl.watch.metrics import exposition
    except ModuleNotFoundError as error:
        if error.name != "prometheus_client":
            raise
        hint = f"install it: {install_command('watch')}"
        raise InputError("metrics need the Prometheus client", path="--metrics", hint=hint) from None
    return exposition


def _serve(
    where: tuple[str, int],
    exposition: Callable[[LoopStatus], bytes],
    status: LoopStatus,
    stack: ExitStack,
    tell: Callable[[str], None],
) -> None:
    checks = {"/healthz": status.health, "/readyz": status.readiness}
    server = Server(where, lambda: exposition(status), checks)
    server.start()
    stack.callback(server.stop)
    tell(f"serving /metrics, /healthz and /readyz on port {server.port}")
