"""Credential plugins: programs that a kubeconfig names, run as by client-go (``client.authentication.k8s.io``).

The official client differs: it waits for a plugin without a timeout
(tests/live/test_kubeconfig.py::test_plugin_that_hangs_is_given_up), always lets it read standard input, and passes
other cluster information (tests/live/test_kubeconfig.py::test_plugin_is_told_what_it_needs).
"""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from kschedctl.common.errors import ClusterError, InputError
from kschedctl.objects.meta import ApiStruct, Time
from kschedctl.sources.live.certificates import as_data
from kschedctl.sources.live.kubeconfig import ClusterEntry, Entry, ExecEntry, UserEntry
from kschedctl.sources.snapshot.decoding import decode

_VERSIONS: Final = tuple(f"client.authentication.k8s.io/{version}" for version in ("v1", "v1beta1"))
_EXTENSION: Final = "client.authentication.k8s.io/exec"
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

    Parameters
    ----------
    user : Entry
        The user, whose entry must have a plugin.
    cluster : Entry
        The cluster to log in to.
    seconds : float or None
        The timeout, in seconds; ``None`` for no timeout.

    Raises
    ------
    InputError
        If the plugin's entry in the kubeconfig is not valid.
    ClusterError
        If the plugin fails, exceeds the timeout or returns no credentials.
    """
    plugin = user.value.exec
    assert plugin is not None
    interactive = _interactive(user, plugin)
    environment = {**os.environ, **{variable.name: variable.value for variable in plugin.env}}
    environment["KUBERNETES_EXEC_INFO"] = msgspec.json.encode(_request(plugin, cluster, interactive)).decode()
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
    return _credentials(done.stdout, plugin, name)


def _interactive(user: Entry[UserEntry], plugin: ExecEntry) -> bool:
    """Validate the plugin's entry and report whether the plugin is allowed to prompt the user.

    Raises
    ------
    InputError
        If the entry is not valid.
    ClusterError
        If the plugin requires a terminal and there is none.
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


def _request(plugin: ExecEntry, cluster: Entry[ClusterEntry], interactive: bool) -> dict[str, Any]:
    """Return the ExecCredential object that is passed to the plugin."""
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
            if isinstance(extension, dict) and extension.get("name") == _EXTENSION:
                spec["cluster"]["config"] = extension.get("extension")
    return {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}


def _credentials(text: bytes, plugin: ExecEntry, name: str) -> ExecStatus:
    try:
        found = decode(text, _ExecCredential)
    except InputError as error:
        raise ClusterError(f"{name} did not print an ExecCredential: {error}") from None
    status = found.status
    if found.kind != "ExecCredential" or found.api_version != plugin.api_version:
        raise ClusterError(f"{name} did not print an ExecCredential of {plugin.api_version}")
    if not status.token and not (status.client_certificate_data and status.client_key_data):
        raise ClusterError(f"{name} returned neither a token nor a certificate with its key")
    return status
