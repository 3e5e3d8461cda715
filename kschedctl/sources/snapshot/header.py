"""The header of a captured snapshot: its metadata, in a file of its own."""

from __future__ import annotations

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
    """The metadata of a captured snapshot.

    Attributes
    ----------
    kschedctl_version : str
        The version of kschedctl that wrote it.
    captured_at : datetime
        The time of the cluster state.
    server_version : ServerVersion
        The control plane's version.
    context : str
        The kubectl context it was taken from; empty if it was taken from files or is anonymised.
    anonymized : bool
        True if names are replaced by pseudonyms.
    kinds : dict of str to int
        The number of objects of each kind that was queried.
    not_listed : dict of str to str
        Kinds that the user was not allowed to list in all namespaces, each with a sentence that says so.
    listed_in : dict of str to str
        The kinds among them that were listed in one namespace, with the name of the namespace.
    """

    kschedctl_version: str
    captured_at: Time | None = None
    server_version: ServerVersion = ServerVersion()
    context: str = ""
    anonymized: bool = False
    kinds: dict[str, int] = {}
    not_listed: dict[str, str] = {}
    listed_in: dict[str, str] = {}
