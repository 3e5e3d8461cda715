"""The form for the token, and the cookie that it sets."""

import html
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from litestar.testing import TestClient

from kschedctl.web.access import COOKIE
from kschedctl.web.app import create_app
from kschedctl.web.settings import ServeSettings
from tests.web.conftest import LIMITS, snapshot

TOKEN = "a-token-of-this-test"
HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def guarded() -> Iterator[TestClient[Any]]:
    settings = ServeSettings(host="", token=TOKEN, limits=LIMITS)
    with TestClient(create_app(snapshot(), settings), base_url="http://192.0.2.1:8080") as client:
        yield client


def test_a_browser_is_led_to_the_form(guarded: TestClient[Any]) -> None:
    response = guarded.get("/", headers=HTML, follow_redirects=False)
    assert (response.status_code, response.headers["Location"]) == (303, "/login")
    assert "password" in guarded.get("/login").text


def test_a_program_is_refused(guarded: TestClient[Any]) -> None:
    response = guarded.get("/api/v1/cluster")
    assert (response.status_code, response.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert response.json()["status"] == 401


def test_the_token_lets_programs_in(guarded: TestClient[Any]) -> None:
    assert guarded.get("/api/v1/cluster", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200


@pytest.mark.parametrize("token", ["", "no", TOKEN + "x", TOKEN.upper(), "\xff", "é", "\0"])
def test_another_token_sets_no_cookie(guarded: TestClient[Any], token: str) -> None:
    response = guarded.post("/login", data={"token": token})
    assert response.status_code == 401
    assert "set-cookie" not in response.headers


@pytest.mark.parametrize("body", [b"", b"token", b"&" * 1000, b"\xff\xfe", b"token=a&token=b", b"%"])
def test_no_form_is_a_bug(guarded: TestClient[Any], body: bytes) -> None:
    assert guarded.post("/login", content=body).status_code in (400, 401)


def test_the_token_becomes_a_cookie_that_scripts_cannot_read(guarded: TestClient[Any]) -> None:
    response = guarded.post("/login", data={"token": TOKEN}, follow_redirects=False)
    cookie = response.headers["Set-Cookie"]
    assert (response.status_code, response.headers["Location"]) == (303, "/")
    assert cookie.startswith(f"{COOKIE}=")
    assert TOKEN not in cookie
    expiry = int(cookie.removeprefix(f"{COOKIE}=").partition(".")[0])
    assert 11 * 3600 < expiry - time.time() <= 12 * 3600
    for word in ("HttpOnly", "SameSite=lax", "Path=/"):
        assert word in cookie
    assert guarded.get("/api/v1/cluster", headers={"Cookie": cookie.partition(";")[0]}).status_code == 200


#: The address that a browser asks for.
ADDRESSES = ["/", "/pods", "/pods/shop/web-7?cordon=node-8&q=a%26b", "/pods/a%20b", "/search?q=%22%3E%F0%9F%92%A5"]


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_browser_is_led_back_to_the_address(guarded: TestClient[Any], address: str) -> None:
    guarded.cookies.clear()
    form = guarded.get(guarded.get(address, headers=HTML, follow_redirects=False).headers["Location"])
    assert form.status_code == 200
    found = re.search(r'name="next" value="([^"]*)"', form.text)
    assert found is not None
    fields = {"token": TOKEN, "next": html.unescape(found[1])}
    response = guarded.post("/login", data=fields, follow_redirects=False)
    assert response.headers["Location"] == address


@pytest.mark.parametrize(
    "address", ["//evil.example", "/\\evil.example", "https://evil.example", "/\t/x", "x", "", "/é"]
)
def test_a_browser_is_led_nowhere_else(guarded: TestClient[Any], address: str) -> None:
    form = guarded.get("/login", params={"next": address}).text
    assert 'name="next" value="/"' in form
    response = guarded.post("/login", data={"token": TOKEN, "next": address}, follow_redirects=False)
    assert response.headers["Location"] == "/"


@pytest.mark.parametrize(("scheme", "secure"), [("http", False), ("https", True)])
def test_the_cookie_stays_within_tls(guarded: TestClient[Any], scheme: str, secure: bool) -> None:
    headers = {"Origin": f"{scheme}://ksched.example.com", "Sec-Fetch-Site": "same-origin"}
    response = guarded.post("/login", data={"token": TOKEN}, headers=headers, follow_redirects=False)
    assert ("Secure" in response.headers["Set-Cookie"]) == secure


def test_the_form_is_not_sent_from_another_site(guarded: TestClient[Any]) -> None:
    response = guarded.post("/login", data={"token": TOKEN}, headers={"Origin": "https://evil.example.com"})
    assert response.status_code == 403
