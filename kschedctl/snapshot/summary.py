"""What was met while a snapshot was read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from kschedctl.snapshot.header import SnapshotHeader


@dataclass
class ReadSummary:
    """What was met while reading; complete once the reader is exhausted.

    Parameters
    ----------
    files : list of str
        Files read that held objects.
    not_read : Counter
        Files of folders and archives that were passed over, by reason.
    n_objects : int
        Objects of kinds that scheduling reads.
    left_out : Counter
        Objects of other kinds, by kind and group as kubectl writes them (``Deployment.apps``).
    modified : float or None
        When the newest of the files was written, in seconds since the epoch; unknown for standard input.
    git_version : str
        The control plane's version, such as ``v1.36.1``; empty where the snapshot does not tell it.
    scheduler_config : dict or None
        The KubeSchedulerConfiguration in an export of kube-scheduler-simulator.
    header : SnapshotHeader or None
        What a captured snapshot says of itself.
    not_listed : dict of str to str
        Kinds that the user may not list, and what that means for answers.
    """

    files: list[str] = field(default_factory=list)
    not_read: Counter[str] = field(default_factory=Counter)
    n_objects: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    modified: float | None = None
    git_version: str = ""
    scheduler_config: dict[str, Any] | None = None
    header: SnapshotHeader | None = None
    not_listed: dict[str, str] = field(default_factory=dict)
