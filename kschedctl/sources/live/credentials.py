"""Credentials of a kubeconfig's user: the certificate, the authorization header and the impersonation headers.

The official client differs from kubectl: it prefers ``token`` to ``tokenFile`` and supports only Latin letters in
passwords (tests/live/test_kubeconfig.py::test_authorization), ignores unknown auth providers
(tests/live/test_kubeconfig.py::test_what_is_wrong_is_named) and does not support impersonation
(tests/live/test_kubeconfig.py::test_whoever_is_acted_as_is_sent). OIDC logins are left to the official client.
"""

from __future__ import annotations

import base64
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from kschedctl.common.errors import ClusterError
from kschedctl.sources.live.certificates import file_or_data
from kschedctl.sources.live.exec_plugin import ExecStatus, run_plugin
from kschedctl.sources.live.kubeconfig import ClusterEntry, Entry, UserEntry

_AUTHORIZATION: Final = "authorization"
_OIDC: Final = "oidc"
#: The fields of an OIDC configuration with the issuer's certificate authority.
_ISSUER_CERTIFICATES: Final = ("idp-certificate-authority", "idp-certificate-authority-data")
_REMOVED: Final = ("gcp", "azure")
#: The characters allowed in header names (RFC 9110); other characters of a key are percent-encoded.
_HEADER_CHARS: Final = frozenset("!#$&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")

Header = tuple[str, str]


class Credentials:
    """The credentials of a kubeconfig's user.

    Parameters
    ----------
    cluster : Entry
        The cluster to log in to, which is passed to credential plugins.
    seconds : float or None
        The timeout of a credential plugin, in seconds; ``None`` for no timeout.

    Attributes
    ----------
    certificates : dict of str to str
        The user's certificate and key, by their fields in a kubeconfig.
    impersonated : tuple of (str, str)
        The impersonation headers (``--as`` of kubectl), as names and values.

    Raises
    ------
    InputError
        If the user's entry in the kubeconfig is not valid.
    ClusterError
        If a plugin fails.
    """

    def __init__(self, user: Entry[UserEntry], cluster: Entry[ClusterEntry], seconds: float | None) -> None:
        self._user = user
        self._cluster = cluster
        self._seconds = seconds
        self._made: ExecStatus | None = None
        self.impersonated = tuple(_impersonation(user))
        self._check_provider()
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

        Raises
        ------
        ClusterError
            If a plugin fails.
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

    def _check_provider(self) -> None:
        provider = self._user.value.auth_provider
        if provider is None:
            return
        if provider.name == _OIDC:
            if not provider.config.get("id-token"):
                raise self._user.error("has no id-token", "auth-provider.config", "log in with the provider's program")
            return
        hint = "use a credential plugin of the provider (exec), as kubectl does" if provider.name in _REMOVED else ""
        raise self._user.error(f"{provider.name!a} is not a supported auth provider", "auth-provider.name", hint)


def _impersonation(user: Entry[UserEntry]) -> Iterator[Header]:
    """Yield the impersonation headers, as client-go's ``ImpersonationConfig`` defines them."""
    value = user.value
    if not value.as_user:
        if value.as_uid or value.as_groups or value.as_user_extra:
            raise user.error("is missing, but as-uid, as-groups or as-user-extra is set", "as")
        return
    found = [("as", "Impersonate-User", value.as_user), ("as-uid", "Impersonate-Uid", value.as_uid)]
    found += [(f"as-groups[{i}]", "Impersonate-Group", group) for i, group in enumerate(value.as_groups)]
    for key, values in value.as_user_extra.items():
        name = "".join(char if char in _HEADER_CHARS else _percent(char) for char in key)
        found += [(f"as-user-extra.{key}", f"Impersonate-Extra-{name}", text) for text in values]
    for field, header, text in found:
        if text and not _is_header(text, " "):
            raise user.error(f"{text!a} has characters that a header cannot have", field)
        if text:
            yield header, text


def _percent(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode(errors="surrogateescape"))


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
