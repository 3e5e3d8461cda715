"""Kubeconfigs are read as kubectl reads them; problems are reported with file and field."""

import base64
import copy
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from kschedctl.common.errors import ClusterError, InputError, KschedctlError
from kschedctl.sources.live import kubeconfig as context
from kschedctl.sources.live.kubeconfig import LiveContext, context_namespace
from kschedctl.sources.live.reader import load_live
from kschedctl.sources.live.settings import ClientSettings, client_settings
from tests.live.hostile_server import Talk, talking
from tests.live.plain_server import kubeconfig
from tests.scheduler.extenders.server import make_certificate, server_tls

GOOD = kubeconfig("https://here:6443")
V1 = "client.authentication.k8s.io/v1"


LAUGHS = b"a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"a%d: &a%d [%s]\n" % (i, i, b",".join([b"*a%d" % (i - 1)] * 10)) for i in range(1, 9)
)


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "POD_NAMESPACE", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def settings(folder: Path, change: Callable[[Any], object], request_seconds: float = 10) -> ClientSettings:
    """Return the client settings of a valid kubeconfig after a change."""
    config = copy.deepcopy(GOOD)
    change(config)
    (folder / "config").write_text(json.dumps(config))
    return client_settings(LiveContext(kubeconfig="config", request_seconds=request_seconds))


def user(**fields: Any) -> Callable[[Any], object]:
    return lambda config: config["users"][0].update(user={name.replace("_", "-"): v for name, v in fields.items()})


def cluster(**fields: Any) -> Callable[[Any], object]:
    return lambda config: config["clusters"][0]["cluster"].update({n.replace("_", "-"): v for n, v in fields.items()})


def entry(plural: str, **fields: Any) -> Callable[[Any], object]:
    return lambda config: config[plural][0].update(fields)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (entry("contexts", context=None), "config: contexts[0].context.cluster: is missing"),
        (entry("contexts", context=[]), "config: contexts[0].context: [] is a list, an object is expected"),
        (entry("contexts", name=7), "config: contexts[0].name: 7 is a number, text is expected"),
        (entry("clusters", cluster=None), "config: clusters[0].cluster.server: is missing"),
        (entry("clusters", name="other"), "config: contexts[0].context.cluster: there is no cluster cluster"),
        (entry("users", name="other"), "config: contexts[0].context.user: there is no user user"),
        (lambda c: c.update(contexts=7), "config: contexts: 7 is a number, a list is expected"),
        (lambda c: c.update({"current-context": 7}), "config: current-context: 7 is a number, text is expected"),
        (lambda c: c.update({"current-context": "x"}), "config: current-context: there is no context x"),
        (lambda c: c["users"].append(c["users"][0]), "config: users[1].name: user occurs twice"),
        (user(token=12345), "config: users[0].user.token: 12345 is a number, text is expected"),
        (user(token="a\nb"), "config: users[0].user.token: has characters that a token cannot have, such as line ends"),
        (user(token="a\n"), "config: users[0].user.token: has characters that a token cannot have, such as line ends"),
        (user(token="ä"), "config: users[0].user.token: has characters that a token cannot have"),
        (user(tokenFile="nowhere"), "nowhere: No such file or directory"),
        (user(username=1, password=2), "config: users[0].user.username: 1 is a number, text is expected"),
        (user(auth_provider={"name": "acme"}), "config: users[0].user.auth-provider.name: 'acme' is not a supported"),
        (user(auth_provider={"name": "gcp"}), "use a credential plugin of the provider"),
        (user(auth_provider={"name": "oidc"}), "config: users[0].user.auth-provider.config: has no id-token"),
        (user(auth_provider={"name": "oidc", "config": {"id-token": "a.b.c"}}), "config: users[0].user.auth-provider"),
        (user(auth_provider={"name": "oidc", "config": {"id-token": "a"}}), "the login with oidc returned no token"),
        (user(client_certificate_data="%"), "config: users[0].user.client-certificate-data: is not base64"),
        (user(client_certificate="nowhere", client_key="nowhere"), "config: users[0].user.client-certificate: "),
        (user(client_certificate_data="YWJj"), "the client certificate or its key is missing"),
        (
            user(client_certificate_data="YWJj", client_key_data="YWJj"),
            "config: users[0].user: client certificate and key cannot be read",
        ),
        (cluster(certificate_authority_data="!!"), "clusters[0].cluster.certificate-authority-data: is not base64"),
        (cluster(certificate_authority_data="YWJj"), "cluster.certificate-authority-data: has no readable"),
        (cluster(certificate_authority="nowhere"), "clusters[0].cluster.certificate-authority: "),
        (cluster(insecure_skip_tls_verify="yes"), '-verify: "yes" is text, true or false is expected'),
        (cluster(server=""), "config: clusters[0].cluster.server: is missing"),
        (cluster(server="https://"), "config: clusters[0].cluster.server: 'https://' is not a usable address"),
        (cluster(server="https://[::1"), "config: clusters[0].cluster.server: 'https://[::1' is not an address"),
        (cluster(server="https://a:99999999"), "clusters[0].cluster.server: 'https://a:99999999' is not an address"),
        (cluster(server="ftp://a"), "config: clusters[0].cluster.server: 'ftp://a' is not a usable address"),
        (cluster(server="https://a b"), "config: clusters[0].cluster.server: 'https://a b' is not an address"),
        (cluster(server="https://a\nb"), "config: clusters[0].cluster.server: 'https://a\\nb' is not an address"),
        (cluster(server=f"https://{'a' * 64}"), "is not an address"),
        (cluster(proxy_url="nowhere"), "config: clusters[0].cluster.proxy-url: 'nowhere' is not a usable address"),
        (cluster(proxy_url="gopher://a:1"), "clusters[0].cluster.proxy-url: 'gopher://a:1' is not a usable address"),
        (user(as_groups=["a"]), "config: users[0].user.as: is missing, but as-uid, as-groups or as-user-extra is set"),
        (user(**{"as": "a\r\nX: y"}), "config: users[0].user.as: 'a\\r\\nX: y' has characters that a header cannot"),
        (user(exec={"command": "x"}), "config: users[0].user.exec.apiVersion: '' is not supported"),
        (user(exec={"apiVersion": V1}), "config: users[0].user.exec.command: is not a valid command"),
        (user(exec={"apiVersion": V1, "command": "x", "interactiveMode": "No"}), "exec.interactiveMode: 'No'"),
        (user(exec={"apiVersion": V1, "command": "x", "env": [{"name": "a=b"}]}), "user.exec.env[0].name: 'a=b'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path: Path, change: Callable[[Any], object], problem: str) -> None:
    with pytest.raises(KschedctlError) as error:
        settings(tmp_path, change).pool()
    assert problem in str(error.value)
    # Only where a server is asked for a token it is not the kubeconfig alone.
    assert isinstance(error.value, InputError) or "the login" in str(error.value)


def test_proxy_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "gopher://proxy:1")
    with pytest.raises(InputError, match="the proxy gopher://proxy:1 cannot be used"):
        settings(tmp_path, user(token="t")).pool()


@pytest.mark.parametrize("named", ["in the kubeconfig", "in the environment"])
def test_proxy_that_needs_what_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.setitem(sys.modules, "socks", None)
    # Another test may have imported it.
    monkeypatch.delitem(sys.modules, "urllib3.contrib.socks", raising=False)
    address = "socks5://proxy:1"
    if named == "in the environment":
        monkeypatch.setenv("HTTPS_PROXY", address)
    change = cluster(proxy_url=address) if named == "in the kubeconfig" else user(token="t")
    with pytest.raises(
        InputError, match=f"the proxy {address} needs a package that is not installed\n  pip install pysocks"
    ):
        settings(tmp_path, change).pool()


def token(expires: int) -> str:
    return f"e30.{base64.urlsafe_b64encode(json.dumps({'exp': expires}).encode()).decode().rstrip('=')}.x"


def expired_login(issuer: str, **more: str) -> Callable[[Any], object]:
    """Return a user whose OIDC token must be renewed."""
    config = {"id-token": token(1), "refresh-token": "r", "client-id": "c", "client-secret": "s", **more}
    return user(auth_provider={"name": "oidc", "config": {**config, "idp-issuer-url": issuer}})


@pytest.mark.parametrize("verified", [True, False], ids=["with its certificate", "that is not verified"])
def test_login_is_renewed_by_its_issuer(tmp_path: Path, verified: bool) -> None:
    class Issuer(BaseHTTPRequestHandler):
        def do_any(self) -> None:
            asked.append(self.rfile.read(int(self.headers.get("Content-Length", 0))).decode())
            given = {"token_endpoint": f"{address}/token"} if self.command == "GET" else renewed
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(given).encode())

        do_GET = do_POST = do_any  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    asked: list[str] = []
    renewed = {"access_token": "a", "token_type": "Bearer", "id_token": token(2**40), "refresh_token": "r2"}
    certificate, key = make_certificate(tmp_path, "issuer")
    with HTTPServer(("127.0.0.1", 0), Issuer) as server:
        address = f"https://127.0.0.1:{server.server_address[1]}"
        server.socket = server_tls(certificate, key).wrap_socket(server.socket, server_side=True)
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        change = expired_login(address, **({"idp-certificate-authority": str(certificate)} if verified else {}))
        try:
            if not verified:
                with pytest.raises(ClusterError, match=r"the login failed: .*CERTIFICATE_VERIFY_FAILED"):
                    settings(tmp_path, change).headers()
                assert not asked, "the refresh token is not sent"
                return
            assert settings(tmp_path, change).headers() == [("authorization", f"Bearer {renewed['id_token']}")]
        finally:
            server.shutdown()
    assert "refresh_token=r" in asked[1]


def test_login_that_hangs_is_given_up(tmp_path: Path) -> None:
    with talking(Talk.be_silent, tmp_path) as (live, asked):
        issuer = json.loads(Path(live.kubeconfig).read_text())["clusters"][0]["cluster"]["server"]
        with pytest.raises(ClusterError, match=r"auth-provider: the login did not end within 1 s"):
            settings(tmp_path, expired_login(issuer), request_seconds=0.1)
        assert asked.is_set()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"contexts: [", "config: line 2, column 1: is not a usable kubeconfig"),
        (b"\xff\xfe\xff", "config: is not a usable kubeconfig"),
        (b"- 1", "config: is not a usable kubeconfig: it is empty or not an object"),
        (b"null", "config: is not a usable kubeconfig: it is empty or not an object"),
        (b"a: *b", "config: "),
        (LAUGHS, "config: "),
        (b"a: " + b"[" * 300 + b"]" * 300, "config: line 1, column 203: is not a usable kubeconfig"),
    ],
    ids=["broken", "no UTF-8", "list", "null", "unknown alias", "aliases of aliases", "deep"],
)  # fmt: skip
def test_text_that_is_no_kubeconfig(tmp_path: Path, text: bytes, problem: str) -> None:
    (tmp_path / "config").write_bytes(text)
    with pytest.raises(InputError) as error:
        client_settings(LiveContext(kubeconfig="config"))
    assert problem in str(error.value)


def test_command_ends_as_for_bad_input(tmp_path: Path) -> None:
    config = copy.deepcopy(GOOD)
    config["users"][0]["user"]["token"] = 7
    (tmp_path / "config").write_text(json.dumps(config))
    script = "import sys; sys.argv[0] = 'kschedctl'; from kschedctl.cli.main import run; run()"
    command = [sys.executable, "-c", script, "verify", "--kubeconfig", "config"]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 2
    assert done.stderr == 'error: config: users[0].user.token: 7 is a number, text is expected\n  quote it: "7"\n'


@pytest.mark.parametrize(
    ("change", "host"),
    [
        (cluster(server="here:8080"), "http://here:8080"),
        (cluster(server="here:8080", insecure_skip_tls_verify=True), "https://here:8080"),
        (cluster(server="https://[::1]:6443/base/"), "https://[::1]:6443/base"),
    ],
)
def test_address(tmp_path: Path, change: Callable[[Any], object], host: str) -> None:
    assert settings(tmp_path, change).configuration.host == host


@pytest.mark.parametrize(
    ("change", "authorization"),
    [
        (user(token="t"), "Bearer t"),
        (user(tokenFile="token"), "Bearer from-file"),
        (user(token="t", tokenFile="token"), "Bearer from-file"),
        (user(username="ü", password="p:q"), "Basic " + base64.b64encode("ü:p:q".encode()).decode()),
        (user(), None),
    ],
    ids=["token", "file", "file before token", "password", "nobody"],
)
def test_authorization(tmp_path: Path, change: Callable[[Any], object], authorization: str | None) -> None:
    (tmp_path / "token").write_text("from-file\n")
    headers = settings(tmp_path, change).headers()
    assert headers == ([("authorization", authorization)] if authorization else [])


def test_files_are_meant_from_where_the_kubeconfig_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text("from-file\n")
    (tmp_path / "elsewhere").mkdir()
    change = user(tokenFile="token")
    settings(tmp_path, change)
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert client_settings(LiveContext(kubeconfig="../config")).headers() == [("authorization", "Bearer from-file")]


def test_whoever_is_acted_as_is_sent(tmp_path: Path) -> None:
    seen: list[dict[str, str]] = []
    groups: list[str] = []

    def handle(talk: Talk) -> None:
        seen.append(talk.headers)
        groups[:] = [text for name, text in talk.every_header if name == "impersonate-group"]
        talk.usual()

    with talking(handle, tmp_path) as (live, _):
        config = json.loads(Path(live.kubeconfig).read_text())
        own = {"token": "t", "as": "jane doe", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": {"a/b": ["c"]}}
        config["users"][0]["user"] = own
        Path(live.kubeconfig).write_text(json.dumps(config))
        load_live(live)
    for headers in seen:
        assert headers["authorization"] == "Bearer t"
        assert headers["impersonate-user"] == "jane doe"
        assert headers["impersonate-uid"] == "7"
        assert headers["impersonate-extra-a%2fb"] == "c"
    assert groups == ["a", "b"]


def test_impersonation_of_the_command_line_goes_before_that_of_the_kubeconfig(tmp_path: Path) -> None:
    seen: list[tuple[str, list[str], bool]] = []

    def handle(talk: Talk) -> None:
        groups = [text for name, text in talk.every_header if name == "impersonate-group"]
        seen.append((talk.headers["impersonate-user"], groups, "impersonate-uid" in talk.headers))
        talk.usual()

    with talking(handle, tmp_path) as (live, _):
        config = json.loads(Path(live.kubeconfig).read_text())
        config["users"][0]["user"] = {"token": "t", "as": "other", "as-uid": "7", "as-groups": ["c"]}
        Path(live.kubeconfig).write_text(json.dumps(config))
        load_live(replace(live, as_user="jane", as_groups=("a", "b")))
    assert seen
    assert set(map(str, seen)) == {str(("jane", ["a", "b"], False))}


def plugin(folder: Path, script: str, **fields: Any) -> Callable[[Any], object]:
    """Return a user whose credentials come from a program."""
    path = folder / "plugin"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return user(exec={"apiVersion": V1, "command": "./plugin", "interactiveMode": "Never", **fields})


def credential(**status: str) -> str:
    return json.dumps({"apiVersion": V1, "kind": "ExecCredential", "status": status})


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("echo go away >&2; exit 3", "the credential plugin ./plugin (config: users[0].user.exec) failed with exit"),
        ("echo go away >&2; exit 3", "exit code 3\n  go away"),
        ("echo hello", "did not print an ExecCredential"),
        ("true", "did not print an ExecCredential"),
        (f"echo '{credential()}'", "returned neither a token nor a certificate with its key"),
        (f"echo '{credential(clientCertificateData='x')}'", "returned neither a token nor a certificate with its key"),
        (f"echo '{credential(token='x').replace('/v1', '/v9')}'", "did not print an ExecCredential of client.auth"),
    ],
)  # fmt: skip
def test_plugin_that_fails_is_an_error(
    tmp_path: Path, script: str, problem: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """No request is sent without the credentials."""
    with pytest.raises(ClusterError) as error:
        settings(tmp_path, plugin(tmp_path, script))
    assert problem in str(error.value)
    assert capfd.readouterr().err == ""


def test_plugin_that_hangs_is_given_up(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"the credential plugin \./plugin .* did not end within 1 s"):
        settings(tmp_path, plugin(tmp_path, "exec sleep 60"), request_seconds=0.1)


def test_plugin_that_is_not_there(tmp_path: Path) -> None:
    own = {"apiVersion": V1, "command": "no-such-program", "installHint": "install it\n"}
    with pytest.raises(ClusterError, match=r"no-such-program .* cannot be run: No such file.*\n  install it$"):
        settings(tmp_path, user(exec=own))


def test_plugin_is_told_what_it_needs(tmp_path: Path) -> None:
    script = 'cat > stdin; echo "$KUBERNETES_EXEC_INFO" > info; echo "$A$1" > given; '
    script += f"echo '{credential(token='t')}'"
    change = plugin(tmp_path, script, provideClusterInfo=True, env=[{"name": "A", "value": "b"}], args=["c"])

    def both(config: Any) -> None:
        change(config)
        config["clusters"][0]["cluster"]["extensions"] = [
            {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}
        ]

    assert settings(tmp_path, both).headers() == [("authorization", "Bearer t")]
    assert (tmp_path / "given").read_text() == "bc\n"
    assert (tmp_path / "stdin").read_text() == ""
    assert json.loads((tmp_path / "info").read_text()) == {
        "apiVersion": V1,
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {"server": "https://here:6443", "config": {"audience": "x"}}},
    }


def test_plugin_is_run_again_once_its_token_has_expired(tmp_path: Path) -> None:
    old = credential(token="old", expirationTimestamp="2020-01-01T00:00:00Z")
    new = credential(token="new", expirationTimestamp="2999-01-01T00:00:00Z")
    script = f"echo x >> runs; if [ $(wc -l < runs) = 1 ]; then echo '{old}'; else echo '{new}'; fi"
    found = settings(tmp_path, plugin(tmp_path, script))
    assert found.headers() == [("authorization", "Bearer new")]
    assert found.headers() == [("authorization", "Bearer new")]
    assert (tmp_path / "runs").read_text() == "x\nx\n"


def in_namespace(name: str, **namespaces: str) -> dict[str, Any]:
    """Return a kubeconfig with contexts and their namespaces."""
    config = kubeconfig("https://here", *namespaces)
    for found in config["contexts"]:
        found["context"] |= {"namespace": namespaces[found["name"]]} if namespaces[found["name"]] else {}
    return {**config, "current-context": name}


@pytest.mark.parametrize(
    ("files", "chosen", "namespace"),
    [
        ({"a": in_namespace("one", one="shop")}, "", "shop"),
        ({"a": in_namespace("one", one="shop", two="web")}, "two", "web"),
        ({"a": in_namespace("one", one="")}, "", ""),
        ({"a": in_namespace("one", one="shop"), "b": in_namespace("two", one="web", two="db")}, "", "shop"),
        ({"a": in_namespace("one", one="shop"), "b": in_namespace("two", one="web", two="db")}, "two", "db"),
        ({"a": in_namespace("", one="shop"), "b": in_namespace("one", one="web")}, "", "shop"),
        ({"a": in_namespace("one", one="shop")}, "nowhere", ""),
        ({"a": "contexts: ["}, "", ""),
        ({"a": {"contexts": [{"name": "one", "context": None}], "current-context": "one"}}, "", ""),
        ({}, "", ""),
    ],
    ids=[
        "current",
        "named",
        "none",
        "of two files the first",
        "only in the second file",
        "current in the second file",
        "unknown context",
        "broken file",
        "null context",
        "no file",
    ],
)
def test_namespace_of_the_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, Any], chosen: str, namespace: str
) -> None:
    for name, config in files.items():
        (tmp_path / name).write_text(config if isinstance(config, str) else json.dumps(config))
    monkeypatch.setenv("KUBECONFIG", ":".join(["nowhere", *files]))
    assert context_namespace(LiveContext(context=chosen)) == namespace


@pytest.mark.parametrize(
    ("environment", "files", "namespace"),
    [
        ({}, {"token": "t", "namespace": "shop\n"}, "shop"),
        ({"POD_NAMESPACE": "web"}, {"token": "t", "namespace": "shop"}, "web"),
        ({}, {"token": "t"}, ""),
        ({}, {"namespace": "shop"}, ""),
        ({"KUBERNETES_SERVICE_HOST": ""}, {"token": "t", "namespace": "shop"}, ""),
    ],
    ids=["of the pod", "of the environment", "no namespace", "no token", "not in a pod"],
)
def test_namespace_in_a_pod(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], files: dict[str, str], namespace: str
) -> None:
    monkeypatch.setattr(context, "SERVICE_ACCOUNT", tmp_path)
    for name, text in {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443", **environment}.items():
        monkeypatch.setenv(name, text)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert context_namespace(LiveContext()) == namespace
    (tmp_path / "config").write_text(json.dumps(in_namespace("one", one="own")))
    assert context_namespace(LiveContext(kubeconfig="config")) == "own"
