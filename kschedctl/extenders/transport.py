"""One HTTP request and its answer, failures in the words of Go's HTTP client."""

from __future__ import annotations

import base64
import ipaddress
import os
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass
from http.client import BadStatusLine, HTTPConnection, HTTPException, HTTPResponse, IncompleteRead, RemoteDisconnected
from typing import Final
from urllib.parse import SplitResult, quote, unquote, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

from kschedctl.framework.extender import ExtenderError
from kschedctl.live.limits import MAX_ANSWER, Deadline
from kschedctl.snapshot.unpacking import size_text

_PORTS: Final = {"http": 80, "https": 443}
_PIECE: Final = 256 * 1024
_MOST_REDIRECTS: Final = 10
_POST: Final = "POST"
#: After these the new address is asked without the body.
_SEE_OTHER: Final = (301, 302, 303)
_REDIRECTS: Final = (*_SEE_OTHER, 307, 308)
_LATE: Final = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
_LATE_BODY: Final = "context deadline exceeded (Client.Timeout or context cancellation while reading body)"
_UNVERIFIED: Final = "tls: failed to verify certificate: x509:"
#: OpenSSL's codes of what is wrong with a certificate: expired or not yet valid, and not for this name or address.
_EXPIRED: Final = (9, 10)
_OTHER_NAME: Final = (62, 64)


@dataclass(frozen=True, slots=True)
class Response:
    """An answer.

    Attributes
    ----------
    status : int
        Its status code.
    body : bytes
        As much of it as came.
    broken_off : str
        Why not all of it came; empty where it did, or the server left it at that.
    """

    status: int
    body: bytes
    broken_off: str = ""


class Transport:
    """Sends requests to an extender.

    Parameters
    ----------
    seconds : float
        How long a request may take, with all that it is sent on to.
    tls : SSLContext
        What connections are encrypted with, where the address says so.
    server_name : str
        The name that the server's certificate is for; by default that of the address.
    """

    def __init__(self, seconds: float, tls: ssl.SSLContext, server_name: str = "") -> None:
        self._seconds = seconds
        self._tls = tls
        self._server_name = server_name

    def post(self, url: str, body: bytes) -> Response:
        """Send a request and follow where it is sent on to.

        Raises
        ------
        ExtenderError
            Where there is no answer.
        """
        until = Deadline.after(self._seconds)
        method, here = _POST, url
        for _ in range(_MOST_REDIRECTS):
            connection = response = None
            try:
                parts = _split(here)
                connection, target = self._connect(parts, until)
                headers = {"Content-Type": "application/json", "User-Agent": "kschedctl", "Host": parts.netloc}
                # A server that hangs up early may have said why.
                with suppress(ConnectionError, ssl.SSLEOFError):
                    connection.request(method, target, body if method == _POST else None, headers)
                response = connection.getresponse()
                location = response.headers.get("Location", "")
                if response.status not in _REDIRECTS or not location:
                    return _read(response, connection, until)
            except (OSError, HTTPException) as error:
                raise ExtenderError(f'{method.capitalize()} "{here}": {_cause(error, here)}') from None
            finally:
                for each in (response, connection):
                    if each is not None:
                        each.close()
            if response.status in _SEE_OTHER:
                method = "GET"
            here = urljoin(here, location)
        raise ExtenderError(f'{method.capitalize()} "{here}": stopped after {_MOST_REDIRECTS} redirects')

    def _connect(self, parts: SplitResult, until: Deadline) -> tuple[HTTPConnection, str]:
        """A connection to a server, perhaps by way of a proxy, and what to ask it for."""
        host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
        target = quote(parts.path or "/", safe="/%:=&;@+$,~!*'()") + (f"?{parts.query}" if parts.query else "")
        proxy = _proxy(parts)
        if proxy is None:
            connection = HTTPConnection(host, port, timeout=_left(until))
        else:
            connection = HTTPConnection(proxy.hostname or "", proxy.port or 80, timeout=_left(until))
            if parts.scheme == "https":
                connection.set_tunnel(host, port, _login(proxy))
            else:
                target = f"{parts.scheme}://{parts.netloc}{target}"
        try:
            connection.connect()
        except (ConnectionError, PermissionError) as error:
            name = f"[{connection.host}]" if ":" in connection.host else _address(connection.host)
            text = os.strerror(error.errno or 0).lower()
            raise _DialError(f"dial tcp {name}:{connection.port}: connect: {text}") from None
        if parts.scheme == "https":
            connection.sock.settimeout(_left(until))
            connection.sock = self._tls.wrap_socket(connection.sock, server_hostname=self._server_name or host)
        connection.sock.settimeout(_left(until))
        return connection, target


class _DialError(OSError):
    """A server that cannot be reached, worded."""


class _AddressError(OSError):
    """An address that is none, worded."""


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _AddressError("invalid port in address") from None
    if parts.scheme not in _PORTS:
        raise _AddressError(f'unsupported protocol scheme "{parts.scheme}"')
    if not parts.hostname or port == 0:
        raise _AddressError("http: no Host in request URL")
    return parts


def _left(until: Deadline) -> float:
    left = until.left
    if not left:
        raise TimeoutError
    return left


def _proxy(parts: SplitResult) -> SplitResult | None:
    """The proxy that the environment names for an address; what runs on this machine is asked without one."""
    host = parts.hostname or ""
    if host == "localhost" or _is_loopback(host) or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    named = getproxies().get(parts.scheme)
    if not named:
        return None
    proxy = urlsplit(named if "://" in named else f"http://{named}")
    if proxy.scheme != "http":
        raise _AddressError(f"the proxy {proxy.scheme}://{proxy.hostname} is of a kind that cannot be used")
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


def _read(response: HTTPResponse, connection: HTTPConnection, until: Deadline) -> Response:
    body = bytearray()
    try:
        while True:
            if connection.sock is not None:
                connection.sock.settimeout(_left(until))
            piece = response.read1(_PIECE)
            if not piece:
                return Response(response.status, bytes(body))
            body += piece
            if len(body) > MAX_ANSWER:
                return Response(response.status, b"", f"the answer has more than {size_text(MAX_ANSWER)}")
    except TimeoutError:
        return Response(response.status, bytes(body), _LATE_BODY)
    except IncompleteRead as error:
        return Response(response.status, bytes(body) + error.partial)
    except (OSError, HTTPException):
        return Response(response.status, bytes(body))


def _cause(error: OSError | HTTPException, url: str) -> str:
    """What Go's client says of a failure."""
    if isinstance(error, (_DialError, _AddressError)):
        return str(error)
    if isinstance(error, TimeoutError):
        return _LATE
    if isinstance(error, socket.gaierror):
        return f"dial tcp: lookup {urlsplit(url).hostname}: no such host"
    if isinstance(error, ssl.SSLError):
        return _tls_cause(error, urlsplit(url).hostname or "")
    if isinstance(error, RemoteDisconnected):
        return "EOF"
    if isinstance(error, BadStatusLine):
        line = str(error).strip()
        return f'net/http: HTTP/1.x transport connection broken: malformed HTTP response "{line}"'
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()
    return str(error) or type(error).__name__


def _tls_cause(error: ssl.SSLError, host: str) -> str:
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


def _address(host: str) -> str:
    """The address that was tried; a name stands for the first of its addresses."""
    try:
        return str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[-1][4][0])
    except OSError:
        return host
