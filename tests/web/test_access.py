"""Access rules: hosts, origins, tokens, sessions, the form for the token, and users that a proxy names."""

import html
import re
import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from litestar.testing import TestClient

from kschedctl.common.errors import InputError
from kschedctl.web.access import COOKIE, Access, RefusedError, session_of, user_of
from kschedctl.web.app import create_app
from kschedctl.web.settings import ServeSettings, read_token
from tests.web.conftest import LIMITS, snapshot

TOKEN = "a-token-of-this-test"
LOOPBACK = ServeSettings()
NAMED = ServeSettings(hosts=frozenset({"ksched.example.com"}))
EVERYWHERE = ServeSettings(host="", token=TOKEN)
BEHIND_PROXY = ServeSettings(host="10.0.0.7", proxy_headers=("x-forwarded-user",))
OK, BAD, NO, FOREIGN, ELSEWHERE = (
    0,
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.MISDIRECTED_REQUEST,
)

NOW = int(time.time())
LATER = NOW + 3600
SESSION = session_of(TOKEN, LATER)
BEARER = f"Authorization: Bearer {TOKEN}"
#: Settings, method, headers: the status with which the request is refused.
REQUESTS = {
    "its own address": (LOOPBACK, "GET", ["Host: 127.0.0.1:8080"], OK),
    "its own address by name": (LOOPBACK, "GET", ["Host: localhost:9"], OK),
    "its own address, IPv6": (LOOPBACK, "GET", ["Host: [::1]:8080"], OK),
    "a name that was pointed here": (LOOPBACK, "GET", ["Host: evil.example.com:8080"], ELSEWHERE),
    "a name that begins like its own": (LOOPBACK, "GET", ["Host: localhost.evil.example.com"], ELSEWHERE),
    "another address": (LOOPBACK, "GET", ["Host: 10.0.0.7"], ELSEWHERE),
    "a further name": (NAMED, "GET", ["Host: KSched.Example.com"], OK),
    "no host": (LOOPBACK, "GET", [], BAD),
    "two hosts": (LOOPBACK, "GET", ["Host: localhost", "Host: localhost"], BAD),
    "no valid host": (LOOPBACK, "GET", ["Host: local host"], BAD),
    "a port that is none": (LOOPBACK, "GET", ["Host: localhost:65536"], BAD),
    "a host with a user": (LOOPBACK, "GET", ["Host: a@localhost"], BAD),
    "any address, on all addresses": (EVERYWHERE, "GET", ["Host: 192.0.2.1:80", BEARER], OK),
    "a name, on all addresses": (EVERYWHERE, "GET", ["Host: evil.example.com", BEARER], ELSEWHERE),
    "its own page": (LOOPBACK, "POST", ["Host: localhost:1", "Origin: http://localhost:1"], OK),
    "its own page, behind TLS": (NAMED, "POST", ["Host: ksched.example.com", "Origin: https://ksched.example.com"], OK),
    "its own page, behind a proxy that rewrites the host": (
        LOOPBACK,
        "POST",
        ["Host: 127.0.0.1:8080", "Origin: https://ksched.example.com", "Sec-Fetch-Site: same-origin"],
        OK,
    ),
    "the same without Fetch metadata": (
        NAMED,
        "POST",
        ["Host: 127.0.0.1:8080", "Origin: https://ksched.example.com"],
        OK,
    ),
    "the same without its name": (LOOPBACK, "POST", ["Host: localhost", "Origin: https://ksched.example.com"], FOREIGN),
    "another site that names its own origin": (
        LOOPBACK,
        "POST",
        ["Host: localhost", "Origin: http://localhost", "Sec-Fetch-Site: cross-site"],
        FOREIGN,
    ),
    "its own page by Fetch metadata": (LOOPBACK, "POST", ["Host: localhost", "Sec-Fetch-Site: same-origin"], OK),
    "a program": (LOOPBACK, "POST", ["Host: localhost"], OK),
    "a page of another site": (LOOPBACK, "POST", ["Host: localhost:1", "Origin: https://evil.example.com"], FOREIGN),
    "a page of another port": (LOOPBACK, "POST", ["Host: localhost:1", "Origin: http://localhost:2"], FOREIGN),
    "a page without an origin": (LOOPBACK, "DELETE", ["Host: localhost:1", "Origin: null"], FOREIGN),
    "another site by Fetch metadata": (LOOPBACK, "DELETE", ["Host: localhost", "Sec-Fetch-Site: cross-site"], FOREIGN),
    "a sister site by Fetch metadata": (LOOPBACK, "POST", ["Host: localhost", "Sec-Fetch-Site: same-site"], FOREIGN),
    "a link on another site": (
        LOOPBACK,
        "GET",
        ["Host: localhost", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"],
        OK,
    ),
    "an image on another site": (
        LOOPBACK,
        "GET",
        ["Host: localhost", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"],
        FOREIGN,
    ),
    "a frame on another site": (
        LOOPBACK,
        "GET",
        ["Host: localhost", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"],
        FOREIGN,
    ),
    "a script of another site": (LOOPBACK, "GET", ["Host: localhost", "Origin: https://evil.example.com"], FOREIGN),
    "a script of its own": (
        LOOPBACK,
        "GET",
        ["Host: localhost", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors"],
        OK,
    ),
    "the token": (EVERYWHERE, "GET", ["Host: 10.0.0.7", BEARER], OK),
    "the token, scheme in lower case": (EVERYWHERE, "GET", ["Host: 10.0.0.7", f"authorization: bearer {TOKEN}"], OK),
    "no token": (EVERYWHERE, "GET", ["Host: 10.0.0.7"], NO),
    "another token": (EVERYWHERE, "GET", ["Host: 10.0.0.7", "Authorization: Bearer no"], NO),
    "a token that is no ASCII": (EVERYWHERE, "GET", ["Host: 10.0.0.7", "Authorization: Bearer \xff\xfe"], NO),
    "two tokens": (EVERYWHERE, "GET", ["Host: 10.0.0.7", BEARER, BEARER], NO),
    "the token as a password": (EVERYWHERE, "GET", ["Host: 10.0.0.7", f"Authorization: Basic {TOKEN}"], NO),
    "a session": (EVERYWHERE, "GET", ["Host: 10.0.0.7", f"Cookie: a=b; {COOKIE}={SESSION}"], OK),
    "a session and a foreign cookie": (
        EVERYWHERE,
        "GET",
        ["Host: 10.0.0.7", f'Cookie: prefs={{"a":1}}; {COOKIE}={SESSION}'],
        OK,
    ),
    "a session and an outdated one": (
        EVERYWHERE,
        "GET",
        ["Host: 10.0.0.7", f"Cookie: {COOKIE}=x; {COOKIE}={SESSION}"],
        OK,
    ),
    "a session of a longer name": (EVERYWHERE, "GET", ["Host: 10.0.0.7", f"Cookie: x{COOKIE}={SESSION}"], NO),
    "another session": (EVERYWHERE, "GET", ["Host: 10.0.0.7", f"Cookie: {COOKIE}={session_of('x', LATER)}"], NO),
    "a session that has expired": (
        EVERYWHERE,
        "GET",
        ["Host: 10.0.0.7", f"Cookie: {COOKIE}={session_of(TOKEN, NOW - 1)}"],
        NO,
    ),
    "a session with a later expiry": (
        EVERYWHERE,
        "GET",
        ["Host: 10.0.0.7", f"Cookie: {COOKIE}={LATER + 1}.{SESSION.partition('.')[2]}"],
        NO,
    ),
    "a session without an expiry": (
        EVERYWHERE,
        "GET",
        ["Host: 10.0.0.7", f"Cookie: {COOKIE}={SESSION.partition('.')[2]}"],
        NO,
    ),
    "a session with a long expiry": (EVERYWHERE, "GET", ["Host: 10.0.0.7", f"Cookie: {COOKIE}={'9' * 9999}.a"], NO),
    "the token as a session": (EVERYWHERE, "GET", ["Host: 10.0.0.7", f"Cookie: {COOKIE}={TOKEN}"], NO),
    "a broken cookie": (EVERYWHERE, "GET", ["Host: 10.0.0.7", 'Cookie: \x01="'], NO),
    "a user of the proxy": (BEHIND_PROXY, "GET", ["Host: 10.0.0.7", "X-Forwarded-User: ann"], OK),
    "no user of the proxy": (BEHIND_PROXY, "GET", ["Host: 10.0.0.7", "X-Forwarded-User: "], NO),
    "no proxy": (BEHIND_PROXY, "GET", ["Host: 10.0.0.7"], NO),
    "a header that is not trusted": (EVERYWHERE, "GET", ["Host: 10.0.0.7", "X-Forwarded-User: ann"], NO),
}


@pytest.mark.parametrize(
    ("settings", "headers", "client", "user"),
    [
        pytest.param(BEHIND_PROXY, [(b"X-Forwarded-User", b" ann ")], ("10.0.0.1", 9), "ann", id="a name"),
        pytest.param(BEHIND_PROXY, [(b"x-forwarded-user", b"a")] * 2, ("10.0.0.1", 9), "10.0.0.1", id="two names"),
        pytest.param(EVERYWHERE, [(b"x-forwarded-user", b"ann")], ("10.0.0.1", 9), "10.0.0.1", id="not trusted"),
        pytest.param(LOOPBACK, [], None, "", id="no address"),
    ],
)
def test_who_sends_a_request(settings: ServeSettings, headers: list[Any], client: Any, user: str) -> None:
    assert user_of({"headers": headers, "client": client}, settings) == user


@pytest.mark.parametrize(("settings", "method", "lines", "refused"), REQUESTS.values(), ids=REQUESTS)
def test_requests_are_let_in_or_refused(settings: ServeSettings, method: str, lines: list[str], refused: int) -> None:
    headers = [(name.encode(), value.encode("latin-1")) for name, _, value in (line.partition(": ") for line in lines)]
    found = 0
    try:
        Access(settings).check({"method": method, "path": "/", "headers": headers})
    except RefusedError as error:
        found = error.status
    assert found == refused


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/login", "/static/style.css"])
def test_probes_and_the_form_need_no_token(path: str) -> None:
    Access(EVERYWHERE).check({"method": "GET", "path": path, "headers": [(b"host", b"10.0.0.7")]})


@pytest.mark.parametrize("path", ["/metrics", "/staticx", "/healthz/", "/login/x", "/api/v1/events"])
def test_everything_else_needs_it(path: str) -> None:
    with pytest.raises(RefusedError):
        Access(EVERYWHERE).check({"method": "GET", "path": path, "headers": [(b"host", b"10.0.0.7")]})


@pytest.mark.parametrize("host", ["", "0.0.0.0", "10.0.0.7", "::", "ksched.example.com"])
def test_beyond_this_machine_clients_identify_themselves(host: str) -> None:
    with pytest.raises(InputError, match="--token-file"):
        ServeSettings(host=host)
    assert not ServeSettings(host=host, token=TOKEN).is_loopback


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.9"])
def test_on_this_machine_they_need_not(host: str) -> None:
    assert ServeSettings(host=host).is_loopback


#: The content of the file, and the token or a part of the error.
TOKENS = {
    "a token": (b"0123456789abcdef", "0123456789abcdef", ""),
    "a token on a line": (b"0123456789abcdef\n", "0123456789abcdef", ""),
    "nothing": (b"", "", "no token"),
    "a short token": (b"secret", "", "no token of 16"),
    "several words": (b"these are several words", "", "no token"),
    "no text": (b"\xff\xfe" * 20, "", "is not ASCII text"),
}


@pytest.mark.parametrize(("content", "token", "problem"), TOKENS.values(), ids=TOKENS)
def test_the_token_is_read_from_a_file(tmp_path: Path, content: bytes, token: str, problem: str) -> None:
    file = tmp_path / "token"
    file.write_bytes(content)
    if token:
        assert read_token(str(file), print) == token
        return
    with pytest.raises(InputError, match=problem):
        read_token(str(file), print)


@pytest.mark.parametrize(("mode", "number"), [(0o600, 0), (0o440, 0), (0o644, 1)])
def test_a_file_that_everyone_can_read_is_warned_about(tmp_path: Path, mode: int, number: int) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(mode)
    warnings: list[str] = []
    read_token(str(file), warnings.append)
    assert [f"chmod o-r {file}" in each for each in warnings] == [True] * number


@pytest.mark.parametrize("name", ["", "a b", "x-user:", "x-üser", "x\n"])
def test_a_header_of_the_proxy_has_a_name(name: str) -> None:
    with pytest.raises(InputError, match="is not the name of a header"):
        ServeSettings(proxy_headers=("x-forwarded-user", name))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_token(str(tmp_path / "none"), print)


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
