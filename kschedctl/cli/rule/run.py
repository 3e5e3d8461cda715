"""What ``rule`` does once its options are read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from kschedctl.lint.selection import rules_of
from kschedctl.report.document import Document
from kschedctl.report.envelope import Answer, Compound
from kschedctl.report.render.form import Outcome, Reply
from kschedctl.report.rule.answer import pages
from kschedctl.report.rule.data import RulePages
from kschedctl.report.rule.text import document


class RuleReply(Reply):
    """One run of ``rule``.

    Parameters
    ----------
    words : sequence of str
        What names the rules.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words

    @cached_property
    def _pages(self) -> RulePages:
        found = dict.fromkeys(rule for word in self._words for rule in rules_of(word))
        return pages(sorted(found, key=lambda rule: rule.code))

    def value(self) -> Answer | Compound:
        """The pages."""
        return self._pages

    def document(self, *, wide: bool) -> Document:
        """The pages, of several a line each unless all is wanted."""
        yield from document(self._pages, wide=wide)

    def outcome(self) -> Outcome:
        """Always the same: it is only told."""
        return Outcome()
