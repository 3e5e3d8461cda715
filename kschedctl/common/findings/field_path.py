"""The notation for the path of a field: ``spec.containers[0].resources.requests[nvidia.com/gpu]``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_PLAIN_KEY_CHARS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def joined(path: str, step: str | int) -> str:
    """Return `path` extended by the key or list index `step`.

    Examples
    --------
    >>> joined(joined("spec", "ports"), 0), joined("limits", "nvidia.com/gpu")
    ('spec.ports[0]', 'limits[nvidia.com/gpu]')
    """
    if isinstance(step, int) or not _PLAIN_KEY_CHARS.issuperset(step):
        return f"{path}[{step}]"
    return f"{path}.{step}" if path else step


def field_path(steps: Sequence[str | int]) -> str:
    """Return the path that consists of the keys and list indices in `steps`."""
    path = ""
    for step in steps:
        path = joined(path, step)
    return path
