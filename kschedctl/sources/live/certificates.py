"""Certificates and keys of a kubeconfig, validated before the official client gets them.

The official client detects an error only when it connects, and cannot name the position in the kubeconfig:
tests/live/test_kubeconfig.py::test_what_is_wrong_is_named.
"""

from __future__ import annotations

import base64
import binascii
import ssl
from pathlib import Path
from typing import Any

from kschedctl.sources.live.kubeconfig import ClusterEntry, Entry, UserEntry


def file_or_data(entry: Entry[Any], field: str, path: str, data: str) -> dict[str, str]:
    """Return a certificate or key as a field for the official client: inline data if present, else a file.

    Raises
    ------
    InputError
        If the data is not base64 or the file cannot be read.
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

    Raises
    ------
    InputError
        If a certificate or key cannot be loaded.
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
            problem = f"client certificate and key cannot be read: {why_unreadable(error)}"
            raise user.error(problem) from None


def why_unreadable(error: Exception) -> str:
    """Return the reason why a certificate or key could not be loaded."""
    return getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
