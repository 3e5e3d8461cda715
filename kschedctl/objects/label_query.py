"""Label selectors in the notation of kubectl's ``-l`` option: ``app=web,tier!=db,zone in (a,b),!legacy``."""

from __future__ import annotations

import re
from typing import Final

from kschedctl.common.errors import InputError
from kschedctl.objects.meta import LabelSelector, LabelSelectorRequirement
from kschedctl.objects.selectors import (
    DOES_NOT_EXIST,
    EXISTS,
    IN,
    NOT_IN,
    Selector,
    SelectorError,
    parse_label_selector,
)

#: Commas between requirements, but not those inside parentheses.
_COMMA: Final = re.compile(r",(?![^()]*\))")
_SET: Final = re.compile(r"(\S+)\s+(in|notin)\s*\(([^()]*)\)")
_EQUALITY: Final = re.compile(r"([^\s=!<>()]+)\s*(==|=|!=)\s*([^\s=!<>()]*)")
_EXISTENCE: Final = re.compile(r"(!?)\s*([^\s=!<>()]+)")


def parse_label_query(text: str) -> Selector:
    """Parse a label selector.

    Raises
    ------
    InputError
        If the text is not a label selector.

    Examples
    --------
    >>> [str(requirement) for requirement in parse_label_query("app=web, zone in (a,b), !legacy")]
    ['app=web', 'zone in (a,b)', '!legacy']
    """
    try:
        expressions = tuple(_requirement(part.strip()) for part in _COMMA.split(text))
        return parse_label_selector(LabelSelector(match_expressions=expressions))
    except SelectorError as error:
        hint = "such as app=web, app!=web, 'app in (web,api)', app or '!app', with commas between them"
        raise InputError(f'"{text}" is not a label selector: {error}', path="--selector", hint=hint) from None


def _requirement(text: str) -> LabelSelectorRequirement:
    if match := _SET.fullmatch(text):
        values = tuple(value.strip() for value in match[3].split(","))
        return LabelSelectorRequirement(key=match[1], operator=IN if match[2] == "in" else NOT_IN, values=values)
    if match := _EQUALITY.fullmatch(text):
        operator = NOT_IN if match[2] == "!=" else IN
        return LabelSelectorRequirement(key=match[1], operator=operator, values=(match[3],))
    if match := _EXISTENCE.fullmatch(text):
        return LabelSelectorRequirement(key=match[2], operator=DOES_NOT_EXIST if match[1] else EXISTS)
    raise SelectorError(f'"{text}" cannot be read', "")
