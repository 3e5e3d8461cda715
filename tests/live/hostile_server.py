"""A server that sends arbitrary bytes: for faults that no API server should show, and for interrupted responses."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from kschedctl.sources.live.kubeconfig import LiveContext
from tests.live.plain_server import kubeconfig, usual

_SECONDS = 300.0


class Talk:
    """A request, and the socket for its response.

    Parameters
    ----------
    path : str
        The path of the request.
    query : dict of str to str
        The query parameters.
    every_header : list of (str, str)
        The request's headers, their names in lower case.
    """

    def __init__(
        self, client: socket.socket, stopped: Event, path: str, query: dict[str, str], headers: list[tuple[str, str]]
    ) -> None:
        self.path = path
        self.query = query
        self.every_header = headers
        self.headers = dict(headers)
        self._client = client
        self._stopped = stopped

    def send(self, data: bytes) -> None:
        """Send raw bytes."""
        self._client.sendall(data)

    def answer(self, body: Any, status: int = 200, **headers: str) -> None:
        """Send a complete response."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {"Content-Length": str(len(data)), **{name.replace("_", "-"): text for name, text in headers.items()}}
        lines = [f"HTTP/1.1 {status} Status", *(f"{name}: {text}" for name, text in named.items()), "", ""]
        self.send("\r\n".join(lines).encode() + data)

    def usual(self) -> None:
        """Respond as every API server does."""
        status, body = usual(self.path)
        self.answer(body, status)

    def drip(self, data: bytes, seconds: float = 0.02) -> None:
        """Send the data every ``seconds`` seconds until the test ends."""
        while not self._stopped.wait(seconds):
            self.send(data)

    def be_silent(self) -> None:
        """Send nothing until the test ends, at most 300 seconds."""
        self._stopped.wait(_SECONDS)


@contextmanager
def talking(handle: Callable[[Talk], None], folder: Path) -> Iterator[tuple[LiveContext, Event]]:
    """Serve on the loopback address; the yielded event is set at the first request."""
    stopped, asked = Event(), Event()
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.05)
    threads: list[Thread] = []

    def serve(client: socket.socket) -> None:
        with client, suppress(OSError):
            client.settimeout(_SECONDS)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            reader = client.makefile("rb")
            while line := reader.readline():
                url = urlsplit(line.split()[1].decode())
                headers = list(iter(lambda: _header(reader.readline()), ("", "")))
                asked.set()
                handle(Talk(client, stopped, url.path, dict(parse_qsl(url.query)), headers))

    def accept() -> None:
        while not stopped.is_set():
            with suppress(TimeoutError):
                threads.append(Thread(target=serve, args=(listener.accept()[0],), name="server", daemon=True))
                threads[-1].start()

    accepting = Thread(target=accept)
    accepting.start()
    config = folder / "kubeconfig"
    config.write_text(json.dumps(kubeconfig(f"http://127.0.0.1:{listener.getsockname()[1]}")))
    try:
        yield LiveContext(kubeconfig=str(config), page_size=2), asked
    finally:
        stopped.set()
        accepting.join()
        listener.close()


def _header(line: bytes) -> tuple[str, str]:
    name, _, text = line.decode().strip().partition(":")
    return name.lower(), text.strip()
