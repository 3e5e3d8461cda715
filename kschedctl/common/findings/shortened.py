"""Truncation of names and values from the input, so that a message stays readable."""

from __future__ import annotations


def shortened(text: str, most: int = 200) -> str:
    """Return `text`, or if it is longer than `most` characters its beginning, followed by its length.

    Examples
    --------
    >>> shortened("web"), shortened("x" * 1_000_000, 10)
    ('web', 'xxxxxx... (1,000,000 characters)')
    """
    return text if len(text) <= most else f"{text[: most - 4]}... ({len(text):,} characters)"
