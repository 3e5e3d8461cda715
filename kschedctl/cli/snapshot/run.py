"""What ``snapshot`` does once its options are read."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from kschedctl.api.kinds import KINDS
from kschedctl.api.wording import counted
from kschedctl.cli.live import live_context
from kschedctl.cli.streams import stdin, write
from kschedctl.report.frame import age
from kschedctl.snapshot.anonymize import anonymized
from kschedctl.snapshot.capture import Capture, capture
from kschedctl.snapshot.capture_files import check_target, write_capture
from kschedctl.snapshot.load import taken_at
from kschedctl.snapshot.pod_choice import STDIN
from kschedctl.snapshot.reading import SnapshotReader


def write_snapshot(paths: Sequence[str], context: str, kubeconfig: str, target: str, *, anonymize: bool) -> None:
    """Capture a cluster and write it.

    Parameters
    ----------
    paths : sequence of str
        What to read; nothing for a running cluster.
    context, kubeconfig : str
        Which one; empty for kubectl's choice.
    target : str
        Where to write it.
    anonymize : bool
        Whether names are replaced by pseudonyms.

    Raises
    ------
    KschedctlError
        Where the cluster cannot be read or the files not be written.
    """
    check_target(target)
    captured = _captured(paths, context, kubeconfig)
    if anonymize:
        captured = anonymized(captured)
    write_capture(captured, target)
    header = captured.header
    kept = [f"{counted(header.kinds.get('Node', 0), 'node')}, {counted(header.kinds.get('Pod', 0), 'pod')}"]
    kept.append(f"{sum(header.kinds.values())} objects in all")
    write(f"{target}: {', '.join(kept)}{', anonymised' if header.anonymized else ''}\n")
    for warning in header.not_listed.values():
        print(f"warning: {warning}", file=sys.stderr)
    if captured.scheduler_config_left_out:
        warning = "the scheduler configuration of the snapshot is not written: give it again with --config"
        print(f"warning: {warning}", file=sys.stderr)


def _captured(paths: Sequence[str], context: str, kubeconfig: str) -> Capture:
    if paths:
        return capture(SnapshotReader(paths, stdin=stdin() if STDIN in paths else None))
    from kschedctl.live.reader import LiveReader

    reader = LiveReader(live_context(context, kubeconfig))
    return capture(reader, context=reader.name)


def print_info(paths: Sequence[str]) -> None:
    """Print what is in a snapshot.

    Parameters
    ----------
    paths : sequence of str
        Files, folders and archives; ``-`` is standard input.

    Raises
    ------
    SnapshotError
        Where it cannot be read.
    """
    reader = SnapshotReader(paths, stdin=stdin() if STDIN in paths else None)
    counts = Counter(type(obj) for obj, _ in reader)
    summary = reader.summary
    header = summary.header
    moment = taken_at(summary)
    verb = "captured" if header is not None and header.captured_at is not None else "written"
    lines = [f"{', '.join(paths)}: a snapshot of {counted(summary.n_objects, 'object')}"]
    if moment is not None:
        since = age(moment, datetime.now(UTC)).removeprefix("written ")
        lines.append(f"  {verb:11} {moment:%Y-%m-%d %H:%M:%S} UTC, {since}")
    lines.append(f"  {'Kubernetes':11} {summary.git_version or 'not told'}")
    if header is not None:
        lines.append(f"  {'by':11} kschedctl {header.kschedctl_version}")
        lines.append(f"  {'anonymised':11} {'yes' if header.anonymized else 'no'}")
        if header.context:
            lines.append(f"  {'context':11} {header.context}")
    lines.append("")
    lines += [f"  {counts[type_]:7} {kind}" for (_, kind), type_ in KINDS.items() if counts[type_]]
    lines += [f"  {number:7} {kind}, which scheduling does not read" for kind, number in summary.left_out.items()]
    absent = [kind for (_, kind), type_ in KINDS.items() if not counts[type_]]
    looked_for = set(header.kinds) if header is not None else set()
    none = [kind for kind in absent if kind in looked_for]
    unknown = [kind for kind in absent if kind not in looked_for and kind not in summary.not_listed]
    if none:
        lines.append(f"  {'none':>7} of {', '.join(none)}")
    if unknown:
        lines.append(f"  not in it: {', '.join(unknown)}")
    lines += [f"  warning: {warning}" for warning in summary.not_listed.values()]
    write("\n".join(lines) + "\n")
