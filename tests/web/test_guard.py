"""Every response has the headers that keep a browser safe, and says nothing about the server."""

import re
from typing import Any

import pytest
from litestar.testing import TestClient

from kschedctl.web.guard import HEADERS
from tests.web.conftest import ADDRESS

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
