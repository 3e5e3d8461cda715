"""The search for the rules behind the change for a pod, between the rules of two releases.

A pod whose answer changes is decided for again by the second side with the first side's value of a rule. A rule that
brings back the answer of all old rules is behind the change. If no single rule does, the rules are those of a smallest
set that does: without any one of them, the old answer is not back.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from kschedctl.objects.releases.differences import RuleDifference

Rules: TypeAlias = tuple[RuleDifference, ...]

#: The most sets of rules that are remembered, and tried first for the next pods.
_MOST_KNOWN: Final = 8


@dataclass(frozen=True, slots=True)
class FoundRules:
    """The rules behind a change."""

    rules: Rules = ()
    #: True if only all of them together bring the old answer back; else each of them does alone.
    together: bool = False


@dataclass(slots=True)
class RuleSearch:
    """The rules that differ, and those that were behind the changes for other pods."""

    #: The rules that differ.
    rules: Rules
    #: The rules found so far, the most recent first.
    _known: list[FoundRules] = field(default_factory=list)

    def behind(self, brings_back: Callable[[Rules], bool], *, use_known: bool) -> FoundRules:
        """Return the rules behind a change; none if the old answer is not back even with all old rules.

        Args:
            brings_back: Reports whether the old answer is back with the old values of some rules. No rule at all does
                not bring it back.
            use_known: True to accept the rules that were behind the change for another pod without trying all others,
                one of which may have the same effect alone.
        """
        if use_known:
            for known in self._known:
                sets = [known.rules] if known.together else [(rule,) for rule in known.rules]
                if all(map(brings_back, sets)):
                    self._remember(known)
                    return known
        if not self.rules or not brings_back(self.rules):
            return FoundRules()
        alone = tuple(rule for rule in self.rules if brings_back((rule,)))
        found = FoundRules(alone)
        if not alone:
            needed = self.rules
            for rule in self.rules:
                fewer = tuple(each for each in needed if each is not rule)
                if brings_back(fewer):
                    needed = fewer
            found = FoundRules(needed, together=True)
        self._remember(found)
        return found

    def _remember(self, found: FoundRules) -> None:
        self._known = [found, *(each for each in self._known if each != found)][:_MOST_KNOWN]
