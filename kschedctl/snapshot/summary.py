"""What was met while a snapshot was read: what became of each file, and what may be missing because of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple

from kschedctl.api.wording import counted, listed
from kschedctl.cluster.unread_objects import Unread
from kschedctl.findings.shortened import shortened
from kschedctl.snapshot.conform import JsonText
from kschedctl.snapshot.header import SnapshotHeader

#: When something was seen: conditions, leases, managed fields and events. Others may be of long ago, or to come.
_SEEN: Final = re.compile(
    rb'"(?:lastTransitionTime|lastHeartbeatTime|lastProbeTime|lastUpdateTime|renewTime|time|eventTime|lastTimestamp'
    rb'|lastObservedTime)":\s*"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.[0-9]+)?Z"'
)
#: What ``Unread.kind`` says of files: the kinds that are in them are not known.
FILE: Final = "File"


class Passed(NamedTuple):
    """A file or folder that was met and not read.

    Parameters
    ----------
    name : str
        As the user would name it.
    reason : str
        Why it was not read.
    doubtful : bool
        Whether it looks like part of the cluster.
    identity : hashable
        What it is, whatever it is called: read under another name, nothing of it is missing.
    """

    name: str
    reason: str
    doubtful: bool = False
    identity: Hashable = None


@dataclass
class ReadSummary:
    """What was met while reading; complete once the reader is exhausted.

    Parameters
    ----------
    files : Counter
        Files read that held objects, each with the number of those of kinds that scheduling reads.
    passed : list of Passed
        Files of folders and archives that were passed over.
    identities : set
        What was read, whatever it is called.
    n_of_kind : Counter
        Objects of kinds that scheduling reads, by kind.
    left_out : Counter
        Objects of other kinds, by kind and group as kubectl writes them (``Deployment.apps``).
    modified : float or None
        When the newest of the files was written, in seconds since the epoch; unknown for standard input.
    newest : bytes
        The newest time in its objects that tells when something was seen, to the second; empty where there is none.
    git_version : str
        The control plane's version, such as ``v1.36.1``; empty where the snapshot does not tell it.
    scheduler_config : dict or None
        The KubeSchedulerConfiguration in an export of kube-scheduler-simulator.
    header : SnapshotHeader or None
        What a captured snapshot says of itself.
    announced : Counter
        How many objects of each kind the headers of captured snapshots count.
    not_listed : dict of str to str
        Kinds that the user may not list, and what that means for answers.
    looked_for : set of str
        Kinds that are told as a whole: where none is there, the cluster has none of them.
    """

    files: Counter[str] = field(default_factory=Counter)
    passed: list[Passed] = field(default_factory=list)
    identities: set[Hashable] = field(default_factory=set)
    n_of_kind: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    modified: float | None = None
    newest: bytes = b""
    git_version: str = ""
    scheduler_config: dict[str, Any] | None = None
    header: SnapshotHeader | None = None
    announced: Counter[str] = field(default_factory=Counter)
    not_listed: dict[str, str] = field(default_factory=dict)
    looked_for: set[str] = field(default_factory=set)

    @property
    def n_objects(self) -> int:
        """Objects of kinds that scheduling reads."""
        return self.n_of_kind.total()

    @property
    def last_seen(self) -> datetime | None:
        """The newest time in its objects that tells when something was seen."""
        try:
            return datetime.fromisoformat(f"{self.newest.decode()}+00:00") if self.newest else None
        except ValueError:
            return None

    def note_times(self, text: JsonText) -> None:
        """Take note of the times in an object, given as JSON."""
        self.newest = max((self.newest, *_SEEN.findall(text)))

    def note_version(self, value: dict[str, Any]) -> None:
        """Take note of what ``kubectl version`` or ``/version`` of an API server told."""
        server = value.get("serverVersion", value)
        version = server.get("gitVersion") if isinstance(server, dict) else None
        if isinstance(version, str):
            self.git_version = version

    @property
    def not_read(self) -> Counter[str]:
        """How many files were passed over, by reason."""
        return Counter(passed.reason for passed in self.passed)

    def unread(self) -> Iterator[Unread]:
        """What a person would take for part of the cluster and was not read; the answers are incomplete then."""
        for kind, number in self.announced.items():
            if (found := self.n_of_kind[kind]) < number:
                yield Unread(kind, f"its header counts {counted(number, kind)}, and {found} were found")
        by_reason: dict[str, list[str]] = {}
        for passed in self.doubtful():
            by_reason.setdefault(passed.reason, []).append(passed.name)
        for reason, names in by_reason.items():
            verb = "was" if len(names) == 1 else "were"
            yield Unread(FILE, f"{listed(list(map(shortened, names)))} {verb} not read ({reason})")

    def doubtful(self) -> Iterator[Passed]:
        """The files that were passed over and look like part of the cluster."""
        for passed in self.passed:
            if passed.doubtful and (passed.identity is None or passed.identity not in self.identities):
                yield passed
