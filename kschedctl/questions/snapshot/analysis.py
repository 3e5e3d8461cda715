"""``snapshot info``: the kinds and numbers of objects in a snapshot, its version and its age."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from kschedctl.objects.kinds import KINDS
from kschedctl.objects.meta import ApiObject
from kschedctl.questions.cluster_request import ClusterSource
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.loading import loaded_cluster
from kschedctl.questions.snapshot.answer import SnapshotInfo
from kschedctl.sources.snapshot.capture import Capture, ClusterReader, capture
from kschedctl.sources.snapshot.files import STDIN, open_stdin
from kschedctl.sources.snapshot.load import ObjectReader, SnapshotReader, build_snapshot
from kschedctl.sources.snapshot.summary import ReadSummary
from kschedctl.trials.completeness import refusals
from kschedctl.trials.whatif.edits import WhatIfs


def snapshot_info(
    paths: str | Path | Sequence[str | Path], max_bytes: int | None = None, cluster: str = ""
) -> SnapshotInfo:
    """Read a snapshot, and report its kinds and numbers of objects, its version and age.

    Parameters
    ----------
    paths : str, Path or sequence of them
        Files, folders and archives; ``-`` is standard input.
    max_bytes : int, optional
        The most bytes to unpack.
    cluster : str, optional
        The cluster to read, by its name or its path inside, if a folder or archive holds several.

    Raises
    ------
    SnapshotError
        If the snapshot cannot be read.
    """
    paths = tuple(map(str, (paths,) if isinstance(paths, str | Path) else paths))
    stdin = open_stdin() if STDIN in paths else None
    reader = SnapshotReader(paths, stdin=stdin, max_unpacked=max_bytes, cluster=cluster)
    counts = Counter(type(obj) for obj, _ in reader)
    return snapshot_info_answer(paths, counts, reader.summary)


def _use(name: str, summary: ReadSummary) -> str:
    """Return the use of a file without objects of the kinds that scheduling reads."""
    if name in summary.layouts:
        return f"read as {summary.layouts[name]}"
    left_out = summary.left_out_of.get(name)
    if not left_out:
        reason = next((passed.reason for passed in summary.passed if passed.name.startswith(f"{name}, document")), "")
        return f"not used, {reason}" if reason else "read, an empty list"
    kinds = ", ".join(f"{number} {kind}" for kind, number in left_out.items())
    return f"ignored except for times, as scheduling does not read {kinds}"


def snapshot_info_answer(paths: Sequence[str], counts: Counter[type[ApiObject]], summary: ReadSummary) -> SnapshotInfo:
    """Return the answer for a snapshot with ``counts`` objects of each kind."""
    header = summary.header
    absent = [kind for (_, kind), type_ in KINDS.items() if not counts[type_]]
    return SnapshotInfo(
        paths=tuple(paths),
        objects=summary.n_objects,
        captured=header is not None and header.captured_at is not None,
        taken_at=summary.taken_at,
        git_version=summary.git_version,
        kschedctl_version=header.kschedctl_version if header is not None else "",
        anonymized=header is not None and header.anonymized,
        context=header.context if header is not None else "",
        kinds={kind: counts[type_] for (_, kind), type_ in KINDS.items() if counts[type_]},
        left_out=dict(summary.left_out),
        none_of=tuple(kind for kind in absent if summary.listed.get(kind) == ""),
        not_in_it=tuple(kind for kind in absent if kind not in summary.listed and kind not in summary.not_listed),
        warnings=(
            *refusals([kind for _, kind in KINDS if kind in summary.not_listed], summary.listed),
            *(f"{lack.what}: {lack.effect}" for lack in summary.unread()),
        ),
        files=dict(summary.files),
        files_without_objects={name: _use(name, summary) for name, number in summary.files.items() if not number},
        not_read={passed.name: passed.reason for passed in summary.passed},
    )


# The capture of a cluster: the objects that a snapshot of it holds.


def captured_cluster(source: ClusterSource, what_ifs: WhatIfs, handle: AnalysisHandle) -> Capture:
    """Read a cluster, apply the changes to try, and return the objects that a snapshot of it holds.

    Raises KschedctlError if the cluster cannot be read, or a change cannot be made.
    """
    if source.paths:
        paths = source.paths
        stdin = open_stdin() if STDIN in paths else None
        files = SnapshotReader(paths, stdin=stdin, max_unpacked=source.max_bytes, cluster=source.cluster)
        return capture(_changed(files, paths, what_ifs, handle))
    # Commands on files never import the client.
    from kschedctl.sources.live.reader import LiveReader

    reader = LiveReader(source.live(handle))
    return capture(_changed(reader, (), what_ifs, handle), context=reader.name)


def _changed(reader: ObjectReader, paths: tuple[str, ...], what_ifs: WhatIfs, handle: AnalysisHandle) -> ObjectReader:
    if not what_ifs.given:
        return reader
    changed = loaded_cluster(build_snapshot(reader, paths), edits=what_ifs.edits(handle.warn_of))
    return ClusterReader(changed.cluster, reader.summary)
