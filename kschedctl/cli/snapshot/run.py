"""What ``snapshot`` does once its options are read: capture, change, write."""

from __future__ import annotations

from kschedctl.api.wording import counted
from kschedctl.cli.options.cluster import STDIN, Source
from kschedctl.cli.options.whatif import WhatIfOptions
from kschedctl.cli.streams import stdin, tell, warn
from kschedctl.snapshot.anonymize import with_pseudonyms
from kschedctl.snapshot.capture import Capture, capture
from kschedctl.snapshot.capture_files import check_target, write_capture
from kschedctl.snapshot.load import ObjectReader
from kschedctl.snapshot.mapping_file import check_mapping, write_mapping
from kschedctl.snapshot.reading import SnapshotReader


def write_snapshot(
    source: Source, what_ifs: WhatIfOptions, target: str, *, anonymize: bool, mapping: str = "", force: bool = False
) -> None:
    """Capture a cluster and write it.

    Parameters
    ----------
    source : Source
        What to read.
    what_ifs : WhatIfOptions
        What to change in it.
    target : str
        Where to write it.
    anonymize : bool
        Whether names are replaced by pseudonyms.
    mapping : str
        Where to write what they stand for; empty for nowhere.
    force : bool
        Whether files of earlier runs may be replaced.

    Raises
    ------
    KschedctlError
        Where the cluster cannot be read or the files not be written.
    """
    check_target(target, force=force)
    if mapping:
        check_mapping(mapping, target, force=force)
    captured = _captured(source, what_ifs)
    if anonymize:
        captured, originals = with_pseudonyms(captured)
        if mapping:
            write_mapping(originals, mapping)
    write_capture(captured, target, force=force)
    header = captured.header
    kept = [f"{counted(header.kinds.get('Node', 0), 'node')}, {counted(header.kinds.get('Pod', 0), 'pod')}"]
    kept.append(f"{sum(header.kinds.values())} objects in all")
    tell(f"{target}: {', '.join(kept)}{', anonymised' if header.anonymized else ''}")
    if mapping:
        tell(f"{mapping}: what the pseudonyms stand for; keep it to yourself")
    for warning in header.not_listed.values():
        warn(warning)
    for lack in captured.unread:
        warn(f"{lack.what}: what it holds is not in the snapshot")
    if captured.scheduler_config_left_out:
        warning = "the scheduler configuration of the snapshot is not written: give it again with --config"
        warn(warning)


def _captured(source: Source, what_ifs: WhatIfOptions) -> Capture:
    if source.paths:
        paths = source.paths
        standard_input = stdin() if STDIN in paths else None
        files = SnapshotReader(paths, stdin=standard_input, max_unpacked=source.max_bytes)
        return capture(_changed(files, paths, what_ifs))
    from kschedctl.live.reader import LiveReader

    reader = LiveReader(source.live())
    return capture(_changed(reader, (), what_ifs), context=reader.name)


def _changed(reader: ObjectReader, paths: tuple[str, ...], what_ifs: WhatIfOptions) -> ObjectReader:
    """The objects as they are, or as what-ifs leave them."""
    if not what_ifs.given:
        return reader
    from kschedctl.loading import over
    from kschedctl.snapshot.cluster_reader import ClusterReader
    from kschedctl.snapshot.load import build_snapshot

    changed = over(build_snapshot(reader, paths), edits=what_ifs.edits())
    return ClusterReader(changed.cluster, reader.summary)
