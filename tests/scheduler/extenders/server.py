"""An extender for tests: a real HTTP server with fixed answers that records its requests."""

import json
import shutil
import ssl
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any, Self

#: A body as bytes, JSON, a status code and a body, or a function from the request's JSON to one of these.
Answer = bytes | dict[str, Any] | list[Any] | tuple[int, bytes] | Callable[[Any], Any]


@dataclass(frozen=True)
class Asked:
    """A request to the extender."""

    verb: str
    about: Any
    method: str = "POST"
    content_type: str = "application/json"


class ExtenderServer:
    """A server that answers verbs on the loopback address, and verbs without an answer with 404.

    Parameters
    ----------
    answers : mapping of str to Answer
        The answers by verb.
    tls : SSLContext, optional
        The TLS context of an HTTPS server; the default is HTTP.
    """

    def __init__(self, answers: Mapping[str, Answer], tls: ssl.SSLContext | None = None) -> None:
        self.answers = dict(answers)
        self.asked: list[Asked] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        # The client reports failed handshakes.
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._scheme = "http" if tls is None else "https"
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        return f"{self._scheme}://{self.host}"

    @property
    def verbs(self) -> list[str]:
        return [asked.verb for asked in self.asked]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                verb = self.path.strip("/")
                text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                about = json.loads(text) if text else None
                outer.asked.append(Asked(verb, about, self.command, self.headers.get("Content-Type", "")))
                answer = outer.answers.get(verb, (404, b"no such verb"))
                while callable(answer):
                    answer = answer(about)
                status, body = answer if isinstance(answer, tuple) else (200, answer)
                self.send_response(status)
                if status in range(300, 400):
                    self.send_header("Location", body.decode() if isinstance(body, bytes) else "")
                    body = b""
                body = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = _answer  # noqa: N815
            do_POST = _answer  # noqa: N815

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Log nothing."""

        return Handler


def names_in(about: Any) -> list[str]:
    """Return the names of the nodes in a request to an extender."""
    if about["NodeNames"] is not None:
        return list(about["NodeNames"])
    return [node["metadata"]["name"] for node in about["Nodes"]["items"]]


def leaving(*names: str, failed: Mapping[str, str] | None = None, never: Mapping[str, str] | None = None) -> Answer:
    """Return an answer to ``filter`` that keeps the nodes with these names, in the form of the request."""

    def answer(about: Any) -> dict[str, Any]:
        said: dict[str, Any] = {"FailedNodes": failed or {}, "FailedAndUnresolvableNodes": never or {}}
        if about["NodeNames"] is not None:
            return {**said, "NodeNames": [name for name in about["NodeNames"] if name in names]}
        items = [node for node in about["Nodes"]["items"] if node["metadata"]["name"] in names]
        return {**said, "Nodes": {"items": items}}

    return answer


def make_certificate(folder: Path, name: str, *, subject: str = "IP:127.0.0.1") -> tuple[Path, Path]:
    """Write a self-signed certificate and its key, and return their paths."""
    openssl = shutil.which("openssl")
    assert openssl
    certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
    options = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    own = ["-subj", f"/CN={name}", "-addext", f"subjectAltName={subject}"]
    command = [openssl, "req", *options, "-keyout", str(key), "-out", str(certificate), *own]
    subprocess.run(command, check=True, capture_output=True)
    return certificate, key


def server_tls(certificate: Path, key: Path, clients: Path | None = None) -> ssl.SSLContext:
    """Return a server's TLS context; with ``clients`` it requires client certificates of this authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if clients is not None:
        context.load_verify_locations(clients)
        context.verify_mode = ssl.CERT_REQUIRED
    return context
