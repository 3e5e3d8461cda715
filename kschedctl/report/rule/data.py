"""The answer of ``kschedctl rule`` as data."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from kschedctl.report.envelope import Compound, Data, json_schema


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


class RulePages(Compound, frozen=True, kw_only=True, tag="RulePages"):
    """Rules."""

    items: tuple[RulePage, ...]

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Their codes."""
        return tuple(f"rule/{page.code}" for page in self.items)


def schema() -> dict[str, Any]:
    """The JSON Schema of what ``kschedctl rule -o json`` prints."""
    return json_schema("rule", "What rules of lint find, why, and how to repair it.", RulePages)
