"""A running cluster is read and never written to."""

import json
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from kschedctl.sources.live.reader import LiveReader
from tests.cli.in_process import run
from tests.live.plain_server import discovery, kubeconfig, page, serving, usual

ENTRY = "import sys; sys.argv[0] = 'kschedctl'; from kschedctl.cli.main import run; run()"
CONFIDENTIAL = ("Secret", "ConfigMap", "ServiceAccount")


def test_nothing_but_get_is_asked_of_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    methods = []
    parse = BaseHTTPRequestHandler.parse_request

    def parse_and_note(self: BaseHTTPRequestHandler) -> bool:
        parsed = parse(self)
        methods.append(self.command)
        return parsed

    monkeypatch.setattr(BaseHTTPRequestHandler, "parse_request", parse_and_note)
    with serving(lambda path, query: (0, b""), tmp_path) as (context, asked):
        list(LiveReader(context))
    assert len(asked) > 5
    assert set(methods) == {"GET"}


@pytest.mark.parametrize("writes", [False, True], ids=["nothing", "Events and a Lease where that is asked for"])
def test_watch_writes_nothing_else(writes: bool, tmp_path: Path) -> None:
    """In a process of its own, which is ended by SIGTERM."""
    asked: list[tuple[str, str]] = []
    node, pod = page("a")["items"][0], {"metadata": {"name": "web", "namespace": "shop", "uid": "u"}}
    spec = {"schedulerName": "default-scheduler", "priority": 0, "containers": [{"name": "c"}]}
    lists = {"/api/v1/nodes": [node], "/api/v1/pods": [pod | {"spec": spec}]}

    class Handler(BaseHTTPRequestHandler):
        def do_any(self) -> None:
            path = self.path.partition("?")[0]
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, answer = (404, {}) if "leases/" in path and self.command == "GET" else (200, usual(path)[1])
            if body:
                answer = json.loads(body)
            elif path in lists:
                answer = {"metadata": {"resourceVersion": "10"}, "items": lists[path]}
            watched = "watch=1" in self.path
            if not watched:
                asked.append((self.command, path))
            self.send_response(status)
            self.end_headers()
            if watched:
                time.sleep(2)
            else:
                self.wfile.write(json.dumps(answer).encode())

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_any  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """Clients that hang up are no news."""

    with Server(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        config = tmp_path / "kubeconfig"
        config.write_text(json.dumps(kubeconfig(f"http://127.0.0.1:{server.server_address[1]}")))
        words = ["watch", "-A", "--kubeconfig", str(config), "--kubernetes-version", "1.36"]
        words += ["--events", "--leader-elect", "--lease", "shop/watch"] if writes else []
        command = [sys.executable, "-c", ENTRY, *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            try:
                said = next(line for line in iter(process.stdout.readline, "") if "shop/web" in line)
                assert "shop/web fits nowhere" in said
                until = time.monotonic() + 30
                while writes and not any(method == "POST" and "events" in path for method, path in asked):
                    assert time.monotonic() < until
                    time.sleep(0.02)
                process.terminate()
                _, errors = process.communicate(timeout=30)
            finally:
                process.kill()
        assert (process.returncode, "Traceback" in errors) == (0, False), errors
        server.shutdown()
    written = {(method, path) for method, path in asked if method != "GET"}
    leases = "/apis/coordination.k8s.io/v1/namespaces/shop/leases"
    if writes:
        events = "/apis/events.k8s.io/v1/namespaces/shop/events"
        assert {("POST", events), ("POST", leases)} <= written
        assert written <= {("POST", events), ("POST", leases), ("PUT", f"{leases}/watch")}
    else:
        assert not written


def test_leader_run_writes_its_lease_alone(tmp_path: Path) -> None:
    asked: list[tuple[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_any(self) -> None:
            asked.append((self.command, self.path))
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            known = self.command != "GET" or len(asked) > 1
            answer = body if body else b'{"metadata": {"name": "report"}, "spec": {}}'
            self.send_response(200 if known else 404)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_any  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        config = tmp_path / "kubeconfig"
        config.write_text(json.dumps(kubeconfig(f"http://127.0.0.1:{server.server_address[1]}")))
        words = ["--lease", "shop/report", "--kubeconfig", str(config), "--", "sh", "-c", "sleep 3; exit 4"]
        assert run("leader", "run", *words).code == 4
        server.shutdown()
    leases = "/apis/coordination.k8s.io/v1/namespaces/shop/leases"
    assert asked[:2] == [("GET", f"{leases}/report"), ("POST", leases)]
    assert len(asked) > 3
    assert set(asked[2:]) == {("PUT", f"{leases}/report"), ("GET", f"{leases}/report")}


def test_no_secrets_are_asked_for(tmp_path: Path) -> None:
    kinds = [("nodes", "Node"), ("pods", "Pod"), *((f"{kind.lower()}s", kind) for kind in CONFIDENTIAL)]
    offered = discovery([("", [("v1", kinds)])])
    with serving(lambda path, query: (200, offered) if path == "/api" else (0, b""), tmp_path) as (context, asked):
        list(LiveReader(context))
    assert {path.partition("?")[0] for path in asked} == {"/version", "/api", "/apis", "/api/v1/nodes", "/api/v1/pods"}
