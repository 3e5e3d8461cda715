"""Kubeconfigs as kubectl reads them: several files are one, and the first that names something counts.

Every field that is used has a type here, so that a wrong one is told with its file and place before anything is done
with it. The official client names neither (tests/live/test_kubeconfig.py::test_text_that_is_no_kubeconfig), and of
several current contexts takes the last (tests/live/test_context.py::test_several_files_are_merged).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from kschedctl.api.meta import ApiStruct
from kschedctl.errors import InputError
from kschedctl.snapshot.conform import decode, plain
from kschedctl.text.encoding import utf8_text
from kschedctl.text.yaml import yaml_documents

T = TypeVar("T")


class ClusterEntry(ApiStruct, frozen=True, rename="kebab"):
    """A server, and how it is recognised."""

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
    """A program that logs in."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[ExecVariable, ...] = ()
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class AuthProviderEntry(ApiStruct, frozen=True):
    """A way to log in that is built into the client."""

    name: str = ""
    config: dict[str, str] = {}


class UserEntry(ApiStruct, frozen=True, rename="kebab"):
    """How to log in, and who to be then."""

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
    """What a kubeconfig says of a name, and where.

    Attributes
    ----------
    value : ContextEntry, ClusterEntry or UserEntry
        What it says.
    file : str
        Which file, for errors and for the paths in it.
    path : str
        The field.
    plain : JSON value
        The same as data, with what has no type here.
    """

    value: T
    file: str
    path: str
    plain: Any = None

    def error(self, problem: str, field: str = "", hint: str = "") -> InputError:
        """The error of something that is wrong in a field of it."""
        return InputError(problem, where=self.file, path=f"{self.path}.{field}" if field else self.path, hint=hint)

    def resolved(self, path: str) -> str:
        """A path of the file, which is meant from where the file is."""
        return str(Path(self.file).expanduser().absolute().parent / path) if path else ""


@dataclass(frozen=True, slots=True)
class Kubeconfigs:
    """All that some kubeconfigs say.

    Attributes
    ----------
    files : str
        The files, as ``$KUBECONFIG`` names them.
    contexts, clusters, users : dict of str to Entry
        By name.
    current : str
        The current context; empty where there is none.
    """

    files: str
    contexts: dict[str, Entry[ContextEntry]]
    clusters: dict[str, Entry[ClusterEntry]]
    users: dict[str, Entry[UserEntry]]
    current: str

    def chosen(self, context: str) -> tuple[str, Entry[ContextEntry]]:
        """The context that is meant, and its name.

        Parameters
        ----------
        context : str
            Its name; empty for the current one.

        Raises
        ------
        InputError
            Where there is none.
        """
        if context and context not in self.contexts:
            hint = f"there is {', '.join(self.contexts)}" if self.contexts else "there are no contexts"
            raise InputError(f"there is no context {context}", where=self.files, path="--context", hint=hint)
        name = context or self.current
        if not name:
            hint = "name one with --context, or choose one: kubectl config use-context NAME"
            raise InputError("has no current context", where=self.files, hint=hint)
        if name not in self.contexts:
            problem = f"names {name}, and there is no such context"
            raise InputError(problem, where=self.files, path="current-context", hint="name one with --context")
        return name, self.contexts[name]

    def cluster(self, context: Entry[ContextEntry]) -> Entry[ClusterEntry]:
        """The cluster of a context.

        Raises
        ------
        InputError
            Where it names none, or none that there is.
        """
        name = context.value.cluster
        if not name:
            raise context.error("names no cluster", "cluster")
        if name not in self.clusters:
            raise context.error(f"names {name}, and there is no such cluster", "cluster")
        return self.clusters[name]

    def user(self, context: Entry[ContextEntry]) -> Entry[UserEntry]:
        """The user of a context; one without any rights of its own where it names none.

        Raises
        ------
        InputError
            Where it names one that there is not.
        """
        name = context.value.user
        if not name:
            return Entry(UserEntry(), context.file, f"{context.path}.user")
        if name not in self.users:
            raise context.error(f"names {name}, and there is no such user", "user")
        return self.users[name]


def read_kubeconfigs(files: str) -> Kubeconfigs:
    """Read kubeconfigs.

    Parameters
    ----------
    files : str
        Files that are there, separated as in ``$KUBECONFIG``.

    Raises
    ------
    InputError
        Where one cannot be read; with file and field.
    """
    out = Kubeconfigs(files, {}, {}, {}, "")
    current = ""
    for file in files.split(os.pathsep):
        config, data = _read(file)
        for found in _entries(config.contexts, "contexts", "context", file, data):
            out.contexts.setdefault(*found)
        for cluster in _entries(config.clusters, "clusters", "cluster", file, data):
            out.clusters.setdefault(*cluster)
        for user in _entries(config.users, "users", "user", file, data):
            out.users.setdefault(*user)
        current = current or config.current_context
    return Kubeconfigs(files, out.contexts, out.clusters, out.users, current)


def _read(file: str) -> tuple[_Kubeconfig, Any]:
    try:
        text = utf8_text(Path(file).expanduser().read_bytes(), file)
        # kubectl reads the first document and no more.
        _, document = next(yaml_documents(text, file), (0, b"null"))
        data = plain(document)
        if not isinstance(data, dict):
            raise InputError("it is empty or no object")
        return decode(document, _Kubeconfig), data
    except OSError as error:
        raise InputError(f"is not a kubeconfig that can be used: {error.strerror or error}", where=file) from None
    except InputError as error:
        raise _unusable(error, file) from None


def _unusable(error: InputError, file: str) -> InputError:
    """The error of a file as that of a kubeconfig."""
    finding = error.findings[0]
    if finding.field:
        return error.at(file)
    problem = f"is not a kubeconfig that can be used: {finding.problem}"
    return InputError(problem, where=file, hint=finding.hint, position=finding.position)


def _entries(named: Sequence[Any], plural: str, single: str, file: str, data: Any) -> Iterator[tuple[str, Entry[Any]]]:
    """What is under the names of a list of a file.

    Raises
    ------
    InputError
        Where a name is there twice.
    """
    names: set[str] = set()
    for i, item in enumerate(named):
        if item.name in names:
            raise InputError(f"{item.name} is there twice", where=file, path=f"{plural}[{i}].name")
        names.add(item.name)
        of_item = data[plural][i] or {}
        yield item.name, Entry(getattr(item, single), file, f"{plural}[{i}].{single}", of_item.get(single))
