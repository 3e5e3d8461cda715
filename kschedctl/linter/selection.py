"""Selection of rules: by code, by the beginning of a code, or by name."""

from collections.abc import Iterable, Sequence
from typing import Final

from kschedctl.common.errors import InputError
from kschedctl.common.wording import similar
from kschedctl.linter.rule import Rule
from kschedctl.linter.rules import RULES

#: The word for all rules, including rules that are off.
ALL: Final = "ALL"
_PREFIX: Final = "KS"


def rules_of(word: str, where: str = "") -> list[Rule]:
    """Return the rules that a word selects.

    Args:
        word: A code, the beginning of a code, a name or ``ALL``: ``KS201``, ``KS2``,
            ``rollout-needs-spare-domain``.
        where: The source of the word, for errors.

    Raises InputError if the word selects no rule.

    >>> [rule.name for rule in rules_of("KS303")], [rule.code for rule in rules_of("budgets-overlap")]
    (['budgets-overlap'], ['KS303'])
    """
    # -o name prints rule/KS201.
    word = word.removeprefix("rule/")
    upper = word.upper()
    if upper == ALL:
        return list(RULES)
    found = [rule for rule in RULES if (upper.startswith(_PREFIX) and rule.code.startswith(upper)) or rule.name == word]
    if not found:
        close = similar(upper, [rule.code for rule in RULES]) or similar(word, [rule.name for rule in RULES])
        hint = f"did you mean {', '.join(close)}?" if close else "kschedctl lint --list-rules lists all"
        raise InputError(f'"{word}" is not a rule', where=where, hint=hint)
    return found


def selected_rules(
    select: Sequence[str] = (), extend: Sequence[str] = (), ignore: Sequence[str] = (), *, complete: bool = False
) -> list[Rule]:
    """Return the rules to run.

    Args:
        select: Rules to run in place of the rules that are on by default.
        extend: Rules to run in addition.
        ignore: Rules not to run. The longer word wins: if KS201 is selected and KS2 is ignored, KS201 runs. Between
            words of the same length, ignoring wins.
        complete: True if the manifest set is complete, which turns on the rules that need that.

    Raises InputError if a word selects no rule.
    """
    chosen: dict[str, int] = {}
    if not select:
        chosen = {rule.code: 0 for rule in RULES if rule.on or (complete and rule.if_complete)}
    for rule, letters in _rules_of_words((*select, *extend)):
        chosen[rule.code] = max(letters, chosen.get(rule.code, 0))
    for rule, letters in _rules_of_words(ignore):
        if chosen.get(rule.code, len(rule.name)) <= letters:
            chosen.pop(rule.code, None)
    return [rule for rule in RULES if rule.code in chosen]


def _rules_of_words(words: Iterable[str]) -> Iterable[tuple[Rule, int]]:
    """Yield the rules that words select, each with the length of the word: 0 for ``ALL``; a name counts as a code."""
    for word in words:
        for rule in rules_of(word):
            exact = word.upper() == rule.code or word == rule.name
            yield rule, len(rule.code) if exact else 0 if word.upper() == ALL else len(word)
