from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kschedctl.common.errors import ConfigError
from kschedctl.scheduler.extenders.http_extender import HTTPExtender
from kschedctl.scheduler.framework.config.types import ExtenderConfig, ExtenderTLSConfig
from kschedctl.scheduler.framework.extender import ExtenderError
from tests.builders import make_node, make_pod
from tests.scheduler.extenders.server import ExtenderServer, make_certificate, server_tls


class Files(NamedTuple):
    """A server's and a client's certificate and key; each is its own authority."""

    server: Path
    server_key: Path
    client: Path
    client_key: Path
    named: Path
    named_key: Path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("certificates")
    named = make_certificate(folder, "named", subject="DNS:extender.example")
    return Files(*make_certificate(folder, "server"), *make_certificate(folder, "client"), *named)


def ask(url: str, tls: ExtenderTLSConfig | None, **config: Any) -> str:
    """The one node that an extender leaves, or why it cannot be asked."""
    own = ExtenderConfig(url_prefix=url, filter_verb="filter", node_cache_capable=True, tls_config=tls, **config)
    try:
        return HTTPExtender(own).filter(make_pod(), [make_node("a")]).nodes[0]
    except ExtenderError as error:
        return str(error).partition('/filter": ')[2]


UNKNOWN = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
WANTED = "remote error: tls: certificate required"


@pytest.mark.parametrize(
    ("tls", "enable_https", "said"),
    [
        pytest.param({}, False, UNKNOWN, id="nothing is said of it: the system's authorities count"),
        pytest.param({}, True, "a", id="enableHTTPS without an authority trusts anybody"),
        pytest.param({"insecure": True}, False, "a", id="insecure trusts anybody"),
        pytest.param({"ca_file": "server"}, False, "a", id="the authority as a file"),
        pytest.param({"ca_data": "server"}, False, "a", id="the authority as data"),
        pytest.param({"ca_file": "server"}, True, "a", id="the authority, and enableHTTPS"),
        pytest.param({"ca_file": "client"}, True, UNKNOWN, id="another authority, although enableHTTPS"),
        pytest.param({"ca_data": "server", "ca_file": "nowhere"}, False, "a", id="data go before files"),
        pytest.param(
            {"ca_file": "server", "server_name": "extender.example"},
            False,
            "tls: failed to verify certificate: x509: Hostname mismatch, "
            "certificate is not valid for 'extender.example'",
            id="another name than that of the certificate",
        ),
    ],
)
def test_who_the_server_is(files: Files, tls: dict[str, Any], enable_https: bool, said: str) -> None:
    with ExtenderServer({"filter": {"NodeNames": ["a"]}}, server_tls(files.server, files.server_key)) as server:
        assert ask(server.url, resolved(files, tls), enable_https=enable_https) == said


def test_the_name_of_the_certificate_can_be_given(files: Files) -> None:
    tls = ExtenderTLSConfig(ca_file=str(files.named), server_name="extender.example")
    with ExtenderServer({"filter": {"NodeNames": ["a"]}}, server_tls(files.named, files.named_key)) as server:
        assert ask(server.url, tls) == "a"


@pytest.mark.parametrize(
    ("tls", "said"),
    [
        pytest.param({}, WANTED, id="none"),
        pytest.param({"cert_file": "client", "key_file": "client_key"}, "a", id="as files"),
        pytest.param({"cert_data": "client", "key_data": "client_key"}, "a", id="as data"),
        pytest.param({"cert_file": "client"}, WANTED, id="without a key it is none"),
        pytest.param(
            {"cert_file": "named", "key_file": "named_key"}, "remote error: tls: unknown ca", id="of somebody else"
        ),
    ],
)
def test_who_we_are(files: Files, tls: dict[str, Any], said: str) -> None:
    context = server_tls(files.server, files.server_key, clients=files.client)
    with ExtenderServer({"filter": {"NodeNames": ["a"]}}, context) as server:
        assert ask(server.url, resolved(files, {**tls, "insecure": True})) == said


def resolved(files: Files, tls: dict[str, Any]) -> ExtenderTLSConfig:
    """A configuration with the files that it names, or what is in them."""
    out: dict[str, Any] = {}
    for field, value in tls.items():
        path = getattr(files, str(value), None)
        if field.endswith("_data"):
            assert path is not None
            out[field] = path.read_bytes()
        else:
            out[field] = str(path) if path is not None else value
    return ExtenderTLSConfig(**out)


def test_a_server_without_tls_is_told(files: Files) -> None:
    with ExtenderServer({"filter": {}}) as server:
        said = ask(server.url.replace("http:", "https:"), ExtenderTLSConfig(insecure=True))
    assert said == "http: server gave HTTP response to HTTPS client"


@pytest.mark.parametrize(
    ("tls", "problem"),
    [
        pytest.param({"ca_file": "/nowhere"}, "extenders.tlsConfig.caFile: /nowhere cannot be read", id="no file"),
        pytest.param({"ca_data": b"?"}, "extenders.tlsConfig.caData: has no readable certificate", id="no authority"),
        pytest.param(
            {"cert_data": b"?", "key_data": b"?"}, "extenders.tlsConfig: has no readable certificate", id="no key"
        ),
    ],
)
def test_certificates_that_cannot_be_read(tls: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        HTTPExtender(ExtenderConfig(url_prefix="https://x", tls_config=ExtenderTLSConfig(**tls)), where="config.yaml")
    assert str(raised.value).startswith(f"config.yaml: {problem}")
