"""The answer of ``kschedctl rule`` as data."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kschedctl.questions.answers.base import CompoundAnswer, Data


class RulePage(Data, frozen=True, kw_only=True):
    """The documentation of a rule."""

    code: Annotated[str, Meta(description="The code of the rule, such as KS201.")]
    name: Annotated[str, Meta(description="The name of the rule.")]
    severity: Annotated[str, Meta(description="The severity of its findings: error, warning or info.")]
    on: Annotated[bool, Meta(description="True if the rule is enabled by default, without being selected.")]
    place: Annotated[
        str | None,
        Meta(description="The stage at which the problem takes effect, A to D; null if it takes effect at none."),
    ]
    place_in_words: Annotated[str, Meta(description="The stage at which the problem takes effect, in words.")]
    needs_snapshot: Annotated[bool, Meta(description="True if the rule needs the snapshot of a cluster.")]
    page: Annotated[str, Meta(description="The documentation, as Markdown.")]
    fails: Annotated[
        str, Meta(description='An example that violates the rule; the lines with findings end with "# <-".')
    ]
    passes: Annotated[str, Meta(description="An example that does not violate the rule.")]


class RulePages(CompoundAnswer, frozen=True, kw_only=True, tag="RulePages"):
    """The documentation of one or more rules."""

    items: Annotated[tuple[RulePage, ...], Meta(description="The rules.")]

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the codes of the rules, ``rule/CODE``."""
        return tuple(f"rule/{page.code}" for page in self.items)
