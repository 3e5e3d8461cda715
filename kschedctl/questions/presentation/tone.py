"""Tones of texts and of the parts of charts."""

from __future__ import annotations

from enum import Enum, auto


class Tone(Enum):
    """The tone of a text; renderers map tones to colours."""

    PLAIN = auto()
    STRONG = auto()
    FAINT = auto()
    GOOD = auto()
    BAD = auto()
    MIXED = auto()
    CAUTION = auto()
