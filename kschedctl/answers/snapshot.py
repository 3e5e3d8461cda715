"""What is in a snapshot, as data: what ``snapshot info -o json`` prints and its text is made of."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from kschedctl.answers.base import CompoundAnswer


class SnapshotInfo(CompoundAnswer, frozen=True, kw_only=True):
    """What is in a snapshot."""

    paths: tuple[str, ...]
    objects: Annotated[int, Meta(description="How many objects it has that scheduling reads.")]
    captured: Annotated[bool, Meta(description="Whether it says itself which moment it shows.")]
    taken_at: Annotated[datetime | None, Meta(description="That moment, else when its newest file was written.")]
    git_version: Annotated[str, Meta(description="The control plane's version; empty where it is not told.")]
    kschedctl_version: Annotated[str, Meta(description="The program that captured it; empty for other sources.")]
    anonymized: bool
    context: Annotated[str, Meta(description="The kubectl context it was captured from; empty where it is not told.")]
    kinds: Annotated[dict[str, int], Meta(description="Objects of the kinds that scheduling reads, those it has.")]
    left_out: Annotated[dict[str, int], Meta(description="Objects of other kinds, which are passed over.")]
    none_of: Annotated[tuple[str, ...], Meta(description="Kinds that were looked for and of which there is none.")]
    not_in_it: Annotated[tuple[str, ...], Meta(description="Kinds that it does not tell of.")]
    warnings: tuple[str, ...]
    files: Annotated[dict[str, int], Meta(description="The files that were read, and how many objects each has.")]
    not_read: Annotated[dict[str, str], Meta(description="The files that were passed over, and why.")]

    @property
    def complete(self) -> bool:
        """True if everything in the files was understood."""
        return not self.warnings

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """The kinds that it has, a line each."""
        return tuple(self.kinds)
