"""Which cluster is meant: kubectl's rules for contexts, and the namespace that one names.

The official client tells no file that is not there from one without contexts
(tests/live/test_context.py::test_what_cannot_be_used), and does not know the namespace of a pod
(tests/live/test_kubeconfig.py::test_namespace_in_a_pod).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kschedctl.errors import InputError
from kschedctl.live.kubeconfig import read_kubeconfigs
from kschedctl.live.limits import MAX_ANSWER, REQUEST_SECONDS

DEFAULT_FILE: Final = "~/.kube/config"
#: What a pod finds of its service account.
SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def _no_progress(text: str) -> None:
    """Show nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveContext:
    """A cluster to ask, and how.

    Attributes
    ----------
    context : str
        The kubeconfig's context; empty for its current one.
    kubeconfig : str
        The kubeconfig; empty for ``$KUBECONFIG`` (several files are merged), else ``~/.kube/config``, else the service
        account of the pod that this runs in.
    page_size : int
        How many objects are asked for at a time.
    request_seconds : float
        How long a request may take; 0 for as long as it likes. The whole reading may take ten times as long.
    max_answer : int
        How many bytes an answer may have.
    show_progress : callable
        Is given a line to show instead of the last one; an empty one at the end.
    snapshot_would_do : bool
        Whether a snapshot could be given instead, which is suggested where there is no cluster.
    """

    context: str = ""
    kubeconfig: str = ""
    page_size: int = 500
    request_seconds: float = REQUEST_SECONDS
    max_answer: int = MAX_ANSWER
    show_progress: Callable[[str], None] = _no_progress
    snapshot_would_do: bool = True


def kubeconfig_files(given: str) -> str:
    """The kubeconfigs that are there, separated as in ``$KUBECONFIG``; empty where there are none.

    Parameters
    ----------
    given : str
        The one that the user names; empty for none.

    Raises
    ------
    InputError
        Where that is not there.
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
        # A user without a home, or a name that no file can have.
        return False


def context_namespace(live: LiveContext) -> str:
    """The namespace that a context names for what names none, as kubectl reads it; empty where there is none.

    In a pod without a kubeconfig it is the pod's own. A kubeconfig that cannot be used is told of where it is loaded.
    """
    try:
        files = kubeconfig_files(live.kubeconfig)
        if files:
            return read_kubeconfigs(files).chosen(live.context)[1].value.namespace
    except InputError:
        return ""
    return _pod_namespace()


def in_cluster() -> bool:
    """Whether this runs in a pod whose service account can ask the cluster."""
    address = os.environ.get("KUBERNETES_SERVICE_HOST") and os.environ.get("KUBERNETES_SERVICE_PORT")
    return bool(address) and (SERVICE_ACCOUNT / "token").is_file()


def _pod_namespace() -> str:
    if not in_cluster():
        return ""
    try:
        return os.environ.get("POD_NAMESPACE", "") or (SERVICE_ACCOUNT / "namespace").read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""
