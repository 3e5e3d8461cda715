"""Kubeconfigs as kubectl reads them, and the choice of a context in them."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import msgspec

from kschedctl.common.errors import InputError
from kschedctl.common.text.characters import utf8_text
from kschedctl.common.text.yaml import yaml_documents
from kschedctl.objects.meta import ApiStruct
from kschedctl.sources.live.limits import MAX_ANSWER, REQUEST_SECONDS
from kschedctl.sources.snapshot.decoding import decode, plain

T = TypeVar("T")


class ClusterEntry(ApiStruct, frozen=True, rename="kebab"):
    """The address of a server, and the settings to verify its identity."""

    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""


class ExecVariable(ApiStruct, frozen=True):
    """A variable of a plugin's environment."""

    name: str = ""
    value: str = ""


class ExecEntry(ApiStruct, frozen=True):
    """A credential plugin: a program that provides credentials."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[ExecVariable, ...] = ()
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class AuthProviderEntry(ApiStruct, frozen=True):
    """An auth provider: a login method that is built into the client."""

    name: str = ""
    config: dict[str, str] = {}


class UserEntry(ApiStruct, frozen=True, rename="kebab"):
    """The credentials of a user, and the user to impersonate."""

    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    auth_provider: AuthProviderEntry | None = None
    exec: ExecEntry | None = None
    # "as" is a keyword.
    as_user: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: tuple[str, ...] = ()
    as_user_extra: dict[str, tuple[str, ...]] = {}


class ContextEntry(ApiStruct, frozen=True):
    """A cluster, a user and a namespace."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(ApiStruct, frozen=True):
    name: str = ""
    cluster: ClusterEntry = ClusterEntry()


class _NamedUser(ApiStruct, frozen=True):
    name: str = ""
    user: UserEntry = UserEntry()


class _NamedContext(ApiStruct, frozen=True):
    name: str = ""
    context: ContextEntry = ContextEntry()


class _Kubeconfig(ApiStruct, frozen=True):
    clusters: tuple[_NamedCluster, ...] = ()
    users: tuple[_NamedUser, ...] = ()
    contexts: tuple[_NamedContext, ...] = ()
    current_context: str = msgspec.field(default="", name="current-context")


@dataclass(frozen=True, slots=True)
class Entry(Generic[T]):
    """A named entry of a kubeconfig, with its position."""

    #: The entry.
    value: T
    #: The file, for error messages and for relative paths in the entry.
    file: str
    #: The path of the field in the file.
    path: str
    #: The entry as plain data, with the fields that have no type.
    plain: Any = None

    def error(self, problem: str, field: str = "", hint: str = "") -> InputError:
        """Return an error about a field of the entry, or about the entry if ``field`` is empty."""
        return InputError(problem, where=self.file, path=f"{self.path}.{field}" if field else self.path, hint=hint)

    def resolved(self, path: str) -> str:
        """Return a path of the entry as an absolute path: paths are relative to the directory of the kubeconfig."""
        return str(Path(self.file).expanduser().absolute().parent / path) if path else ""


@dataclass(frozen=True, slots=True)
class Kubeconfigs:
    """The merged content of kubeconfig files."""

    #: The files, separated as in ``$KUBECONFIG``.
    files: str
    contexts: dict[str, Entry[ContextEntry]]
    clusters: dict[str, Entry[ClusterEntry]]
    users: dict[str, Entry[UserEntry]]
    #: The name of the current context; empty if there is none.
    current: str

    def chosen(self, context: str) -> tuple[str, Entry[ContextEntry]]:
        """Return the name and the entry of a context.

        Args:
            context: The name of the context; empty for the current context.

        Raises InputError if there is no such context.
        """
        if context and context not in self.contexts:
            hint = f"the contexts are {', '.join(self.contexts)}" if self.contexts else "there are no contexts"
            raise InputError(f"there is no context {context}", where=self.files, path="--context", hint=hint)
        name = context or self.current
        if not name:
            hint = "name one with --context, or choose one: kubectl config use-context NAME"
            raise InputError("has no current context", where=self.files, hint=hint)
        if name not in self.contexts:
            problem = f"there is no context {name}"
            raise InputError(problem, where=self.files, path="current-context", hint="name one with --context")
        return name, self.contexts[name]

    def cluster(self, context: Entry[ContextEntry]) -> Entry[ClusterEntry]:
        """Return the cluster of a context.

        Raises InputError if the context names no cluster, or one that does not exist.
        """
        name = context.value.cluster
        if not name:
            raise context.error("is missing", "cluster")
        if name not in self.clusters:
            raise context.error(f"there is no cluster {name}", "cluster")
        return self.clusters[name]

    def user(self, context: Entry[ContextEntry]) -> Entry[UserEntry]:
        """Return the user of a context; a user without credentials if the context names none.

        Raises InputError if the context names a user that does not exist.
        """
        name = context.value.user
        if not name:
            return Entry(UserEntry(), context.file, f"{context.path}.user")
        if name not in self.users:
            raise context.error(f"there is no user {name}", "user")
        return self.users[name]


def read_kubeconfigs(files: str) -> Kubeconfigs:
    """Read and merge kubeconfig files.

    Args:
        files: Existing files, separated as in ``$KUBECONFIG``.

    Raises InputError if a file cannot be read or is not valid; the error names file and field.
    """
    out = Kubeconfigs(files, {}, {}, {}, "")
    current = ""
    for file in files.split(os.pathsep):
        config, data = _read_kubeconfig(file)
        for found in _entries(config.contexts, "contexts", "context", file, data):
            out.contexts.setdefault(*found)
        for cluster in _entries(config.clusters, "clusters", "cluster", file, data):
            out.clusters.setdefault(*cluster)
        for user in _entries(config.users, "users", "user", file, data):
            out.users.setdefault(*user)
        current = current or config.current_context
    return Kubeconfigs(files, out.contexts, out.clusters, out.users, current)


def _read_kubeconfig(file: str) -> tuple[_Kubeconfig, Any]:
    try:
        text = utf8_text(Path(file).expanduser().read_bytes(), file)
        # kubectl reads only the first document.
        _, document = next(yaml_documents(text, file), (0, b"null"))
        data = plain(document)
        if not isinstance(data, dict):
            raise InputError("it is empty or not an object")
        return decode(document, _Kubeconfig), data
    except OSError as error:
        raise InputError(f"is not a usable kubeconfig: {error.strerror or error}", where=file) from None
    except InputError as error:
        finding = error.findings[0]
        if finding.field:
            raise error.at(file) from None
        problem = f"is not a usable kubeconfig: {finding.problem}"
        raise InputError(problem, where=file, hint=finding.hint, position=finding.position) from None


def _entries(named: Sequence[Any], plural: str, single: str, file: str, data: Any) -> Iterator[tuple[str, Entry[Any]]]:
    """Yield the names and entries of a list in a kubeconfig file.

    Raises InputError if a name occurs twice in the list.
    """
    names: set[str] = set()
    for i, item in enumerate(named):
        if item.name in names:
            raise InputError(f"{item.name} occurs twice", where=file, path=f"{plural}[{i}].name")
        names.add(item.name)
        of_item = data[plural][i] or {}
        yield item.name, Entry(getattr(item, single), file, f"{plural}[{i}].{single}", of_item.get(single))


# The choice of a cluster: kubectl's rules for kubeconfigs and contexts, and the namespace of a context.
#
# The official client does not distinguish a missing file from a file without contexts
# (tests/live/test_context.py::test_what_cannot_be_used), and does not determine the namespace of the pod that it runs
# in
# (tests/live/test_kubeconfig.py::test_namespace_in_a_pod).

DEFAULT_FILE: Final = "~/.kube/config"
#: The directory with the credentials of a pod's service account.
SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


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
    as_user : str
        The user to impersonate; empty for the one in the kubeconfig, if it has one.
    as_groups : tuple of str
        The groups to impersonate, with `as_user`.
    """

    context: str = ""
    kubeconfig: str = ""
    page_size: int = 500
    request_seconds: float = REQUEST_SECONDS
    max_answer: int = MAX_ANSWER
    show_progress: Callable[[str], None] = lambda _: None
    snapshot_would_do: bool = True
    namespace: str = ""
    as_user: str = ""
    as_groups: tuple[str, ...] = ()

    def impersonating(self, user: UserEntry) -> UserEntry:
        """Return the user of a context with the impersonation of the command line in place of the user's own."""
        if not self.as_user:
            return user
        return msgspec.structs.replace(
            user, as_user=self.as_user, as_groups=self.as_groups, as_uid="", as_user_extra={}
        )


def kubeconfig_files(given: str) -> str:
    """Return the existing kubeconfig files, separated as in ``$KUBECONFIG``; empty if there are none.

    Args:
        given: The file that the user names; empty for none.

    Raises InputError if no file that the user names, with the option or in ``$KUBECONFIG``, exists.
    """
    if given:
        if not _is_file(given):
            raise InputError("there is no such file", where=given, path="--kubeconfig")
        return given
    listed = os.environ.get("KUBECONFIG", "")
    found = os.pathsep.join(path for path in (listed or DEFAULT_FILE).split(os.pathsep) if path and _is_file(path))
    if listed and not found:
        raise InputError("there is no such file", where=listed, path="$KUBECONFIG")
    return found


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
    # Only a process in a pod has the credentials of a service account.
    address = os.environ.get("KUBERNETES_SERVICE_HOST") and os.environ.get("KUBERNETES_SERVICE_PORT")
    if not address or not (SERVICE_ACCOUNT / "token").is_file():
        return ""
    try:
        return os.environ.get("POD_NAMESPACE", "") or (SERVICE_ACCOUNT / "namespace").read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""
