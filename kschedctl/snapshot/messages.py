"""The scheduler's messages in conditions, with pseudonyms for the names in them."""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from kschedctl.api.core import Condition
from kschedctl.snapshot.pseudonyms import Pseudonyms

#: The conditions that scheduling reads, and those by which people know a node.
_KEPT: Final = frozenset(
    {
        "PodScheduled",
        "PodResizePending",
        "DisruptionTarget",
        "Ready",
        "MemoryPressure",
        "DiskPressure",
        "PIDPressure",
        "NetworkUnavailable",
    }
)
_POD_SCHEDULED: Final = "PodScheduled"
#: Messages whose words are known; those of errors and of other programs can hold anything.
_SCHEDULER_REASONS: Final = frozenset({"Unschedulable", "SchedulingGated"})
_SCHEDULER_TEXTS: Final = re.compile(r"0/[0-9]+ nodes are available|no nodes available|Scheduling is blocked")
_PARTS: Final = re.compile(
    r'"(?P<quoted>[^"]*)"|\{(?P<taint>[^{}]*)\}'
    r"|(?P<insufficient>Insufficient )(?P<resource>[^\s,]+)|(?P<token>[\w./-]+)"
)
#: A bare word can only be taken for a name if it looks neither like an English one nor like a number.
_NAME_LIKE: Final = re.compile(r"(?=.*[-./_0-9])(?=.*[A-Za-z]).*", re.ASCII)


def anonymous_conditions(conditions: tuple[Condition, ...], names: Pseudonyms) -> tuple[Condition, ...]:
    """The conditions that matter, with pseudonyms in the scheduler's messages and no others.

    Parameters
    ----------
    conditions : tuple of Condition
        Of a node or a pod.
    names : Pseudonyms
        The pseudonyms.
    """
    return tuple(
        replace(condition, message=_anonymous_message(condition, names))
        for condition in conditions
        if condition.type in _KEPT
    )


def _anonymous_message(condition: Condition, names: Pseudonyms) -> str:
    known = condition.type == _POD_SCHEDULED and condition.reason in _SCHEDULER_REASONS
    if not known or not _SCHEDULER_TEXTS.match(condition.message):
        return ""

    def renamed(part: re.Match[str]) -> str:
        if (quoted := part["quoted"]) is not None:
            return f'"{names.word(quoted)}"'
        if (taint := part["taint"]) is not None:
            key, colon, value = taint.partition(": ")
            return f"{{{names.key(key)}{colon}{names.value(key, value)}}}"
        if part["insufficient"] is not None:
            resource = part["resource"].rstrip(".")
            return f"{part['insufficient']}{names.resource(resource)}{part['resource'][len(resource) :]}"
        token = part["token"].rstrip(".")
        pseudonym = names.known(token) if _NAME_LIKE.fullmatch(token) else None
        return part[0] if pseudonym is None else f"{pseudonym}{part['token'][len(token) :]}"

    return _PARTS.sub(renamed, condition.message)
