"""The header of a captured snapshot: its metadata, in a file of its own."""

from typing import Final

import msgspec

from kschedctl.objects.meta import Time

#: The file's name, and the field that distinguishes the header from other documents.
HEADER_FILE: Final = "snapshot.json"
HEADER_FIELD: Final = "kschedctlVersion"


class ServerVersion(msgspec.Struct, frozen=True, rename="camel"):
    """The control plane's version, as in ``kubectl version -o json``."""

    git_version: str = ""


class SnapshotHeader(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The metadata of a captured snapshot."""

    #: The version of kschedctl that wrote it.
    kschedctl_version: str
    #: The time of the cluster state.
    captured_at: Time | None = None
    #: The control plane's version.
    server_version: ServerVersion = ServerVersion()
    #: The kubectl context it was taken from; empty if it was taken from files or is anonymised.
    context: str = ""
    #: True if names are replaced by pseudonyms.
    anonymized: bool = False
    #: The number of objects of each kind that was queried.
    kinds: dict[str, int] = {}
    #: Kinds that the user was not allowed to list in all namespaces, each with a sentence that says so.
    not_listed: dict[str, str] = {}
    #: The kinds among them that were listed in one namespace, with the name of the namespace.
    listed_in: dict[str, str] = {}
