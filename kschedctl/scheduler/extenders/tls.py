"""TLS for extenders: server verification and client certificates (``tlsConfig`` and ``enableHTTPS``)."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from kschedctl.common.errors import ConfigError, InputError
from kschedctl.scheduler.framework.config.types import ExtenderConfig, ExtenderTLSConfig
from kschedctl.sources.live.credentials import why_unreadable
from kschedctl.sources.snapshot.files import file_bytes


def tls_context(config: ExtenderConfig, path: str, where: str = "") -> ssl.SSLContext:
    """Return the TLS context for connections to an extender.

    Parameters
    ----------
    config : ExtenderConfig
        The extender's configuration.
    path, where : str
        The extender's path in the configuration, and the configuration's file, for errors.

    Raises
    ------
    ConfigError
        If a certificate or key cannot be read.

    Notes
    -----
    As in kube-scheduler, the address selects the protocol, not ``enableHTTPS``. Without a certificate authority,
    ``enableHTTPS`` disables server verification.
    """
    tls = config.tls_config or ExtenderTLSConfig()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    has_authority = bool(tls.ca_data or tls.ca_file)
    if tls.insecure or (config.enable_https and not has_authority):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    path = f"{path}.tlsConfig"
    try:
        if has_authority:
            authority = _bytes(tls.ca_data, tls.ca_file, f"{path}.caFile")
            name = "caData" if tls.ca_data else "caFile"
            _load(lambda: context.load_verify_locations(cadata=authority.decode("ascii")), f"{path}.{name}")
        else:
            context.load_default_certs()
        if (tls.cert_data or tls.cert_file) and (tls.key_data or tls.key_file):
            certificate = _bytes(tls.cert_data, tls.cert_file, f"{path}.certFile")
            key = _bytes(tls.key_data, tls.key_file, f"{path}.keyFile")
            _load(lambda: _load_chain(context, certificate, key), path)
    except ConfigError as error:
        raise ConfigError.together(error.findings).at(where) from None
    return context


def _bytes(data: bytes, file: str, path: str) -> bytes:
    if data:
        return data
    try:
        return file_bytes(file)
    except InputError as error:
        hint = "the certificates of called extenders are read on this machine, not on the scheduler's"
        raise ConfigError(f"{file} {error.findings[0].problem}", path=path, hint=hint) from None


def _load_chain(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    # load_cert_chain reads only files. The temporary folder is accessible to its owner only.
    with TemporaryDirectory() as folder:
        files = Path(folder, "certificate"), Path(folder, "key")
        for file, content in zip(files, (certificate, key), strict=True):
            file.write_bytes(content)
        # An empty password prevents a prompt for encrypted keys.
        context.load_cert_chain(*files, password="")


def _load(load: Callable[[], None], path: str) -> None:
    try:
        load()
    except (OSError, ValueError) as error:
        # ssl.SSLError is a subclass of OSError.
        raise ConfigError(f"has no readable certificate or key: {why_unreadable(error)}", path=path) from None
