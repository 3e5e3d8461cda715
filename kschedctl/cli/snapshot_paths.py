"""The paths of the snapshot that options or the environment select."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

SNAPSHOT_VARIABLE: Final = "KSCHEDCTL_SNAPSHOT"
CLUSTER_VARIABLE: Final = "KSCHEDCTL_CLUSTER"
STDIN: Final = "-"
CACHE_VARIABLE: Final = "KSCHEDCTL_CACHE"


def chosen_cluster(given: str, snapshot: Sequence[str] | None) -> str:
    """Return the cluster of a snapshot that holds several; empty if none is chosen.

    Parameters
    ----------
    given : str
        The value of ``--cluster``.
    snapshot : sequence of str or None
        The values of ``--snapshot``: the environment variable is about the snapshot of the environment.
    """
    return given or ("" if snapshot else os.environ.get(CLUSTER_VARIABLE, ""))


def snapshot_paths(given: Sequence[str] | None, *, live: bool) -> tuple[str, ...]:
    """Return the paths of the snapshot; empty for a running cluster.

    Parameters
    ----------
    given : sequence of str or None
        The values of ``--snapshot``.
    live : bool
        True if other options select a running cluster: the environment variable is then ignored.
    """
    if given or live:
        return tuple(given or ())
    return tuple(path for path in os.environ.get(SNAPSHOT_VARIABLE, "").split(os.pathsep) if path)
