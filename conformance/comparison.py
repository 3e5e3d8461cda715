"""When an answer of ours equals a recorded one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

Answer = Mapping[str, Any]


def _pre_filter(answer: Answer) -> object:
    return answer.get("preFilter"), sorted(answer.get("preFilterNodes", ()))


def _preemption(answer: Answer) -> object:
    """Victims keep their order, most important first; of the nodes the nomination can fall on only the set counts."""
    found = answer.get("preemption")
    if found is None:
        return None
    return {
        "status": found.get("status"),
        "nominated": sorted(found.get("nominated", ())),
        "candidates": found.get("candidates", {}),
        "rejected": found.get("rejected", {}),
    }


def _summary(answer: Answer) -> str:
    """The message without what PostFilter added."""
    return str(answer.get("message", "")).split(". ")[0].rstrip(".")


#: What is compared, by name. Which plugins skipped themselves is recorded for information only, and the text of an
#: internal error is the scheduler's own affair.
PARTS: Final[Mapping[str, Callable[[Answer], object]]] = {
    "gates": lambda answer: answer.get("preEnqueue"),
    "prefilter": _pre_filter,
    "filter": lambda answer: answer.get("filter", {}),
    "all_filters": lambda answer: answer.get("allFilters", {}),
    "scores": lambda answer: answer.get("scores", {}),
    "best": lambda answer: sorted(answer.get("best", ())),
    "summary": _summary,
    "message": lambda answer: answer.get("message", ""),
    "preemption": _preemption,
    "error": lambda answer: bool(answer.get("error")),
}

_ATTEMPT: Final = ("pod", "node", "message", "nominated", "victims")


def attempts(answer: Answer) -> list[dict[str, Any]]:
    """What each attempt came to, in order; the victims of one are evicted together."""
    return [
        {name: sorted(made[name]) if name == "victims" else made[name] for name in _ATTEMPT if made.get(name)}
        for made in answer.get("attempts", ())
    ]


#: The same for an answer to a sequence of pods.
SEQUENCE_PARTS: Final[Mapping[str, Callable[[Answer], object]]] = {
    "attempts": attempts,
    "pods": lambda answer: answer.get("pods", {}),
    "nominations": lambda answer: answer.get("nominations", {}),
    "gated": lambda answer: sorted(answer.get("gated", ())),
    "error": PARTS["error"],
}


def differences(recorded: Answer, ours: Answer, names: tuple[str, str] = ("recorded", "ours")) -> dict[str, str]:
    """The parts that differ, each with its first difference in words; ``names`` are what the two sides are called.

    Where the scheduler gave up with an error, the rest of its answer means nothing and only the error is compared.
    """
    known = SEQUENCE_PARTS if "attempts" in recorded else PARTS
    parts = ["error"] if recorded.get("error") else list(known)
    pairs = {part: (known[part](recorded), known[part](ours)) for part in parts}
    return {part: _first_difference(want, got, names) for part, (want, got) in pairs.items() if want != got}


def _first_difference(recorded: object, ours: object, names: tuple[str, str], path: str = "") -> str:
    """Where two values first differ, and how."""
    if isinstance(recorded, dict) and isinstance(ours, dict):
        for key in sorted({*recorded, *ours}):
            if recorded.get(key) != ours.get(key):
                return _first_difference(recorded.get(key), ours.get(key), names, f"{path}.{key}" if path else key)
    if isinstance(recorded, list) and isinstance(ours, list) and isinstance(next(iter(recorded), None), dict):
        at = next(
            (i for i, (a, b) in enumerate(zip(recorded, ours, strict=False)) if a != b), min(len(recorded), len(ours))
        )
        pair = [side[at] if at < len(side) else None for side in (recorded, ours)]
        return _first_difference(pair[0], pair[1], names, f"{path}[{at}]")
    where = f"{path}: " if path else ""
    return f"{where}{names[0]} {_short(recorded)}, {names[1]} {_short(ours)}"


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 300 else f"{text[:300]}..."
