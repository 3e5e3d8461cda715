"""The errors of requests without a response: a cause in plain words, in one line."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from kschedctl.common.errors import ClusterError
from kschedctl.sources.live.api_server import Connection, ObjectClient
from kschedctl.sources.live.kubeconfig import LiveContext
from tests.live.plain_server import kubeconfig

HEADER = b"HTTP/1.1 200 OK\r\n"


@contextmanager
def sending(data: bytes | None) -> Iterator[int]:
    """Serve raw bytes as the response to each request; ``None`` for no response. Yield the port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        clients: list[socket.socket] = []

        def serve() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                clients.append(client)
                if data is not None:
                    client.recv(4096)
                    client.sendall(data)
                    client.close()

        Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        for client in clients:
            client.close()


def by_object(live: LiveContext) -> None:
    ObjectClient(live).request("GET", "/x", None, 1.0)


def by_lines(live: LiveContext) -> None:
    with Connection(live).lines("/x", 1.0) as lines:
        list(lines)


@pytest.mark.parametrize("ask", [by_object, by_lines])
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(None, "did not respond in time", id="silent"),
        pytest.param(b"", "it closed the connection without a response", id="closed"),
        pytest.param(b"hello\r\n\r\n", "its response is not HTTP", id="no HTTP"),
        pytest.param(HEADER + b"Content-Length: 9\r\n\r\nabc", "its response is cut off", id="cut off"),
        pytest.param(HEADER + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", "its response is cut off", id="chunks"),
        pytest.param(HEADER + b"X: " + b"a" * 100_000, "its response is not HTTP", id="long header"),
    ],
)
def test_cause(ask: Callable[[LiveContext], None], data: bytes | None, expected: str, tmp_path: Path) -> None:
    with sending(data) as port:
        assert_plain(ask, f"http://127.0.0.1:{port}", expected, tmp_path)


@pytest.mark.parametrize("ask", [by_object, by_lines])
@pytest.mark.parametrize(
    ("server", "expected"),
    [
        ("http://127.0.0.1:1", "http://127.0.0.1:1 cannot be reached: Connection refused"),
        ("https://127.0.0.1:1", "https://127.0.0.1:1 cannot be reached: Connection refused"),
        ("https://no-such-host.invalid", "https://no-such-host.invalid cannot be reached: "),
    ],
)
def test_no_connection(ask: Callable[[LiveContext], None], server: str, expected: str, tmp_path: Path) -> None:
    assert_plain(ask, server, expected.replace("/x cannot", " cannot"), tmp_path)


def assert_plain(ask: Callable[[LiveContext], None], server: str, expected: str, folder: Path) -> None:
    path = folder / "kubeconfig"
    path.write_text(json.dumps(kubeconfig(server)))
    with pytest.raises(ClusterError) as error:
        ask(LiveContext(kubeconfig=str(path), request_seconds=2))
    text = str(error.value).replace("/x cannot", " cannot")
    assert expected in text
    assert not [word for word in ("Pool(", "Remembered", "Connection(", "\n", "\\n", "_ssl.c", "<") if word in text]
