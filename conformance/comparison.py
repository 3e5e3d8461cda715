"""Equality of answers: the parts that are compared and their first difference."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

Answer = Mapping[str, Any]


def _pre_filter(answer: Answer) -> object:
    return answer.get("preFilter"), sorted(answer.get("preFilterNodes", ()))


def _preemption(answer: Answer) -> object:
    """Return the comparable parts of preemption: victims in order, most important first; nominated nodes as a set."""
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
    """Return the message without the text that PostFilter appended."""
    return str(answer.get("message", "")).split(". ")[0].rstrip(".")


#: The compared parts of an answer, by name. Skipped plugins are recorded for information only. Of an error only its
#: presence is compared, as its text is internal to the scheduler.
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

#: The compared fields of an attempt; ``picks`` are recorded for information only.
_ATTEMPT: Final = (
    "pod", "node", "message", "nominated", "group", "outcome", "condition", "conditions", "members", "victims",
)  # fmt: skip


def attempts(answer: Answer) -> list[dict[str, Any]]:
    """Return the outcome of each attempt in order; its victims are sorted, as they are evicted together."""
    return [
        {name: sorted(made[name]) if name == "victims" else made[name] for name in _ATTEMPT if made.get(name)}
        for made in answer.get("attempts", ())
    ]


#: The compared parts of an answer to a sequence of pods, by name.
SEQUENCE_PARTS: Final[Mapping[str, Callable[[Answer], object]]] = {
    "attempts": attempts,
    "pods": lambda answer: answer.get("pods", {}),
    "nominations": lambda answer: answer.get("nominations", {}),
    "gated": lambda answer: sorted(answer.get("gated", ())),
    "groups": lambda answer: {name: found or [] for name, found in answer.get("groups", {}).items()},
    "held": lambda answer: answer.get("held", {}),
    "error": PARTS["error"],
}


def differences(recorded: Answer, ours: Answer, names: tuple[str, str] = ("recorded", "ours")) -> dict[str, str]:
    """Return the parts that differ, each with its first difference in words; ``names`` are the labels of the two sides.

    If the reference scheduler failed with an error, the rest of its answer means nothing and only the error is
    compared.
    """
    known = SEQUENCE_PARTS if "attempts" in recorded else PARTS
    parts = ["error"] if recorded.get("error") else list(known)
    pairs = {part: (known[part](recorded), known[part](ours)) for part in parts}
    return {part: _first_difference(want, got, names) for part, (want, got) in pairs.items() if want != got}


def _first_difference(recorded: object, ours: object, names: tuple[str, str], path: str = "") -> str:
    """Describe the first place where two values differ, with both values."""
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
