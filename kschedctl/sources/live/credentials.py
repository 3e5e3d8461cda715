"""Credentials of a kubeconfig's user: the certificate, the authorization header and the impersonation headers.

The official client differs from kubectl: it prefers ``token`` to ``tokenFile`` and supports only Latin letters in
passwords (tests/live/test_kubeconfig.py::test_authorization), ignores unknown auth providers
(tests/live/test_kubeconfig.py::test_what_is_wrong_is_named) and does not support impersonation
(tests/live/test_kubeconfig.py::test_whoever_is_acted_as_is_sent). OIDC logins are left to the official client.
"""

import base64
import binascii
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import msgspec

from kschedctl.common.errors import ClusterError, InputError
from kschedctl.objects.meta import ApiStruct, Time
from kschedctl.sources.live.kubeconfig import ClusterEntry, Entry, ExecEntry, UserEntry
from kschedctl.sources.snapshot.decoding import decode

# Certificates and keys of a kubeconfig, validated before the official client gets them.
#
# The official client detects an error only when it connects, and cannot name the position in the kubeconfig:
# tests/live/test_kubeconfig.py::test_what_is_wrong_is_named.


def file_or_data(entry: Entry[Any], field: str, path: str, data: str) -> dict[str, str]:
    """Return a certificate or key as a field for the official client: inline data if present, else a file.

    Raises InputError if the data is not base64 or the file cannot be read.
    """
    if data:
        try:
            base64.b64decode("".join(data.split()), validate=True)
        except (binascii.Error, ValueError) as error:
            raise entry.error(f"is not base64: {error}", f"{field}-data") from None
        return {f"{field}-data": data}
    if not path:
        return {}
    _content(entry, field, path)
    return {field: entry.resolved(path)}


def as_data(entry: Entry[Any], field: str, path: str, data: str) -> str:
    """Return a certificate or key in base64; empty if there is none."""
    return data or base64.b64encode(_content(entry, field, path) if path else b"").decode()


def _content(entry: Entry[Any], field: str, path: str) -> bytes:
    full = entry.resolved(path)
    try:
        return Path(full).read_bytes()
    except (OSError, ValueError) as error:
        raise entry.error(f"{full}: {getattr(error, 'strerror', None) or error}", field) from None


def check_certificates(configuration: Any, user: Entry[UserEntry], cluster: Entry[ClusterEntry]) -> None:
    """Check that certificates and keys can be loaded, to report an error with its position in the kubeconfig.

    Raises InputError if a certificate or key cannot be loaded.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if configuration.ssl_ca_cert:
        try:
            context.load_verify_locations(cafile=configuration.ssl_ca_cert)
        except (OSError, ValueError) as error:
            field = f"certificate-authority{'-data' if cluster.value.certificate_authority_data else ''}"
            raise cluster.error(f"has no readable certificates: {why_unreadable(error)}", field) from None
    if configuration.cert_file:
        try:
            # The empty password prevents a prompt on the terminal for an encrypted key.
            context.load_cert_chain(configuration.cert_file, configuration.key_file, password="")
        except (OSError, ValueError) as error:
            raise user.error(f"client certificate and key cannot be read: {why_unreadable(error)}") from None


def why_unreadable(error: Exception) -> str:
    """Return the reason why a certificate or key could not be loaded."""
    return getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)


# Credential plugins: programs that a kubeconfig names, run as by client-go (``client.authentication.k8s.io``).
#
# The official client differs: it waits for a plugin without a timeout
# (tests/live/test_kubeconfig.py::test_plugin_that_hangs_is_given_up), always lets it read standard input, and passes
# other cluster information (tests/live/test_kubeconfig.py::test_plugin_is_told_what_it_needs).

_VERSIONS: Final = tuple(f"client.authentication.k8s.io/{version}" for version in ("v1", "v1beta1"))
_MODES: Final = ("Never", "IfAvailable", "Always")
_MOST_LINES: Final = 5
#: Credentials are renewed this long before they expire.
_SKEW: Final = timedelta(seconds=30)


class ExecStatus(ApiStruct, frozen=True):
    """The credentials that a plugin returns (``ExecCredentialStatus``)."""

    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: Time | None = None

    @property
    def expired(self) -> bool:
        """True if the credentials expire within 30 s, so that new ones are needed."""
        return self.expiration_timestamp is not None and self.expiration_timestamp - _SKEW <= datetime.now(UTC)


class _ExecCredential(ApiStruct, frozen=True):
    kind: str = ""
    api_version: str = ""
    status: ExecStatus = ExecStatus()


def run_plugin(user: Entry[UserEntry], cluster: Entry[ClusterEntry], seconds: float | None) -> ExecStatus:
    """Run the credential plugin of a user.

    Args:
        seconds: The timeout, in seconds; ``None`` for no timeout.

    Raises InputError if the plugin's entry in the kubeconfig is not valid.
    Raises ClusterError if the plugin fails, exceeds the timeout or returns no credentials.
    """
    plugin = user.value.exec
    assert plugin is not None
    interactive = _interactive(user, plugin)
    environment = {**os.environ, **{variable.name: variable.value for variable in plugin.env}}
    spec: dict[str, Any] = {"interactive": interactive}
    if plugin.provide_cluster_info:
        value, extensions = cluster.value, (cluster.plain or {}).get("extensions")
        authority = value.certificate_authority, value.certificate_authority_data
        told = {
            "server": value.server,
            "tls-server-name": value.tls_server_name,
            "insecure-skip-tls-verify": value.insecure_skip_tls_verify,
            "certificate-authority-data": as_data(cluster, "certificate-authority", *authority),
            "proxy-url": value.proxy_url,
        }
        spec["cluster"] = {field: given for field, given in told.items() if given}
        for extension in extensions if isinstance(extensions, list) else ():
            if isinstance(extension, dict) and extension.get("name") == "client.authentication.k8s.io/exec":
                spec["cluster"]["config"] = extension.get("extension")
    environment["KUBERNETES_EXEC_INFO"] = msgspec.json.encode(
        {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    ).decode()
    # A bare name is looked up in $PATH; a relative path is relative to the directory of the kubeconfig.
    command = user.resolved(plugin.command) if os.sep in plugin.command else plugin.command
    shown = sys.stderr.isatty()
    name = f"the credential plugin {plugin.command} ({user.file}: {user.path}.exec)"
    try:
        done = subprocess.run(
            [command, *plugin.args],
            env=environment,
            stdin=None if interactive else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            # Instructions to the user, such as a login URL, must be visible.
            stderr=None if shown else subprocess.PIPE,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ClusterError(f"{name} did not end within {seconds:.0f} s") from None
    except (OSError, ValueError) as error:
        problem = f"{name} cannot be run: {getattr(error, 'strerror', None) or error}"
        raise ClusterError(problem, hint=plugin.install_hint.strip()) from None
    if done.returncode:
        said = (done.stderr or b"").decode(errors="replace").strip().splitlines()[-_MOST_LINES:]
        raise ClusterError(f"{name} failed with exit code {done.returncode}", hint="\n".join(said))
    try:
        found = decode(done.stdout, _ExecCredential)
    except InputError as error:
        raise ClusterError(f"{name} did not print an ExecCredential: {error}") from None
    status = found.status
    if found.kind != "ExecCredential" or found.api_version != plugin.api_version:
        raise ClusterError(f"{name} did not print an ExecCredential of {plugin.api_version}")
    if not status.token and not (status.client_certificate_data and status.client_key_data):
        raise ClusterError(f"{name} returned neither a token nor a certificate with its key")
    return status


def _interactive(user: Entry[UserEntry], plugin: ExecEntry) -> bool:
    """Validate the plugin's entry and report whether the plugin is allowed to prompt the user.

    Raises InputError if the entry is not valid.
    Raises ClusterError if the plugin requires a terminal and there is none.
    """
    if not plugin.command or "\0" in "".join([plugin.command, *plugin.args]):
        raise user.error("is not a valid command", "exec.command")
    if plugin.api_version not in _VERSIONS:
        found = f"{plugin.api_version!a} is not supported"
        raise user.error(found, "exec.apiVersion", f"supported: {' and '.join(_VERSIONS)}")
    for i, variable in enumerate(plugin.env):
        if not variable.name or "=" in variable.name or "\0" in variable.name + variable.value:
            raise user.error(f"{variable.name!a} is not a variable name", f"exec.env[{i}].name")
    mode = plugin.interactive_mode or "IfAvailable"
    if mode not in _MODES:
        raise user.error(f"{mode!a} is not supported", "exec.interactiveMode", f"supported: {', '.join(_MODES)}")
    available = sys.stdin is not None and sys.stdin.isatty()
    if mode == "Always" and not available:
        raise ClusterError(f"the credential plugin {plugin.command} needs a terminal to prompt, and there is none")
    return available and mode != "Never"


#: The fields of an OIDC configuration with the issuer's certificate authority.
_ISSUER_CERTIFICATES: Final = ("idp-certificate-authority", "idp-certificate-authority-data")
_REMOVED: Final = ("gcp", "azure")
#: The characters allowed in header names (RFC 9110); other characters of a key are percent-encoded.
_HEADER_CHARS: Final = frozenset("!#$&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")

Header = tuple[str, str]


class Credentials:
    """The credentials of a kubeconfig's user.

    certificates: The user's certificate and key, by their fields in a kubeconfig.
    impersonated: The impersonation headers (``--as`` of kubectl), as names and values.

    Args:
        cluster: The cluster to log in to, which is passed to credential plugins.
        seconds: The timeout of a credential plugin, in seconds; ``None`` for no timeout.

    Raises InputError if the user's entry in the kubeconfig is not valid.
    Raises ClusterError if a plugin fails.
    """

    def __init__(self, user: Entry[UserEntry], cluster: Entry[ClusterEntry], seconds: float | None) -> None:
        self._user = user
        self._cluster = cluster
        self._seconds = seconds
        self._made: ExecStatus | None = None
        self.impersonated = tuple(impersonation(user))
        provider = user.value.auth_provider
        if provider is not None and provider.name != "oidc":
            hint = (
                "use a credential plugin of the provider (exec), as kubectl does" if provider.name in _REMOVED else ""
            )
            raise user.error(f"{provider.name!a} is not a supported auth provider", "auth-provider.name", hint)
        if provider is not None and not provider.config.get("id-token"):
            raise user.error("has no id-token", "auth-provider.config", "log in with the provider's program")
        self._given = self._authorization()
        if not self._given and user.value.exec is not None:
            self._made = run_plugin(user, cluster, seconds)
        self.certificates = _certificates(user, self._made)

    @property
    def provider(self) -> dict[str, Any] | None:
        """The auth provider that the official client must log in with; ``None`` if there is none."""
        provider = self._user.value.auth_provider
        if provider is None or self._given:
            return None
        config = {key: value for key, value in provider.config.items() if value or key not in _ISSUER_CERTIFICATES}
        if config.keys().isdisjoint(_ISSUER_CERTIFICATES):
            # The official client does not verify an issuer without these, and would send it the refresh token.
            import certifi

            config[_ISSUER_CERTIFICATES[0]] = ssl.get_default_verify_paths().cafile or certifi.where()
        return {"name": provider.name, "config": config}

    def authorization(self) -> str:
        """Return the value of the header ``Authorization``; empty for no header. Renew an expired token.

        Raises ClusterError if a plugin fails.
        """
        if self._made is not None and self._made.expired:
            self._made = run_plugin(self._user, self._cluster, self._seconds)
        if self._made is not None and self._made.token:
            token = self._made.token.strip()
            if not _is_header(token):
                raise ClusterError(f"the credential plugin ({self._user.path}.exec) returned an invalid token")
            return f"Bearer {token}"
        return self._given

    def _authorization(self) -> str:
        user, value = self._user, self._user.value
        if value.token_file:
            path = user.resolved(value.token_file)
            try:
                token = Path(path).read_text().strip()
            except (OSError, UnicodeDecodeError, ValueError) as error:
                raise user.error(f"{path}: {getattr(error, 'strerror', None) or error}", "tokenFile") from None
            if not token or not _is_header(token):
                raise user.error(f"{path} holds no token", "tokenFile")
            return f"Bearer {token}"
        if value.token:
            if not _is_header(value.token):
                hint = "in YAML, write it on one line, or after |-" if "\n" in value.token else ""
                raise user.error("has characters that a token cannot have, such as line ends", "token", hint)
            return f"Bearer {value.token}"
        if value.username or value.password:
            login = f"{value.username}:{value.password}"
            return f"Basic {base64.b64encode(login.encode(errors='surrogateescape')).decode()}"
        return ""


def impersonation(user: Entry[UserEntry]) -> Iterator[Header]:
    """Yield the impersonation headers, as client-go's ``ImpersonationConfig`` defines them."""
    value = user.value
    if not value.as_user:
        if value.as_uid or value.as_groups or value.as_user_extra:
            raise user.error("is missing, but as-uid, as-groups or as-user-extra is set", "as")
        return
    found = [("as", "Impersonate-User", value.as_user), ("as-uid", "Impersonate-Uid", value.as_uid)]
    found += [(f"as-groups[{i}]", "Impersonate-Group", group) for i, group in enumerate(value.as_groups)]
    for key, values in value.as_user_extra.items():
        name = "".join(
            char if char in _HEADER_CHARS else "".join(f"%{byte:02X}" for byte in char.encode(errors="surrogateescape"))
            for char in key
        )
        found += [(f"as-user-extra.{key}", f"Impersonate-Extra-{name}", text) for text in values]
    for field, header, text in found:
        if text and not _is_header(text, " "):
            raise user.error(f"{text!a} has characters that a header cannot have", field)
        if text:
            yield header, text


def _is_header(text: str, also: str = "") -> bool:
    """Report whether a text is a valid header value: printable ASCII without spaces, or characters of ``also``."""
    return all("!" <= char <= "~" or char in also for char in text)


def _certificates(user: Entry[UserEntry], made: ExecStatus | None) -> dict[str, str]:
    """Return the certificate and key for the official client, from the plugin or from the kubeconfig."""
    if made is not None and made.client_certificate_data:
        pem = {"client-certificate": made.client_certificate_data, "client-key": made.client_key_data}
        return {f"{field}-data": base64.b64encode(text.encode()).decode() for field, text in pem.items()}
    value = user.value
    out: dict[str, str] = {}
    for field, path, data in (
        ("client-certificate", value.client_certificate, value.client_certificate_data),
        ("client-key", value.client_key, value.client_key_data),
    ):
        out |= file_or_data(user, field, path, data)
    if len(out) == 1:
        raise user.error("the client certificate or its key is missing; both are needed")
    return out
