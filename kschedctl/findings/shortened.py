"""Names and values that somebody else chose, cut to what a message can hold."""

from __future__ import annotations


def shortened(text: str, most: int = 200) -> str:
    """A text that is no longer than a message can hold.

    Examples
    --------
    >>> shortened("web"), shortened("x" * 1_000_000, 10)
    ('web', 'xxxxxx... (1,000,000 characters)')
    """
    return text if len(text) <= most else f"{text[: most - 4]}... ({len(text):,} characters)"
