"""The row of a case in the table."""

from __future__ import annotations

from typing import Any

import msgspec


class Row(msgspec.Struct, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    """The result of a case.

    Attributes
    ----------
    case : int
        The number of the case.
    axes : dict of str to plain data
        The values of the axes, by name.
    values : dict of str to number or None
        The measured numbers, by column; empty if the case failed.
    error : str
        The error; empty if the case succeeded.
    doubts : tuple of str
        The reasons why the cluster's own scheduler may decide differently.
    warnings : tuple of str
        The other warnings, about manifests and configurations that may not have the intended effect.
    """

    case: int
    axes: dict[str, Any]
    values: dict[str, int | float | None] = {}
    error: str = ""
    doubts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
