"""The row of a case in the table."""

from __future__ import annotations

from typing import Any

import msgspec


class Row(msgspec.Struct, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    """What came of a case.

    Attributes
    ----------
    case : int
        Its number.
    axes : dict of str to plain data
        Its values, by the axes' names.
    values : dict of str to number or None
        What was measured, by column; empty where it failed.
    error : str
        Why it failed.
    doubts : tuple of str
        What says that the cluster's own scheduler may answer otherwise.
    warnings : tuple of str
        What to be careful about besides: manifests and configurations that are taken otherwise than one may think.
    """

    case: int
    axes: dict[str, Any]
    values: dict[str, int | float | None] = {}
    error: str = ""
    doubts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
