"""The HTTP server of ``/metrics``, ``/healthz`` and ``/readyz``."""

import re
import socket
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Final

from kschedctl.common.errors import InputError

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
