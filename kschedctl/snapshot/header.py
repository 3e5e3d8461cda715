"""What a captured snapshot says of itself, in a file beside those of its objects."""

from __future__ import annotations

from typing import Final

import msgspec

from kschedctl.api.meta import Time

#: The file's name, and the field by which it is told from other documents.
HEADER_FILE: Final = "snapshot.json"
HEADER_FIELD: Final = "kschedctlVersion"


class ServerVersion(msgspec.Struct, frozen=True, rename="camel"):
    """The control plane's version, as ``kubectl version -o json`` has it."""

    git_version: str = ""


class SnapshotHeader(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What a captured snapshot says of itself.

    Attributes
    ----------
    kschedctl_version : str
        The program that wrote it.
    captured_at : datetime
        The state of which moment it holds.
    server_version : ServerVersion
        The control plane's version.
    context : str
        The kubectl context it was taken from; empty where it was taken from files, or is anonymised.
    anonymized : bool
        Whether names are replaced by pseudonyms.
    kinds : dict of str to int
        How many objects there are of each kind that was looked for.
    not_listed : dict of str to str
        Kinds that could not be listed, and what that means for answers.
    """

    kschedctl_version: str
    captured_at: Time | None = None
    server_version: ServerVersion = ServerVersion()
    context: str = ""
    anonymized: bool = False
    kinds: dict[str, int] = {}
    not_listed: dict[str, str] = {}
