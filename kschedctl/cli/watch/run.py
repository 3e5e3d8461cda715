"""What ``watch`` does once its options are read."""

from __future__ import annotations

import dataclasses
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from types import FrameType
from typing import Final

import msgspec

from kschedctl.api.meta import ObjectMeta
from kschedctl.api.selectors import matches
from kschedctl.cli.leader.election_options import TimeOptions
from kschedctl.cli.leader.running import own_identity
from kschedctl.cli.live import live_context
from kschedctl.cli.options.cluster import Source
from kschedctl.cli.options.label_query import parse_label_query
from kschedctl.cli.provenance import provenance
from kschedctl.cli.selection import Scope
from kschedctl.cli.streams import say, tell, write
from kschedctl.errors import InputError
from kschedctl.leaderelection.lease_lock import LeaseLock, lease_name
from kschedctl.leaderelection.settings import ElectionSettings
from kschedctl.live.context import LiveContext
from kschedctl.live.object_client import ObjectClient
from kschedctl.loading import over
from kschedctl.report.envelope import Answer as AnswerData
from kschedctl.report.envelope import Compound
from kschedctl.report.render.plain import plain
from kschedctl.report.render.printable import json_text
from kschedctl.report.watch.answer import Lines, begun
from kschedctl.report.watch.data import PodWaits, WatchBegun
from kschedctl.report.watch.text import begun_lines, detail, said_lines
from kschedctl.watch.answers import Answers, Told, Waits
from kschedctl.watch.event_writer import EventWriter
from kschedctl.watch.leadership import Alone, Elected, Leadership
from kschedctl.watch.loop import Loop
from kschedctl.watch.server import Server, address
from kschedctl.watch.start import start
from kschedctl.watch.status import Status

_LEASE: Final = "kschedctl-watch"
_ENDING: Final = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    """The options of ``watch``."""

    namespace: str
    everywhere: bool
    selector: str
    context: str
    kubeconfig: str
    request_seconds: float | None
    config: str
    kubernetes_version: str
    feature_gates: Mapping[str, bool]
    json_lines: bool
    events: bool
    metrics: str
    leader_elect: bool
    lease: str
    identity: str
    times: TimeOptions


def run_watch(options: WatchOptions) -> None:
    """Watch until SIGTERM or Ctrl-C.

    Raises
    ------
    InputError
        Where something given is wrong.
    ClusterError
        Where the cluster cannot be asked at first; later it is asked again and again.
    """
    with _signals() as ended, ExitStack() as stack:
        _watch(options, ended, stack)


def _watch(options: WatchOptions, ended: Callable[[], bool], stack: ExitStack) -> None:
    pods, chosen = _chosen(options)
    live = live_context(options.context, options.kubeconfig, options.request_seconds)
    live = dataclasses.replace(live, snapshot_would_do=False)
    where = address(options.metrics) if options.metrics else None
    exposition = _exposition() if where is not None else None
    identity = options.identity or own_identity()
    leadership = _leadership(options, identity)
    writer = None
    if options.events:
        writer = EventWriter(ObjectClient(live), identity, lambda: leadership.left, _tell)
    watched = start(live)
    stack.callback(watched.feed.stop)
    cluster = over(
        watched.snapshot,
        kubernetes_version=options.kubernetes_version,
        feature_gates=options.feature_gates,
        config=options.config or None,
    )
    printer = _Printer(options.json_lines, writer)
    loop = Loop(cluster, watched.feed, Answers(chosen), leadership, say=printer.say, tell=_tell)
    if writer is not None:
        counted = writer.outcomes
        loop.status.written = counted.copy
    if where is not None and exposition is not None:
        _serve(where, exposition, loop.status, stack)
    printer.begin(begun(cluster.cluster, provenance(cluster), watched.name, pods, datetime.now(UTC)))
    leadership.start()
    stack.callback(leadership.stop)
    if writer is not None:
        writer.start()
        # Before the Lease is given up.
        stack.callback(writer.stop)
    loop.run(ended)


class _Printer:
    """Prints what is new, and has it written."""

    def __init__(self, json_lines: bool, writer: EventWriter | None) -> None:
        self._json_lines = json_lines
        self._writer = writer

    def begin(self, first: WatchBegun) -> None:
        """Print the first lines."""
        if self._json_lines:
            write(_json(first))
            return
        for line in begun_lines(first):
            tell(line)

    def say(self, told: Sequence[Told]) -> None:
        """Print what is new."""
        lines = Lines(datetime.now(UTC))
        made = [lines.line(one) for one in told]
        if self._writer is not None:
            for one, line in zip(told, made, strict=True):
                if isinstance(one, Waits) and isinstance(line, PodWaits):
                    self._writer.put(one, detail(line))
                else:
                    self._writer.forget(line.uid)
        if self._json_lines:
            write("".join(map(_json, made)))
            return
        for text in said_lines(made):
            tell(text)


def _json(value: AnswerData | Compound) -> str:
    return json_text(msgspec.json.encode(plain(value))) + "\n"


def _chosen(options: WatchOptions) -> tuple[str, Callable[[ObjectMeta], bool]]:
    """Which pods are meant, in words, and whether one is, by its metadata."""
    source = Source((), context=options.context, kubeconfig=options.kubeconfig)
    scope = Scope(options.namespace, options.everywhere, source)
    namespace = scope.namespace
    query = parse_label_query(options.selector) if options.selector else None

    def chosen(metadata: ObjectMeta) -> bool:
        own = namespace is None or metadata.namespace == namespace
        return own and (query is None or matches(query, metadata.labels))

    return f"{scope}, with {options.selector}" if query is not None else str(scope), chosen


def _leadership(options: WatchOptions, identity: str) -> Leadership:
    if not options.leader_elect:
        return Alone()
    settings = options.times.laid_over(ElectionSettings())
    source = Source((), context=options.context, kubeconfig=options.kubeconfig)
    namespace, name = lease_name(options.lease) if options.lease else (source.namespace, _LEASE)
    live = LiveContext(context=options.context, kubeconfig=options.kubeconfig, request_seconds=settings.request_timeout)
    client = ObjectClient(live)
    return Elected(lambda clock: LeaseLock(client, namespace, name, identity, clock), settings, _tell)


def _exposition() -> Callable[[Status], bytes]:
    try:
        from kschedctl.watch.metrics import exposition
    except ModuleNotFoundError as error:
        if error.name != "prometheus_client":
            raise
        hint = "install it: pip install 'kschedctl[watch]'"
        raise InputError("metrics need the Prometheus client", path="--metrics", hint=hint) from None
    return exposition


def _serve(where: tuple[str, int], exposition: Callable[[Status], bytes], status: Status, stack: ExitStack) -> None:
    checks = {"/healthz": status.health, "/readyz": status.readiness}
    server = Server(where, lambda: exposition(status), checks)
    server.start()
    stack.callback(server.stop)
    _tell(f"/metrics, /healthz and /readyz are answered on port {server.port}")


def _tell(text: str) -> None:
    say(f"kschedctl: {text}")


class _EndedError(BaseException):
    """A signal came before there was anything to end, or a second one."""


@contextmanager
def _signals() -> Iterator[Callable[[], bool]]:
    """Let signals end what is run, without an error; whether one has come."""
    came: list[int] = []
    watching = False

    def on_signal(number: int, _: FrameType | None) -> None:
        came.append(number)
        if not watching or len(came) > 1:
            raise _EndedError

    def ended() -> bool:
        nonlocal watching
        watching = True
        return bool(came)

    previous = {number: signal.signal(number, on_signal) for number in _ENDING}
    try:
        yield ended
    except _EndedError:
        if len(came) > 1:
            # What is held up is not waited for.
            os._exit(0)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
