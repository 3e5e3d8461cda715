"""From what was met while reading to what is in a snapshot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kschedctl.api.kinds import KINDS
from kschedctl.api.meta import ApiObject
from kschedctl.report.snapshot.data import SnapshotInfo
from kschedctl.scheduler.missing import NOT_COUNTED
from kschedctl.snapshot.load import taken_at
from kschedctl.snapshot.summary import ReadSummary


def snapshot_info(paths: Sequence[str], counts: Counter[type[ApiObject]], summary: ReadSummary) -> SnapshotInfo:
    """Say what is in a snapshot.

    Parameters
    ----------
    paths : sequence of str
        What was read.
    counts : Counter
        How many objects there are of each kind.
    summary : ReadSummary
        What else was met.
    """
    header = summary.header
    absent = [kind for (_, kind), type_ in KINDS.items() if not counts[type_]]
    looked_for = summary.looked_for | set(header.kinds if header is not None else ())
    return SnapshotInfo(
        paths=tuple(paths),
        objects=summary.n_objects,
        captured=header is not None and header.captured_at is not None,
        taken_at=taken_at(summary),
        git_version=summary.git_version,
        kschedctl_version=header.kschedctl_version if header is not None else "",
        anonymized=header is not None and header.anonymized,
        context=header.context if header is not None else "",
        kinds={kind: counts[type_] for (_, kind), type_ in KINDS.items() if counts[type_]},
        left_out=dict(summary.left_out),
        none_of=tuple(kind for kind in absent if kind in looked_for),
        not_in_it=tuple(kind for kind in absent if kind not in looked_for and kind not in summary.not_listed),
        warnings=(*summary.not_listed.values(), *(f"{lack.what}: {NOT_COUNTED}" for lack in summary.unread())),
        files=dict(summary.files),
        not_read={passed.name: passed.reason for passed in summary.passed},
    )
