"""The summary of reading a snapshot: the outcome for each file, and the possible gaps in the data."""

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, NamedTuple

from kschedctl.cluster.unread_objects import FILE, Unread
from kschedctl.common.findings import shortened
from kschedctl.common.text.patterns import pattern
from kschedctl.common.wording import counted, listed
from kschedctl.sources.snapshot.decoding import JsonText
from kschedctl.sources.snapshot.header import SnapshotHeader
from kschedctl.sources.snapshot.names import MARKDOWN

# File name rules for folders and archives: the files that are read, and the reasons for skipping others.


#: Fields with times of the past. A deletionTimestamp, or the startTime of a maintenance window, may be still to come.
_PAST: Final = pattern(
    rb'"(?:creationTimestamp|allocationTimestamp|renewTime|time|eventTime|lastTimestamp|last[A-Z][A-Za-z]*Time)"'
    rb':\s*"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.[0-9]+)?Z"'
)
#: The field of an Event with its last time, as API servers write it, and the length of a time to the second.
_LAST_TIMESTAMP: Final = b'"lastTimestamp":'
_SECONDS: Final = len("2026-11-20T10:00:00")
#: A time in any text, to the second, with its date before it.
_TIME: Final = pattern(rb"T(?=[0-9]{2}:[0-9]{2}:[0-9]{2})(?<=[0-9]{4}-[0-9]{2}-[0-9]{2}T)")


class SkippedFile(NamedTuple):
    """A file or folder that was found and skipped.

    Args:
        name: The name as the user would write it.
        doubtful: True if it looks like part of the cluster.
        identity: Its identity, independent of its name: if it was read under another name, nothing is missing.
    """

    name: str
    reason: str
    doubtful: bool = False
    identity: Hashable = None


def server_version(value: dict[str, Any]) -> str:
    """Return the version of an API server as kubectl, the server itself or a support bundle writes it, or nothing.

    >>> server_version({"serverVersion": {"gitVersion": "v1.36.1"}}), server_version({"info": {"title": "an API"}})
    ('v1.36.1', '')
    """
    server = value.get("serverVersion", value.get("info", value))
    version = server.get("gitVersion") if isinstance(server, dict) else None
    return version if isinstance(version, str) else ""


@dataclass
class ReadSummary:
    """The summary of a reading; complete once the reader is exhausted.

    Args:
        files: The files with objects, each with its number of objects of kinds that scheduling depends on.
        passed: Files of folders and archives that were skipped.
        identities: The identities of everything that was read, independent of names.
        n_of_kind: The number of objects of kinds that scheduling depends on, by kind.
        left_out: The number of objects of other kinds, by kind and group as kubectl writes them
            (``Deployment.apps``).
        layouts: The layout of each file whose documents have no kind, such as ``kubectl version -o json``.
        captured_at: The time at which the state was captured: now for a running cluster, else as the header records
            it.
        newest: The newest past time in the objects, to the second; empty if there is none.
        git_version: The control plane's version, such as ``v1.36.1``; empty if the snapshot does not contain it.
        scheduler_config: The KubeSchedulerConfiguration in an export of kube-scheduler-simulator.
        announced: The number of objects of each kind according to the headers of captured snapshots.
        listed: Kinds of which the input has every object, each with the only namespace that was listed, empty for
            all. If it has no object of such a kind, the cluster has none.
        not_listed: Kinds that the user is not allowed to list in all namespaces.
    """

    files: Counter[str] = field(default_factory=Counter)
    passed: list[SkippedFile] = field(default_factory=list)
    identities: set[Hashable] = field(default_factory=set)
    n_of_kind: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    left_out_of: dict[str, Counter[str]] = field(default_factory=dict)
    layouts: dict[str, str] = field(default_factory=dict)
    captured_at: datetime | None = None
    newest: bytes = b""
    git_version: str = ""
    scheduler_config: dict[str, Any] | None = None
    header: SnapshotHeader | None = None
    announced: Counter[str] = field(default_factory=Counter)
    listed: dict[str, str] = field(default_factory=dict)
    not_listed: set[str] = field(default_factory=set)
    #: The first object of each kind, as a sentence, that is evidence only and has other fields than those known.
    ignored: dict[str, str] = field(default_factory=dict)

    @property
    def is_of_objects(self) -> bool:
        """True if nothing was read but objects and files without any, whose numbers ``extend`` can add."""
        rest = replace(
            self,
            files=Counter(),
            passed=[],
            identities=set(),
            n_of_kind=Counter(),
            left_out=Counter(),
            left_out_of={},
            layouts={},
            newest=b"",
            listed={},
        )
        return rest == ReadSummary()

    def extend(self, part: "ReadSummary") -> None:
        """Add the summary of a part of the input that follows and ``is_of_objects``."""
        self.files.update(part.files)
        self.passed += part.passed
        self.identities |= part.identities
        self.n_of_kind.update(part.n_of_kind)
        self.left_out.update(part.left_out)
        self.left_out_of |= part.left_out_of
        self.layouts |= part.layouts
        self.newest = max(self.newest, part.newest)
        for kind, namespace in part.listed.items():
            self.listed.setdefault(kind, namespace)

    @property
    def n_objects(self) -> int:
        """The number of objects of kinds that scheduling depends on."""
        return self.n_of_kind.total()

    @property
    def taken_at(self) -> datetime | None:
        """The time of the state: that of its capture, else the newest past time in its objects.

        The modification times of the files do not count, because copying changes them.
        """
        try:
            newest = datetime.fromisoformat(f"{self.newest.decode()}+00:00") if self.newest else None
        except ValueError:
            newest = None
        return self.captured_at or newest

    def note_times(self, text: JsonText) -> bytes:
        """Record the past times in an object, given as JSON, and return the newest; empty if there is none."""
        newest: bytes = max(_PAST.findall(text), default=b"")
        self.newest = max(self.newest, newest)
        return newest

    def note_event_time(self, text: bytes) -> None:
        """Record the last time of an Event, given as JSON."""
        at = text.find(_LAST_TIMESTAMP)
        start = text.find(b'"', at + len(_LAST_TIMESTAMP)) + 1
        time = text[start : start + _SECONDS]
        # Events of events.k8s.io have other fields.
        if at < 0 or not time[:1].isdigit():
            self.note_times(text)
        elif time > self.newest:
            self.newest = time

    def may_have_newer(self, text: bytes) -> bool:
        """Report whether a text, JSON or not, contains any time newer than the newest past time."""
        return any(text[at.start() - 10 : at.start() + 9] > self.newest for at in _TIME.finditer(text))

    def note_header(self, header: SnapshotHeader) -> None:
        """Record the header of a captured snapshot."""
        self.header = header
        self.captured_at = header.captured_at or self.captured_at
        self.git_version = header.server_version.git_version
        self.not_listed.update(header.not_listed)
        self.announced.update(header.kinds)
        self.listed |= {kind: header.listed_in.get(kind, "") for kind in header.kinds}

    def note_version(self, value: dict[str, Any]) -> None:
        """Record the server version, if the output of ``kubectl version`` or of an API server's ``/version`` has it."""
        self.git_version = server_version(value) or self.git_version

    @property
    def not_read(self) -> Counter[str]:
        """The number of skipped files, by reason."""
        return Counter(passed.reason for passed in self.passed)

    def unread(self) -> Iterator[Unread]:
        """Yield data that seems to belong to the cluster and was not read; if there is any, results are incomplete."""
        for kind, number in self.announced.items():
            if (found := self.n_of_kind[kind]) < number:
                yield Unread(kind, f"its header counts {counted(number, kind)}, but {found} were found")
        by_reason: dict[str, list[str]] = {}
        for passed in self.doubtful():
            by_reason.setdefault(passed.reason, []).append(passed.name)
        # Of several reports about files, an answer shows one.
        if by_reason:
            yield Unread(FILE, "; ".join(_not_read(names, reason) for reason, names in by_reason.items()))

    def drop_markdown(self) -> None:
        """Leave out Markdown: beside manifests it is documentation with examples, and no part of a cluster."""
        self.passed = [passed for passed in self.passed if passed.reason != MARKDOWN]

    def doubtful(self) -> Iterator[SkippedFile]:
        """Yield the skipped files that look like part of the cluster."""
        for passed in self.passed:
            if passed.doubtful and (passed.identity is None or passed.identity not in self.identities):
                yield passed


def _not_read(names: list[str], reason: str) -> str:
    verb = "was" if len(names) == 1 else "were"
    return f"{listed(list(map(shortened, names)))} {verb} not read ({reason})"
