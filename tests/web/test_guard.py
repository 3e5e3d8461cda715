"""Every response has the headers that keep a browser safe, and no hostile request makes the server fail."""

import os
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from litestar.testing import TestClient

from kschedctl.web.guard import HEADERS
from tests.web.conftest import ADDRESS
from tests.web.hostile import request
from tests.web.running import Running, running
from tests.web.test_running import get, rest

ADDRESSES = ["/", "/healthz", "/nope", "/api/v1/nodes", "/api/v1/nodes/nope", "/api/v1/openapi.json", "/static/nope"]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT"])
def test_headers_are_on_every_response(shop: TestClient[Any], address: str, method: str) -> None:
    response = shop.request(method, address)
    assert response.status_code < 500
    for name, value in HEADERS:
        assert response.headers.get_list(name.decode()) == [value.decode()]
    assert "server" not in response.headers


def test_headers_are_on_refusals(shop: TestClient[Any]) -> None:
    response = shop.get("/", headers={"Host": "evil.example.com"})
    assert response.status_code == 421
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]


def test_the_policy_allows_no_inline_code(shop: TestClient[Any]) -> None:
    policy = shop.get("/").headers["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; script-src 'self';")


@pytest.mark.parametrize("path", ["../app.py", "%2e%2e/app.py", "..%2fapp.py", "/etc/passwd", "%00", "....//app.py"])
def test_no_other_file_is_served(shop: TestClient[Any], path: str) -> None:
    response = shop.get(f"/static/{path}")
    assert response.status_code in (400, 404)
    assert "Litestar" not in response.text


def test_a_browser_gets_problems_as_a_page(shop: TestClient[Any]) -> None:
    response = shop.get("/<script>", headers={"Accept": "text/html"})
    assert response.status_code == 404
    assert response.headers["Content-Type"].startswith("text/html")
    assert "<script>" not in response.text


@pytest.mark.parametrize("path", ["//evil.example/x", "///evil.example/x", "/%2Fevil.example/x", "/%5Cevil.example/x"])
def test_no_link_leads_to_another_server(shop: TestClient[Any], path: str) -> None:
    response = shop.get(f"{ADDRESS}{path}?cordon=node-8", headers={"Accept": "text/html"})
    assert response.status_code == 404
    addresses = re.findall(r'(?:href|action|src)="([^"]*)"', response.text)
    assert addresses
    assert not [each for each in addresses if not re.match(r"/(?![/\\])|#|data:,$", each)]


LEAKS = (b"Traceback", b"root:", b"site-packages", b'File "', b"Litestar", b"uvicorn")
SEED = int(os.environ.get("FUZZ_SEED", "1")) if os.environ.get("FUZZ_SEED") != "random" else Random().randrange(2**32)


def answer(server: Running, sent: bytes) -> bytes:
    with server.open() as connection:
        # The server may refuse the request before its end.
        with suppress(OSError):
            connection.sendall(sent)
        return rest(connection).removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")


@pytest.mark.parametrize(
    "number", [pytest.param(400, marks=pytest.mark.sample), pytest.param(6_000, marks=pytest.mark.slow)]
)
def test_hostile_requests_are_refused(number: int) -> None:
    random = Random(SEED)
    statuses: Counter[str] = Counter()
    with running("--snapshot", "fixtures/shop/cluster", "--workers", "2", "--time-limit", "60") as server:
        memory = 0.0
        with ThreadPoolExecutor(max_workers=8) as threads:
            for done in range(0, number, 200):
                requests = [request(random) for _ in range(200)]
                for sent, received in zip(
                    requests, threads.map(lambda sent: answer(server, sent), requests), strict=True
                ):
                    status = received[9:12].decode() if received.startswith(b"HTTP/1.1 ") else "none"
                    statuses[status] += 1
                    assert status == "none" or status < "500", (SEED, sent, received[:2000])
                    assert not [leak for leak in LEAKS if leak in received], (SEED, sent, received[:2000])
                if done >= number // 2 and not memory:
                    memory = server.memory()
        # The second half of the requests needs no more memory than the first.
        assert server.memory() < memory * 1.25 + 20, (memory, server.memory())
        assert get(server, "/api/v1/pods/shop/web-7/explain")[0] == 200
        assert "Traceback" not in server.log.read_text()
    assert {"200", "202", "400", "404", "421", "422"} <= set(statuses), statuses
    assert statuses["none"] < number / 100, statuses
