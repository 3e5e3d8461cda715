"""The paths of the snapshot that the options or the environment name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

SNAPSHOT_VARIABLE: Final = "KSCHEDCTL_SNAPSHOT"


def snapshot_paths(given: Sequence[str] | None, *, live: bool) -> tuple[str, ...]:
    """Return the paths of the snapshot; empty if a running cluster is meant.

    Parameters
    ----------
    given : sequence of str or None
        The values of ``--snapshot``.
    live : bool
        True if other options name a running cluster: the environment does not count then.
    """
    if given or live:
        return tuple(given or ())
    return tuple(path for path in os.environ.get(SNAPSHOT_VARIABLE, "").split(os.pathsep) if path)
