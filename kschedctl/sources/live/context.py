"""The choice of a cluster: kubectl's rules for kubeconfigs and contexts, and the namespace of a context.

The official client does not distinguish a missing file from a file without contexts
(tests/live/test_context.py::test_what_cannot_be_used), and does not determine the namespace of the pod that it runs in
(tests/live/test_kubeconfig.py::test_namespace_in_a_pod).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kschedctl.common.errors import InputError
from kschedctl.sources.live.kubeconfig import read_kubeconfigs
from kschedctl.sources.live.limits import MAX_ANSWER, REQUEST_SECONDS

DEFAULT_FILE: Final = "~/.kube/config"
#: The directory with the credentials of a pod's service account.
SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def _no_progress(text: str) -> None:
    """Ignore a progress line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveContext:
    """A running cluster, and the parameters for reading it.

    Attributes
    ----------
    context : str
        The context in the kubeconfig; empty for the current context.
    kubeconfig : str
        The kubeconfig; empty for ``$KUBECONFIG`` (several files are merged), else ``~/.kube/config``, else the service
        account of the pod that this process runs in.
    page_size : int
        The number of objects per page of a list request.
    request_seconds : float
        The timeout of a request, in seconds; 0 for no timeout. The whole reading may take ten times as long.
    max_answer : int
        The maximum size of a response, in bytes.
    show_progress : callable
        Called with a line that replaces the previous one; with an empty line at the end.
    snapshot_would_do : bool
        True if the command also accepts a snapshot, which errors about a missing cluster then suggest.
    namespace : str
        The namespace in which a kind is listed that the user is not allowed to list in all namespaces; empty for that
        of the context.
    """

    context: str = ""
    kubeconfig: str = ""
    page_size: int = 500
    request_seconds: float = REQUEST_SECONDS
    max_answer: int = MAX_ANSWER
    show_progress: Callable[[str], None] = _no_progress
    snapshot_would_do: bool = True
    namespace: str = ""


def kubeconfig_files(given: str) -> str:
    """Return the existing kubeconfig files, separated as in ``$KUBECONFIG``; empty if there are none.

    Parameters
    ----------
    given : str
        The file that the user names; empty for none.

    Raises
    ------
    InputError
        If the file that the user names does not exist.
    """
    if given:
        if not _is_file(given):
            raise InputError("there is no such file", where=given, path="--kubeconfig")
        return given
    listed = os.environ.get("KUBECONFIG", "") or DEFAULT_FILE
    return os.pathsep.join(path for path in listed.split(os.pathsep) if path and _is_file(path))


def _is_file(path: str) -> bool:
    try:
        return Path(path).expanduser().is_file()
    except (RuntimeError, ValueError, OSError):
        # The user has no home directory, or the path is not valid.
        return False


def context_namespace(live: LiveContext) -> str:
    """Return the default namespace of a context, as kubectl determines it; empty if there is none.

    In a pod without a kubeconfig, the default namespace is the pod's own. An unusable kubeconfig gives an empty
    namespace here; the error is reported when the kubeconfig is loaded.
    """
    try:
        files = kubeconfig_files(live.kubeconfig)
        if files:
            return read_kubeconfigs(files).chosen(live.context)[1].value.namespace
    except InputError:
        return ""
    return _pod_namespace()


def in_cluster() -> bool:
    """Report whether this process runs in a pod with the credentials of a service account."""
    address = os.environ.get("KUBERNETES_SERVICE_HOST") and os.environ.get("KUBERNETES_SERVICE_PORT")
    return bool(address) and (SERVICE_ACCOUNT / "token").is_file()


def _pod_namespace() -> str:
    if not in_cluster():
        return ""
    try:
        return os.environ.get("POD_NAMESPACE", "") or (SERVICE_ACCOUNT / "namespace").read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""
