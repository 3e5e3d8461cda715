"""The capture of a cluster: the objects that a snapshot of it holds."""

from __future__ import annotations

from kschedctl.questions.analyses.handle import AnalysisHandle
from kschedctl.questions.loading import scheduling_cluster
from kschedctl.questions.requests.cluster import ClusterSource
from kschedctl.sources.snapshot.capture import Capture, ClusterReader, capture
from kschedctl.sources.snapshot.files import STDIN, open_stdin
from kschedctl.sources.snapshot.load import ObjectReader, SnapshotReader, build_snapshot
from kschedctl.trials.whatif.edits import WhatIfs


def captured_cluster(source: ClusterSource, what_ifs: WhatIfs, handle: AnalysisHandle) -> Capture:
    """Read a cluster, apply the changes to try, and return the objects that a snapshot of it holds.

    Raises
    ------
    KschedctlError
        If the cluster cannot be read, or a change cannot be made.
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
    changed = scheduling_cluster(build_snapshot(reader, paths), edits=what_ifs.edits(handle.warn_of))
    return ClusterReader(changed.cluster, reader.summary)
