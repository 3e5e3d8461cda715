"""The contents of a snapshot, as data: printed by ``snapshot info -o json``, and the source of its text."""

from datetime import datetime
from typing import Annotated

from msgspec import structs

from kschedctl.common.wording import counted
from kschedctl.questions.answer import CompoundAnswer


class SnapshotInfo(CompoundAnswer, frozen=True, kw_only=True):
    """The contents of a snapshot."""

    summary: Annotated[str, "The number of objects, in a sentence."] = ""
    paths: Annotated[tuple[str, ...], "The files of the snapshot, as given."]
    objects: Annotated[int, "The number of objects of the kinds that scheduling reads."]
    captured: Annotated[bool, "True if the snapshot records the time at which it was taken."]
    taken_at: Annotated[
        datetime | None,
        "The time of the state: as the snapshot records it, else the newest past time in its objects; null if "
        "they have none.",
    ]
    git_version: Annotated[str, "The version of the control plane; empty if unknown."]
    kschedctl_version: Annotated[str, "The version of kschedctl that captured the snapshot; empty for other sources."]
    anonymized: Annotated[bool, "True if names are replaced with pseudonyms."]
    context: Annotated[str, "The kubectl context that the snapshot was captured from; empty if unknown."]
    kinds: Annotated[
        dict[str, int], "The number of objects by kind, for the kinds that scheduling reads and the snapshot has."
    ]
    left_out: Annotated[
        dict[str, int], "The number of ignored objects by kind, for the kinds that scheduling does not read."
    ]
    none_of: Annotated[tuple[str, ...], "The kinds that were listed and have no objects."]
    not_in_it: Annotated[tuple[str, ...], "The kinds that scheduling reads and the snapshot does not cover."]
    warnings: Annotated[tuple[str, ...], "The warnings from reading the snapshot."]
    files: Annotated[dict[str, int], "The number of objects in each file that was read."]
    files_without_objects: Annotated[
        dict[str, str], "For each file without objects of the kinds that scheduling reads, its use, or the reason."
    ]
    not_read: Annotated[dict[str, str], "The reason for each file that was skipped."]

    def __post_init__(self) -> None:
        text = f"{', '.join(self.paths)}: a snapshot of {counted(self.objects, 'object')}"
        structs.force_setattr(self, "summary", text)

    @property
    def complete(self) -> bool:
        """True if everything in the files was understood."""
        return not self.warnings

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the kinds in the snapshot, one line per kind."""
        return tuple(self.kinds)
