"""A small HTTP server with responses that a real API server gives only rarely."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from kschedctl.sources.live.kubeconfig import LiveContext

#: A function from the path and the query to a status and a body: JSON data, bytes, or an iterator of chunks.
Answer = Callable[[str, dict[str, str]], tuple[int, Any]]

CORE = [("v1", [("nodes", "Node"), ("pods", "Pod"), ("persistentvolumes", "PersistentVolume")])]
GROUPS = [("", CORE)]


def discovery(groups: list[tuple[str, list[tuple[str, list[tuple[str, str]]]]]]) -> dict[str, Any]:
    """Return an API server's discovery document."""
    items = [
        {
            "metadata": {"name": name} if name else {},
            "versions": [
                {
                    "version": version,
                    "resources": [
                        {"resource": resource, "responseKind": {"kind": kind}, "verbs": ["get", "list"]}
                        for resource, kind in resources
                    ],
                }
                for version, resources in versions
            ],
        }
        for name, versions in groups
    ]
    return {"kind": "APIGroupDiscoveryList", "items": items}


@contextmanager
def serving(answer: Answer, folder: Path) -> Iterator[tuple[LiveContext, list[str]]]:
    """Serve responses; a status of 0 from ``answer`` stands for the usual response of an API server."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            asked.append(self.path)
            status, body = answer(url.path, dict(parse_qsl(url.query)))
            if not status:
                status, body = usual(url.path)
            if isinstance(body, Iterator):
                # The stream continues until the iterator ends or the connection breaks.
                self.send_response(status)
                self.end_headers()
                for piece in body:
                    self.wfile.write(piece)
                    self.wfile.flush()
                return
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Log nothing."""

    class Server(ThreadingHTTPServer):
        #: A connection beyond the default of 5 is tried again by the system only after a second.
        request_queue_size = 128

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Ignore clients that disconnect."""

    server = Server(("127.0.0.1", 0), Handler)
    # A poll interval of 20 ms, so that shutdown at the end of a test is quick.
    thread = Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    config = folder / "kubeconfig"
    address = f"http://127.0.0.1:{server.server_address[1]}"
    config.write_text(json.dumps(kubeconfig(address)))
    try:
        yield LiveContext(kubeconfig=str(config), page_size=2), asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def usual(path: str) -> tuple[int, Any]:
    """Return the status and body with which every API server responds."""
    if path == "/version":
        return 200, {"gitVersion": "v1.36.3"}
    if path == "/api":
        return 200, discovery(GROUPS)
    return 200, discovery([]) if path == "/apis" else {"metadata": {"resourceVersion": "10"}, "items": []}


def kubeconfig(server: str, *contexts: str) -> dict[str, Any]:
    names = contexts or ("here",)
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "cluster", "cluster": {"server": server}}],
        "users": [{"name": "user", "user": {"token": "t0ken"}}],
        "contexts": [{"name": name, "context": {"cluster": "cluster", "user": "user"}} for name in names],
        "current-context": names[0],
    }


def page(*names: str, following: str = "", left: int = 0) -> dict[str, Any]:
    """Return a page of a list of objects with these names."""
    metadata: dict[str, Any] = {"resourceVersion": "10"}
    if following:
        metadata |= {"continue": following, "remainingItemCount": left}
    return {"metadata": metadata, "items": [{"metadata": {"name": name}} for name in names]}
