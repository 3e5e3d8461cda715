"""How a search for devices can end without an answer."""

from __future__ import annotations


class AllocationError(Exception):
    """The scheduler ends its cycle with this error, in its words."""
