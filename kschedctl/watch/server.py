"""The HTTP server of ``/metrics``, ``/healthz`` and ``/readyz``."""

import re
import socket
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Final

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector

from kschedctl.common.errors import InputError
from kschedctl.watch.loop import LoopStatus

_ADDRESS: Final = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[^\[\]:]*)):(?P<port>[0-9]{1,5})")
_TEXT: Final = "text/plain; charset=utf-8"
#: The content type of Prometheus' text format.
_METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"
#: A client that stalls for this many seconds is disconnected.
_REQUEST_SECONDS: Final = 10.0

Checks = Callable[[], Mapping[str, str]]


def address(text: str, option: str = "--metrics") -> tuple[str, int]:
    """Return host and port of an address.

    Raises InputError if the text is neither ``:PORT`` nor ``HOST:PORT``.

    >>> address(":8080"), address("127.0.0.1:0"), address("[::1]:8080")
    (('', 8080), ('127.0.0.1', 0), ('::1', 8080))
    """
    found = _ADDRESS.fullmatch(text)
    port = int(found["port"]) if found is not None else -1
    if found is None or port > 65535:
        raise InputError(f'"{text}" is not an address', path=option, hint="such as :8080 or 127.0.0.1:8080")
    return found["six"] or found["host"] or "", port


class Server:
    """An HTTP server for metrics and checks, in a thread of its own.

    Args:
        where: Host and port; without a host, on all addresses, and with port 0 on any port that is free.
        checks: By path, a function that returns the problem of each check; empty texts for passed checks.

    Raises InputError if the server cannot listen at the address.
    """

    def __init__(self, where: tuple[str, int], metrics: Callable[[], bytes], checks: Mapping[str, Checks]) -> None:
        class Handler(BaseHTTPRequestHandler):
            timeout = _REQUEST_SECONDS
            server_version = "kschedctl"
            sys_version = ""

            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                if path == "/metrics":
                    self._answer(HTTPStatus.OK, _METRICS, metrics())
                elif path in checks:
                    self._answer(*checked(path, checks[path]()))
                else:
                    self._answer(HTTPStatus.NOT_FOUND, _TEXT, b"not found\n")

            def _answer(self, status: HTTPStatus, content: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", content)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Log nothing."""

        class _Server(ThreadingHTTPServer):
            address_family = socket.AF_INET6 if ":" in where[0] else socket.AF_INET

            def handle_error(self, request: Any, client_address: Any) -> None:
                """Ignore clients that hang up."""

        try:
            self._server = _Server(where, Handler)
        except (OSError, OverflowError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"cannot listen on {where[0]}:{where[1]}: {reason}", path="--metrics") from None
        self.port = int(self._server.server_address[1])
        self._thread = Thread(target=self._server.serve_forever, args=(0.2,), name="metrics", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the server and close its socket."""
        if self._thread.is_alive():
            self._server.shutdown()
        self._server.server_close()


def checked(path: str, found: Mapping[str, str]) -> tuple[HTTPStatus, str, bytes]:
    """Return the response for checks in the format of Kubernetes' components: ``ok``, or one line per check."""
    wrong = {name: problem for name, problem in found.items() if problem}
    if not wrong:
        return HTTPStatus.OK, _TEXT, b"ok"
    lines = [f"[-]{name} failed: {wrong[name]}" if name in wrong else f"[+]{name} ok" for name in found]
    text = "\n".join([*lines, f"{path.removeprefix('/')} check failed", ""])
    return HTTPStatus.INTERNAL_SERVER_ERROR, _TEXT, text.encode()


# The status of a watch as Prometheus metrics, collected on each request through the official client library.

_PREFIX = "kschedctl_watch"


class StatusCollector(Collector):
    """A collector for the metrics of a watch."""

    def __init__(self, status: LoopStatus) -> None:
        self._status = status

    def collect(self) -> Iterable[Metric]:
        """Yield all metrics with their current values."""
        status, feed = self._status, self._status.feed
        waiting = GaugeMetricFamily(
            f"{_PREFIX}_pods_waiting",
            "Pending pods, by the plugin that rejects most nodes; 'none' if they fit now. Reported by the leader.",
            labels=["cause"],
        )
        leading = status.leading
        for cause, number in status.causes.copy().items() if leading else ():
            waiting.add_metric([cause], number)
        yield waiting
        answers = CounterMetricFamily(
            f"{_PREFIX}_answers", "Reported answers, by the result for the pod.", labels=["result"]
        )
        for result, number in status.answers.copy().items():
            answers.add_metric([result], number)
        yield answers
        yield CounterMetricFamily(
            f"{_PREFIX}_decisions", "Scheduling decisions computed for answers.", value=status.decisions
        )
        yield SummaryMetricFamily(
            f"{_PREFIX}_round_seconds",
            "Seconds to decide for all pending pods after changes.",
            count_value=status.rounds,
            sum_value=status.round_seconds,
        )
        yield SummaryMetricFamily(
            f"{_PREFIX}_answered_after_seconds",
            "Seconds from the first change of a round to the report of its answers.",
            count_value=status.rounds,
            sum_value=status.answered_after,
        )
        yield GaugeMetricFamily(
            f"{_PREFIX}_cache_age_seconds",
            "Seconds since the last response of the API server, for the kind with the oldest one.",
            value=feed.age,
        )
        size = GaugeMetricFamily(f"{_PREFIX}_cache_objects", "Objects in the cache.", labels=["kind"])
        size.add_metric(["Node"], status.nodes)
        size.add_metric(["Pod"], status.pods)
        yield size
        yield CounterMetricFamily(
            f"{_PREFIX}_cache_compactions", "Number of times the cache was rebuilt.", value=status.compactions
        )
        lists = CounterMetricFamily(f"{_PREFIX}_lists", "Number of lists of a kind.", labels=["kind"])
        failures = CounterMetricFamily(
            f"{_PREFIX}_failures", "Number of failed lists and watches of a kind.", labels=["kind"]
        )
        for kind, reach in feed.reach.items():
            lists.add_metric([kind], reach.listed)
            failures.add_metric([kind], reach.failures)
        yield from (lists, failures)
        yield GaugeMetricFamily(
            f"{_PREFIX}_leading", "1 if this replica is the leader and reports, else 0.", value=int(leading)
        )
        events = CounterMetricFamily(f"{_PREFIX}_events", "Events about pods, by outcome.", labels=["outcome"])
        for outcome, number in status.written().items():
            events.add_metric([outcome], number)
        yield events


def exposition(status: LoopStatus) -> bytes:
    """Return the metrics of a watch and of its process in Prometheus' text format."""
    return exposed(StatusCollector(status))


def exposed(own: Collector) -> bytes:
    """Return the metrics of a collector and of this process in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(own)
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    return generate_latest(registry)
