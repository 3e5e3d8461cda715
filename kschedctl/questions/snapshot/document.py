"""The document of ``snapshot info``: the contents of a snapshot."""

from kschedctl.common.findings import shortened
from kschedctl.common.wording import counted
from kschedctl.questions.document import GAP, Document, Paragraph, Provenance, Verbatim
from kschedctl.questions.frame import View, time_and_age
from kschedctl.questions.snapshot.answer import SnapshotInfo


def document(info: SnapshotInfo, view: View) -> Document:
    """Lay out the contents of a snapshot."""
    yield Paragraph(info.summary, heading=("Snapshot",))
    if view.drawn:
        state, aged = time_and_age(info.taken_at, view.now) if info.taken_at is not None else ("", "")
        # For the header of the page; the lines below say how the time is known.
        yield Provenance((), (), cluster=", ".join(info.paths), state=state, age=aged)
    yield from _origin(info, view)
    yield GAP
    for kind, number in info.kinds.items():
        yield Verbatim(f"{number:7} {kind}")
    for kind, number in info.left_out.items():
        yield Verbatim(f"{number:7} {kind}, not used by scheduling")
    if info.none_of:
        yield Verbatim(f"{'none':>7} of {', '.join(info.none_of)}")
    if info.not_in_it:
        yield Verbatim(f"not in the snapshot: {', '.join(info.not_in_it)}")
    for warning in info.warnings:
        yield Verbatim(f"warning: {warning}")
    yield GAP
    for name, number in info.files.items():
        use = info.files_without_objects.get(name)
        yield Verbatim(f"{shortened(name)}: {use or counted(number, 'object')}")
    for name, reason in info.not_read.items():
        yield Verbatim(f"{shortened(name)}: not read, {reason}")


def _origin(info: SnapshotInfo, view: View) -> Document:
    if info.taken_at is not None:
        what = "captured" if info.captured else "newest time"
        yield Verbatim(f"{what:11} {', '.join(time_and_age(info.taken_at, view.now))}")
    yield Verbatim(f"{'Kubernetes':11} {info.git_version or 'unknown'}")
    if info.kschedctl_version:
        yield Verbatim(f"{'captured by':11} kschedctl {info.kschedctl_version}")
        yield Verbatim(f"{'anonymised':11} {'yes' if info.anonymized else 'no'}")
        if info.context:
            yield Verbatim(f"{'context':11} {info.context}")
