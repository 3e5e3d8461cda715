"""Which cluster is meant: kubectl's rules for contexts, and what the official client makes of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kschedctl.errors import ClusterError, InputError
from kschedctl.live.limits import MAX_ANSWER, REQUEST_SECONDS

IN_CLUSTER: Final = "in-cluster"
_DEFAULT_FILE: Final = "~/.kube/config"
_GIVE_SNAPSHOT: Final = "give --snapshot with a file, a folder or an archive, or set KSCHEDCTL_SNAPSHOT"


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
    """

    context: str = ""
    kubeconfig: str = ""
    page_size: int = 500
    request_seconds: float = REQUEST_SECONDS
    max_answer: int = MAX_ANSWER
    show_progress: Callable[[str], None] = _no_progress


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """What the official client knows of a context.

    Attributes
    ----------
    name : str
        The name of the context.
    configuration : kubernetes.client.Configuration
        Server, certificates and credentials.
    """

    name: str
    configuration: Any

    def headers(self) -> list[tuple[str, str]]:
        """What a request is sent with to say who asks; renews a token that has expired."""
        found: dict[str, Any] = self.configuration.auth_settings()
        return [(setting["key"], setting["value"]) for setting in found.values() if setting["in"] == "header"]

    def pool(self) -> Any:
        """The connections to the server, a ``urllib3.PoolManager``."""
        from kubernetes.client import ApiClient

        return ApiClient(self.configuration).rest_client.pool_manager


def client_settings(live: LiveContext) -> ClientSettings:
    """Find out which server is meant and how to log in, exec and OIDC plugins included.

    Raises
    ------
    InputError
        Where the client is not installed, or the kubeconfig or the context is not there or wrong.
    ClusterError
        Where no cluster is configured at all.
    """
    try:
        from kubernetes.client import Configuration
        from kubernetes.config import ConfigException, load_incluster_config
    except ImportError:
        raise InputError(
            "no snapshot of the cluster is given, and asking a running one needs the Kubernetes client",
            hint=f"{_GIVE_SNAPSHOT}, or install the client: pip install 'kschedctl[live]'",
        ) from None
    configuration = Configuration()
    files = _kubeconfig_files(live.kubeconfig)
    if files:
        return ClientSettings(_load_kubeconfig(files, live.context, configuration), configuration)
    if live.context:
        raise InputError(f"there is no kubeconfig that could have a context {live.context}", path="--context")
    try:
        load_incluster_config(client_configuration=configuration)
    except ConfigException:
        raise ClusterError(
            f"no cluster is configured: there is neither $KUBECONFIG nor {_DEFAULT_FILE}",
            hint=f"{_GIVE_SNAPSHOT}, or name a kubeconfig with --kubeconfig",
        ) from None
    return ClientSettings(IN_CLUSTER, configuration)


def context_namespace(live: LiveContext) -> str:
    """The namespace that a context names for what names none, as kubectl reads it; empty where there is none.

    A kubeconfig that cannot be used is told of where it is loaded.
    """
    from yaml import YAMLError

    try:
        files = _kubeconfig_files(live.kubeconfig)
        namespaces, current = _contexts(files) if files else ({}, "")
    except (InputError, YAMLError, OSError, UnicodeDecodeError):
        return ""
    return namespaces.get(live.context or current, "")


def _kubeconfig_files(given: str) -> str:
    """The kubeconfigs that are there, separated as in ``$KUBECONFIG``; empty where there are none."""
    if given:
        if not Path(given).expanduser().is_file():
            raise InputError("there is no such file", where=given, path="--kubeconfig")
        return given
    listed = os.environ.get("KUBECONFIG", "") or _DEFAULT_FILE
    return os.pathsep.join(path for path in listed.split(os.pathsep) if path and Path(path).expanduser().is_file())


def _load_kubeconfig(files: str, context: str, configuration: Any) -> str:
    """Fill in the configuration; returns the name of the context."""
    from kubernetes.config import ConfigException, load_kube_config
    from yaml import YAMLError

    try:
        names, current = _contexts(files)
        if context and context not in names:
            hint = f"there is {', '.join(names)}" if names else "there are no contexts"
            raise InputError(f"there is no context {context}", where=files, path="--context", hint=hint)
        name = context or current
        if not name:
            hint = "name one with --context, or choose one: kubectl config use-context NAME"
            raise InputError("has no current context", where=files, hint=hint)
        load_kube_config(config_file=files, context=name, client_configuration=configuration, persist_config=False)
    except (ConfigException, YAMLError, OSError, UnicodeDecodeError) as error:
        raise InputError(f"is not a kubeconfig that can be used: {error}", where=files) from None
    return name


def _contexts(files: str) -> tuple[dict[str, str], str]:
    """The namespaces of all contexts by name, and the current one.

    Of several files the first that names a context, or a current one, counts, as for kubectl; the client takes the
    last.
    """
    import yaml

    namespaces: dict[str, str] = {}
    current = ""
    for path in files.split(os.pathsep):
        config = yaml.safe_load(Path(path).expanduser().read_bytes())
        if not isinstance(config, dict):
            raise InputError("is not a kubeconfig that can be used: it is empty or no object", where=path)
        contexts = config.get("contexts")
        for found in contexts if isinstance(contexts, list) else ():
            if isinstance(found, dict) and isinstance(found.get("name"), str):
                settings = found.get("context")
                namespace = settings.get("namespace") if isinstance(settings, dict) else None
                namespaces.setdefault(found["name"], namespace if isinstance(namespace, str) else "")
        current = current or str(config.get("current-context") or "")
    return namespaces, current
