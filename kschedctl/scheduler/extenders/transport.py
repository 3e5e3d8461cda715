"""The HTTP transport of extenders: requests, responses, and failures in the words of Go's HTTP client."""

import base64
import ipaddress
import os
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass
from http.client import BadStatusLine, RemoteDisconnected
from typing import Any, Final
from urllib.parse import SplitResult, unquote, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

from urllib3 import BaseHTTPResponse, HTTPSConnectionPool, PoolManager, ProxyManager, Timeout
from urllib3.connection import HTTPSConnection
from urllib3.exceptions import HTTPError, NewConnectionError
from urllib3.exceptions import TimeoutError as LateError

from kschedctl.common.findings import shortened
from kschedctl.scheduler.framework.extender import ExtenderError
from kschedctl.sources.live.http import JSON, USER_AGENT, pieces, seconds_left, sent, silence_urllib3
from kschedctl.sources.live.limits import MAX_ANSWER, Deadline
from kschedctl.sources.snapshot.archives import size_text

_PORTS: Final = {"http": 80, "https": 443}
_MOST_REDIRECTS: Final = 10
_POST: Final = "POST"
_HEADERS: Final = {"Content-Type": JSON, "User-Agent": USER_AGENT}
#: The redirects that are followed with GET and without the body.
_SEE_OTHER: Final = (301, 302, 303)
_REDIRECTS: Final = (*_SEE_OTHER, 307, 308)
_LATE: Final = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
_LATE_BODY: Final = "context deadline exceeded (Client.Timeout or context cancellation while reading body)"
_UNVERIFIED: Final = "tls: failed to verify certificate: x509:"
#: OpenSSL's certificate error codes: not yet valid or expired.
_EXPIRED: Final = (9, 10)
#: OpenSSL's certificate error codes: host name mismatch, IP address mismatch.
_OTHER_NAME: Final = (62, 64)


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP response."""

    #: The status code.
    status: int
    #: The received part of the body; empty if the body is too large (``MAX_ANSWER``).
    body: bytes
    #: The reason why the body is incomplete; empty if it is complete, or if the server closed the connection.
    broken_off: str = ""


class Transport:
    """An HTTP client for an extender.

    Args:
        seconds: The timeout of a request in seconds, including its redirects.
        server_name: The host name in the server's certificate; by default that of the address.
    """

    def __init__(self, seconds: float, tls: ssl.SSLContext, server_name: str = "") -> None:
        silence_urllib3()
        self._seconds = seconds
        self._tls: dict[str, Any] = {"ssl_context": tls, "server_hostname": server_name or None}

    def post(self, url: str, body: bytes) -> Response:
        """Send a POST request and follow up to 9 redirects, as Go's client does.

        Raises ExtenderError if there is no response, or on the 10th redirect.
        """
        until = Deadline.after(self._seconds)
        method, here = _POST, url
        for _ in range(_MOST_REDIRECTS):
            try:
                parts = _split(here)
                content = body if method == _POST else None
                timeout = Timeout(total=seconds_left(until))
                # A new connection for each request is never one that the server has already closed.
                with self._pool(parts) as pool, sent(pool, method, here, _HEADERS, timeout, content) as response:
                    location = response.headers.get("Location", "")
                    if response.status not in _REDIRECTS or not location:
                        return _read_response(response, until)
            except (OSError, ValueError, HTTPError) as error:
                raise ExtenderError(f'{method.capitalize()} "{shortened(here)}": {_cause(error, here)}') from None
            if response.status in _SEE_OTHER:
                method = "GET"
            here = _redirected(method, here, location)
        raise ExtenderError(f'{method.capitalize()} "{shortened(here)}": stopped after {_MOST_REDIRECTS} redirects')

    def _pool(self, parts: SplitResult) -> PoolManager:
        """Return the connection pool for a server, with the environment's proxy if there is one."""
        proxy = _proxy(parts)
        if proxy is None:
            pool = PoolManager(**self._tls)
        else:
            address = f"http://{proxy.netloc.rpartition('@')[2]}"
            pool = ProxyManager(address, proxy_headers=_login(proxy), **self._tls)
        pool.pool_classes_by_scheme = {**pool.pool_classes_by_scheme, "https": _Connections}
        return pool


class _Connection(HTTPSConnection):
    """An HTTPS connection whose response is read even if the server closes it during the request.

    The server may have sent a response with the reason.
    """

    def request(self, *args: Any, **options: Any) -> None:
        """Send a request."""
        with suppress(ssl.SSLEOFError):
            super().request(*args, **options)


class _Connections(HTTPSConnectionPool):
    ConnectionCls = _Connection


class _AddressError(OSError):
    """The error for an invalid address, with its message."""


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
    except ValueError:
        raise _AddressError("invalid address") from None
    try:
        port = parts.port
        (parts.hostname or "").encode("idna")
    except UnicodeError:
        # A label that is empty, has more than 63 characters, or has no form in ASCII.
        raise _AddressError(f"dial tcp: lookup {parts.hostname}: no such host") from None
    except ValueError:
        raise _AddressError("invalid port in address") from None
    if parts.scheme not in _PORTS:
        raise _AddressError(f'unsupported protocol scheme "{parts.scheme}"')
    if not parts.hostname or port == 0:
        raise _AddressError("http: no Host in request URL")
    return parts


def _redirected(method: str, here: str, location: str) -> str:
    """Return the address of a redirect."""
    try:
        return urljoin(here, location)
    except ValueError as error:
        problem = f'failed to parse Location header "{shortened(location)}": {error}'
        raise ExtenderError(f'{method.capitalize()} "{shortened(here)}": {problem}') from None


def _proxy(parts: SplitResult) -> SplitResult | None:
    """Return the environment's proxy for an address, or ``None``; addresses of this machine use no proxy."""
    host = parts.hostname or ""
    if host == "localhost" or _is_loopback(host) or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    named = getproxies().get(parts.scheme)
    if not named:
        return None
    proxy = urlsplit(named if "://" in named else f"http://{named}")
    if proxy.scheme != "http":
        raise _AddressError(f"the proxy {proxy.scheme}://{proxy.hostname} is of an unsupported kind")
    return proxy


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _login(proxy: SplitResult) -> dict[str, str]:
    if not proxy.username:
        return {}
    login = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}".encode()
    return {"Proxy-Authorization": f"Basic {base64.b64encode(login).decode()}"}


def _read_response(response: BaseHTTPResponse, until: Deadline) -> Response:
    body = bytearray()
    broken_off = ""
    try:
        for piece in pieces(response, until):
            body += piece
            if len(body) > MAX_ANSWER:
                return Response(response.status, b"", f"the response has more than {size_text(MAX_ANSWER)}")
    except (TimeoutError, LateError):
        broken_off = _LATE_BODY
    except HTTPError:
        # As in Go's client, the received part may already be a complete JSON value.
        pass
    return Response(response.status, bytes(body), broken_off)


def _cause(failed: BaseException, url: str) -> str:
    """Return the message of Go's client for a failure."""
    error = _innermost(failed)
    # For a proxy, urllib3 passes the connection error as an argument of its own error.
    dialling = any(isinstance(each, NewConnectionError) for each in (failed, *failed.args))
    match error:
        case socket.gaierror():
            return f"dial tcp: lookup {urlsplit(url).hostname}: no such host"
        case TimeoutError() | LateError():
            return _LATE
        case ssl.SSLError():
            return _tls_cause(error)
        case RemoteDisconnected():
            return "EOF"
        case BadStatusLine():
            return f'net/http: HTTP/1.x transport connection broken: malformed HTTP response "{str(error).strip()}"'
        case OSError() if error.errno:
            said = os.strerror(error.errno).lower()
            return f"{_dialled(url)}: connect: {said}" if dialling else said
    return str(error) or type(error).__name__


def _innermost(error: BaseException) -> BaseException:
    """Return the operating system's or Python's error inside an error of urllib3."""
    for inner in (*error.args, error.__cause__):
        if isinstance(inner, BaseException):
            return _innermost(inner)
    return error


def _dialled(url: str) -> str:
    """Return Go's prefix for a failed connection: the IP address and port of the server or proxy."""
    parts = urlsplit(url)
    to = _proxy(parts) or parts
    host = to.hostname or ""
    with suppress(OSError):
        host = str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[-1][4][0])
    return f"dial tcp {f'[{host}]' if ':' in host else host}:{to.port or _PORTS[to.scheme]}"


def _tls_cause(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in _EXPIRED:
            return f"{_UNVERIFIED} certificate has expired or is not yet valid"
        if error.verify_code in _OTHER_NAME:
            return f"{_UNVERIFIED} {error.verify_message.rstrip('.')}"
        return f"{_UNVERIFIED} certificate signed by unknown authority"
    reason = error.reason or ""
    if reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
        return "http: server gave HTTP response to HTTPS client"
    if "_ALERT_" in reason:
        alert = reason.partition("_ALERT_")[2].replace("_", " ").lower()
        return f"remote error: tls: {alert}"
    return f"tls: {reason.replace('_', ' ').lower() or error}"
