"""The answer of ``kschedctl rule`` as data."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kschedctl.answers.base import CompoundAnswer, Data


class RulePage(Data, frozen=True, kw_only=True):
    """A rule."""

    code: str
    name: str
    severity: str
    on: Annotated[bool, Meta(description="Whether it is asked without being selected.")]
    place: Annotated[str | None, Meta(description="Where it stops, A to D.")]
    place_in_words: str
    needs_snapshot: bool
    page: str
    fails: Annotated[str, Meta(description="An example that it finds something in, where lines end with # <-.")]
    passes: str


class RulePages(CompoundAnswer, frozen=True, kw_only=True, tag="RulePages"):
    """Rules."""

    items: tuple[RulePage, ...]

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Their codes."""
        return tuple(f"rule/{page.code}" for page in self.items)
