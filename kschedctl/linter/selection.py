"""Which rules are asked: by code, by the beginning of a code, or by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from kschedctl.api.wording import similar
from kschedctl.errors import InputError
from kschedctl.linter.rule import Rule
from kschedctl.linter.rules import RULES

#: All rules, those that are off among them.
ALL: Final = "ALL"
_PREFIX: Final = "KS"


def rules_of(word: str, where: str = "") -> list[Rule]:
    """The rules that a word means.

    ``word``: ``KS201``, ``KS2``, ``rollout-needs-spare-domain`` or ``ALL``.
    ``where``: what the word stands in, for errors.
    Raise ``InputError`` where it means none.

    Examples
    --------
    >>> [rule.code for rule in rules_of("KS31")], [rule.code for rule in rules_of("budgets-overlap")]
    (['KS310', 'KS311', 'KS312', 'KS313'], ['KS303'])
    """
    upper = word.upper()
    if upper == ALL:
        return list(RULES)
    found = [rule for rule in RULES if (upper.startswith(_PREFIX) and rule.code.startswith(upper)) or rule.name == word]
    if not found:
        close = similar(upper, [rule.code for rule in RULES]) or similar(word, [rule.name for rule in RULES])
        hint = f"did you mean {', '.join(close)}?" if close else "kschedctl lint --list-rules names all"
        raise InputError(f'"{word}" is no rule', where=where, hint=hint)
    return found


def asked(
    select: Sequence[str] = (), extend: Sequence[str] = (), ignore: Sequence[str] = (), *, complete: bool = False
) -> list[Rule]:
    """The rules that are asked.

    ``select``: those instead of the ones that are on.
    ``extend``: those besides.
    ``ignore``: those not. What is named by more letters wins: ``KS201`` is asked where KS201 is selected and KS2
    ignored.
    ``complete``: whether everything is given, so that rules are on which need that.
    Raise ``InputError`` where a word means no rule.
    """
    chosen: dict[str, int] = {}
    if not select:
        chosen = {rule.code: 0 for rule in RULES if rule.on or (complete and rule.if_complete)}
    for rule, letters in _named((*select, *extend)):
        chosen[rule.code] = max(letters, chosen.get(rule.code, 0))
    for rule, letters in _named(ignore):
        if chosen.get(rule.code, len(rule.name)) <= letters:
            chosen.pop(rule.code, None)
    return [rule for rule in RULES if rule.code in chosen]


def _named(words: Iterable[str]) -> Iterable[tuple[Rule, int]]:
    """Rules, each with how exactly it is named."""
    for word in words:
        for rule in rules_of(word):
            exact = word.upper() == rule.code or word == rule.name
            yield rule, len(rule.code) if exact else 0 if word.upper() == ALL else len(word)
