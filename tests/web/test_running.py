"""The installed command: it starts, answers, cuts off clients that dribble, and ends."""

import http.client
import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from http import HTTPStatus

import pytest

from tests.cli.in_process import run
from tests.processes import alive
from tests.web.running import Running, running

SHOP = "fixtures/shop/cluster"


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running("--snapshot", SHOP, "--workers", "1", "--client-time-limit", "2") as found:
        yield found


def get(server: Running, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(server.host, server.port, timeout=300)
    with closing(connection):
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()


def rest(connection: socket.socket) -> bytes:
    """Return what the server still sends before it closes the connection."""
    connection.settimeout(300)
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def test_it_answers(server: Running) -> None:
    status, body = get(server, "/api/v1/pods/shop/web-7/explain")
    assert (status, json.loads(body)["verdict"]["nodes"]) == (200, ["node-8"])


def test_names_of_the_server_are_checked(server: Running) -> None:
    with server.open() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: evil.example.com\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 421 ")


#: The bytes that a client sends before it falls silent.
SILENT = {
    "nothing": b"",
    "a part of the first line": b"GET / HT",
    "a part of the headers": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
    "a part of the body": b"POST /api/v1/explain HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nabc",
    "a part of a chunk": b"POST /api/v1/lint HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    "a second request in part": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /healthz HT",
}


@pytest.mark.parametrize("sent", SILENT.values(), ids=SILENT)
def test_a_client_that_falls_silent_is_cut_off(server: Running, sent: bytes) -> None:
    with server.open() as connection:
        connection.sendall(sent)
        # It ends only when the server closes the connection.
        answer = rest(connection)
    if b"POST" in sent:
        assert answer.startswith(b"HTTP/1.1 408 ")


CHUNKED = b"Host: localhost\r\nTransfer-Encoding: chunked\r\n"
#: The beginnings of requests whose end a proxy in front may see elsewhere.
AMBIGUOUS = {
    "a length as well": b"POST /api/v1/lint HTTP/1.1\r\nContent-Length: 5\r\n" + CHUNKED,
    "a length of zero as well": b"GET /healthz HTTP/1.1\r\nContent-Length: 0\r\n" + CHUNKED,
    "HTTP/1.0": b"POST /api/v1/lint HTTP/1.0\r\nConnection: keep-alive\r\n" + CHUNKED,
}


@pytest.mark.parametrize("sent", AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_a_body_with_two_lengths_is_refused_and_the_connection_closed(server: Running, sent: bytes) -> None:
    with server.open() as connection:
        connection.sendall(sent + b"\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        # The second request, which a body could hide from a proxy, gets no response.
        answer = rest(connection)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1


def is_cut_off(connection: socket.socket, sent: bytes) -> bool:
    """Send the same again and again without taking anything, and report whether the server closes the connection."""
    connection.settimeout(20)
    try:
        while True:
            connection.sendall(sent)
            time.sleep(0.05)
    except (ConnectionError, TimeoutError) as error:
        return isinstance(error, ConnectionError)


def test_a_client_that_dribbles_is_cut_off(server: Running) -> None:
    with server.open() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        assert is_cut_off(connection, b"a")


def test_a_client_that_takes_nothing_is_cut_off(server: Running) -> None:
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    connection.connect((server.host, server.port))
    # Each response has 300 kB.
    with connection:
        assert is_cut_off(connection, b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert get(server, "/healthz") == (200, b"ok")


def test_a_client_that_takes_a_response_slowly_gets_it(server: Running) -> None:
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
    connection.connect((server.host, server.port))
    asked = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n"
    received = b""
    with connection:
        connection.sendall(asked + b"\r\n" + asked + b"Connection: close\r\n\r\n")
        # The second response waits for the client more than twice as long as one that takes nothing may.
        while part := connection.recv(16384):
            received += part
            time.sleep(0.15)
    first, _, second = received.partition(b"HTTP/1.1 200 OK")[2].partition(b"HTTP/1.1 200 OK")
    assert first.partition(b"\r\n\r\n")[2] == second.partition(b"\r\n\r\n")[2] != b""


def test_headers_have_a_limit(server: Running) -> None:
    with server.open() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X-Long: " + b"a" * 200_000)
        assert rest(connection).startswith(b"HTTP/1.1 4")


def test_a_client_that_goes_away_costs_nothing(server: Running) -> None:
    for _ in range(200):
        with server.open() as connection:
            connection.sendall(b"GET /api/v1/pods/shop/search-3/explain HTTP/1.1\r\nHost: localhost\r\n\r\n")
    # 200 answers would take this one worker several seconds, and as many would wait in front of this request. On a busy
    # machine the server may notice late that the clients are gone.
    until = time.monotonic() + 120
    while (found := get(server, "/api/v1/cluster"))[0] == HTTPStatus.SERVICE_UNAVAILABLE:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert found[0] == HTTPStatus.OK, found[1]
    text = get(server, "/metrics")[1].decode()
    assert "kschedctl_serve_requests_waiting 0.0" in text


def test_a_stream_of_events_begins_with_the_state_and_ends_with_its_client(server: Running) -> None:
    def streams() -> str:
        text = get(server, "/metrics")[1].decode()
        return next(line for line in text.splitlines() if line.startswith("kschedctl_serve_streams "))

    with server.open() as connection:
        connection.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        received = b""
        while b"\n\n" not in received:
            received += connection.recv(4096)
        assert b'event: cluster\ndata: {"version":1,"live":false,' in received
        assert streams() == "kschedctl_serve_streams 1.0"
    until = time.monotonic() + 120
    while streams() != "kschedctl_serve_streams 0.0":
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_its_processes(number: signal.Signals) -> None:
    with running("--snapshot", SHOP, "--workers", "1") as server:
        assert get(server, "/api/v1/cluster")[0] == 200
        with server.open() as connection:
            connection.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            connection.recv(100)
            children = server.children()
            assert children
            server.process.send_signal(number)
            assert server.process.wait(timeout=120) == 0
    until = time.monotonic() + 120
    while any(map(alive, children)):
        assert time.monotonic() < until, "a process is left"
        time.sleep(0.05)


def test_a_killed_process_is_replaced(server: Running) -> None:
    assert get(server, "/api/v1/cluster")[0] == 200
    for pid in server.workers():
        os.kill(pid, signal.SIGKILL)
    assert [get(server, "/api/v1/cluster")[0] for _ in range(3)] == [200, 200, 200]


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return socket.has_dualstack_ipv6()


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
def test_all_addresses_are_those_of_both_families() -> None:
    with running("--snapshot", SHOP, "--workers", "1", "--listen", ":0", "--trusted-proxy-header", "X-User") as server:
        for host in ("127.0.0.1", "::1"):
            assert get(server._replace(host=host), "/healthz") == (200, b"ok")


#: Arguments of the command, and a part of its error.
REFUSED = {
    "an address of others": (["--listen", ":0"], "clients have to identify themselves"),
    "no address": (["--listen", "here"], '"here" is not an address'),
    "no such file": (["--listen", ":0", "--token-file", "none"], "No such file"),
    "no header": (["--trusted-proxy-header", "a b"], '"a b" is not the name of a header'),
    "no such host": (["--listen", "256.0.0.1:0", "--trusted-proxy-header", "X-User"], "cannot listen on"),
    "no snapshot": (["--snapshot", "none"], "no such file or folder"),
    "no snapshot to compare with": (["--compare", "none"], "no such file or folder"),
    "no nodes": (["--snapshot", "fixtures/shop/cluster/services.yaml"], "contains no nodes"),
}


@pytest.mark.parametrize(("arguments", "problem"), REFUSED.values(), ids=REFUSED)
def test_wrong_arguments_are_named(arguments: list[str], problem: str) -> None:
    source = [] if "--snapshot" in arguments else ["--snapshot", SHOP]
    printed = run("serve", *source, *arguments)
    assert (printed.code, problem in printed.err) == (2, True), printed.err


def test_an_address_that_is_in_use(server: Running) -> None:
    printed = run("serve", "--snapshot", SHOP, "--listen", f"127.0.0.1:{server.port}")
    assert "Address already in use" in printed.err
